"""Runs docs/notebooks/*.py, and writes each as a notebook with its output.

A file has cells, divided by `# %%` lines, as editors know them; `# %% [markdown]` is prose.
"""

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "notebooks"


def cells(text: str) -> list[tuple[str, str]]:
    """(markdown or code, source) of every cell."""
    cells_read = []
    for part in text.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        if head.strip() == "[markdown]":
            lines = (line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            cells_read.append(("markdown", "\n".join(lines)))
        else:
            cells_read.append(("code", body.strip()))
    return cells_read


def executed(source: Path) -> str:
    """The notebook of a file, after every cell ran in a folder of its own."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook()
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    for number, (kind, text) in enumerate(cells(source.read_text(encoding="utf-8"))):
        book.cells.append(make[kind](text, id=f"cell-{number}"))
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(book, timeout=900, resources={"metadata": {"path": folder}})
        client.execute()
    for cell in book.cells:
        cell.metadata.clear()  # times of the run say nothing
    return str(nbformat.writes(book)) + "\n"


if __name__ == "__main__":
    chosen = [HERE / f"{name}.py" for name in sys.argv[1:]] or sorted(HERE.glob("*.py"))
    for source in chosen:
        source.with_suffix(".ipynb").write_text(executed(source), encoding="utf-8")
