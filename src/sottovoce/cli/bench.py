"""`sottovoce bench …`: our figures beside a named partner's, measured in one run."""

import typer

app = typer.Typer(no_args_is_help=True, help="Measure: ours beside a named partner, in one run.")


@app.callback()
def root() -> None:
    """Measure: ours beside a named partner, in one run."""
