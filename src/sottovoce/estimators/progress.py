"""The progress of `fit`: a line in a terminal or a notebook, nothing elsewhere."""

import sys
import time
from importlib import import_module
from typing import Any, Self

from sottovoce.pictures.html import tag


class FitProgress:
    """Says which stage a study in memory is in, and for how long; it takes itself away at the end.

    It shows itself where a person looks: at a terminal, and in a notebook's cell.
    """

    def __init__(self) -> None:
        """Find out where a person looks."""
        self._began = time.monotonic()
        self._stages: list[str] = []
        self._cell = _notebook_cell()
        self._status: Any = None

    def __enter__(self) -> Self:
        if self._cell is None and sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
        if self._cell is not None:
            spent = time.monotonic() - self._began
            self._show(f"fitted in {spent:.1f} s")

    def enter(self, stage: str) -> None:
        """A stage begins."""
        if stage:
            self._stages.append(stage)
            spent = time.monotonic() - self._began
            self._show(f"stage {len(self._stages)}: {stage} ({spent:.0f} s so far)")

    def _show(self, words: str) -> None:
        if self._status is not None:
            self._status.update(words)
        if self._cell is not None:
            self._cell.update(_NotebookLine(words))


class _NotebookLine:
    """Words that a notebook shows as they are."""

    def __init__(self, words: str) -> None:
        self._words = words

    def _repr_html_(self) -> str:
        return tag("p", f"sottovoce: {self._words}")

    def __repr__(self) -> str:
        return self._words


def _notebook_cell() -> Any:
    """A place in the running cell that can be written over; None outside of a notebook."""
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    if kernel is None or not hasattr(kernel, "kernel"):
        return None
    # Only notebooks have it, so nothing here depends on its types.
    display: Any = import_module("IPython.display").display
    return display(_NotebookLine("begins"), display_id=True)
