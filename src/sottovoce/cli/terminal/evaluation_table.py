"""An evaluation as a table on the terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.study.evaluations.figures import Evaluation

_MOST_COLUMNS = 5
"""The number of classes that fit side by side in eighty columns."""


def show_evaluation(title: str, evaluation: "Evaluation", console: "Console") -> None:
    """A table of one evaluation."""
    from rich.table import Column, Table

    console.print(f"\n{title}: accuracy {evaluation.accuracy:.1%}", style="bold")
    names = evaluation.labels.names
    exclusive = evaluation.counts.ndim == 2
    if exclusive and len(names) > _MOST_COLUMNS:
        _show_long(evaluation, console)
        if evaluation.left_out.any():
            console.print(
                f"mistakes under {evaluation.fewest} are hidden, and count as half of that"
            )
        return
    predicted = [Column(f"as {name}", justify="right") for name in names] if exclusive else []
    titles = ("F1", "AUC") if evaluation.roc else ("F1",)
    numbers = [Column(title, justify="right") for title in titles]
    table = Table("label", *numbers, *predicted)
    for row, name in enumerate(names):
        area = [_area(evaluation, name)]
        cells = _cells(evaluation, row) if exclusive else []
        table.add_row(name, f"{evaluation.f1[name]:.2f}", *area[: len(titles) - 1], *cells)
    console.print(table)


def _show_long(evaluation: "Evaluation", console: "Console") -> None:
    """Many classes: one line for each, with the class that it was most often mistaken for."""
    from rich.table import Column, Table

    from sottovoce.pictures.quality import by_class

    titles = ("rows", "prec.", "recall", "F1", *(("AUC",) if evaluation.roc else ()))
    numbers = (Column(name, justify="right") for name in titles)
    table = Table("label", *numbers, "mostly mistaken for")
    for row, figures in enumerate(by_class(evaluation)):
        mistaken = [
            (count, name)
            for column, (count, name) in enumerate(
                zip(evaluation.counts[row].tolist(), evaluation.labels.names, strict=True)
            )
            if column != row and count > 0
        ]
        most_often = ", ".join(f"{name} ({count:,})" for count, name in sorted(mistaken)[-1:])
        cells = (figures.precision, figures.recall, figures.f1)
        # Of a class without rows nothing was measured.
        shown = [f"{value:.2f}" if figures.rows else "–" for value in cells]
        shown += [_area(evaluation, figures.name) or "–"] if evaluation.roc else []
        table.add_row(figures.name, f"{figures.rows:,}", *shown, most_often)
    console.print(table)


def _area(evaluation: "Evaluation", name: str) -> str:
    """The area under a class's ROC: a dash where too few documents let no point be shown."""
    if name not in evaluation.roc:
        return ""
    curve = evaluation.roc[name]
    return curve.area if curve.thresholds else "–"


def _cells(evaluation: "Evaluation", row: int) -> list[str]:
    """Return how often this class was taken for each class; small numbers are hidden."""
    numbers, hidden = evaluation.counts[row].tolist(), evaluation.left_out[row].tolist()
    few = f"under {evaluation.fewest}"
    return [few if small else f"{count:,}" for count, small in zip(numbers, hidden, strict=True)]
