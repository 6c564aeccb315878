"""The command `sottovoce`: what people type, and how it answers."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    import typer

    from sottovoce.cli.process import run_process
    from sottovoce.cli.program import main, run

    app: typer.Typer

__all__ = ["app", "main", "run", "run_process"]

__getattr__, __dir__ = lazy_names(__name__, {"program": "app main run", "process": "run_process"})
