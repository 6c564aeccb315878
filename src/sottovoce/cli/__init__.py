"""The command `sottovoce`: what people type, and how it answers."""

from sottovoce.cli.program import app, main, run

__all__ = ["app", "main", "run"]
