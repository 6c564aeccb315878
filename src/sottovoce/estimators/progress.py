"""The progress of `fit`: a line in a terminal or a notebook, nothing elsewhere."""

import sys
import time
from importlib import import_module
from typing import Any, Self

from sottovoce.course.stage_progress import StageProgress, time_left
from sottovoce.pictures.html import tag

_BETWEEN_SECONDS = 0.5


class FitProgress:
    """Says which stage a study in memory is in, and how long it takes; ends with the study.

    It shows itself where a person looks: at a terminal, and in a notebook's cell.
    """

    def __init__(self) -> None:
        """Find out where a person looks."""
        self._began = time.monotonic()
        self._stages: list[str] = []
        self._cell = _notebook_cell()
        self._status: Any = None
        self._progress = StageProgress(self._began)
        self._shown = 0.0

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
            now = time.monotonic()
            self._progress = StageProgress(now)
            self._show(f"stage {len(self._stages)}: {stage} ({now - self._began:.0f} s so far)")

    def stepped(self, left: int) -> None:
        """Hear how many steps of the stage remain; shown twice a second.

        Every party counts its own steps, and the one that is ahead is shown.
        """
        now, progress = time.monotonic(), self._progress
        if progress.steps and left >= progress.steps_left:
            return
        progress.step(left, now)
        if now - self._shown < _BETWEEN_SECONDS:
            return
        self._shown = now
        seconds = progress.seconds_left(now)
        remaining = f"{now - self._began:.0f} s so far" if seconds is None else time_left(seconds)
        step = progress.steps - left + 1
        place = f"stage {len(self._stages)}: {self._stages[-1]}"
        self._show(f"{place}, step {step:,} of {progress.steps:,} ({remaining})")

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
