"""Commands called within the process of a test."""

from typer.testing import CliRunner

from sottovoce import cli


def call(*words: object, **environment: str) -> str:
    """What a command prints; what it raises comes through."""
    done = CliRunner().invoke(cli.app, [str(word) for word in words], env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout
