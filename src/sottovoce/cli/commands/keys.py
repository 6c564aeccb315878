"""`sottovoce keys …`: make a Paillier key, look at it, check it, change its passphrase."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError, KeyFileError

if TYPE_CHECKING:
    from rich.status import Status

    from sottovoce.keyfiles.passphrase import Passphrase

app = typer.Typer(no_args_is_help=True, help="Make, show, check and protect Paillier keys.")

KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="A key file.")]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read the passphrase from this file (mode 600)."),
]
PassphraseFd = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", min=0, help="Read the passphrase from this open descriptor."),
]


@app.callback()
def root() -> None:
    """Make, show, check and protect Paillier keys."""


@app.command(short_help="Make a key and keep it under a passphrase.")
def generate(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the two key files go.")],
    bits: Annotated[int, typer.Option(metavar="2048|3072|4096", help="Size of the key.")] = 3072,
    profile: Annotated[
        str, typer.Option(metavar="short|djn|textbook", help="How ciphertexts are randomised.")
    ] = "short",
    passphrase_file: PassphraseFile = None,
    passphrase_fd: PassphraseFd = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Rename existing key files to *.old-1 instead of refusing.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a key: FOLDER/public.key for everybody, FOLDER/secret.key under a passphrase.

    \b
    Examples:
      sottovoce keys generate --out keys
      sottovoce keys generate --out keys --bits 2048 --profile djn
      sottovoce keys generate --out keys --passphrase-fd 3 3< <(pass show study)
    """
    from sottovoce.entropy import SystemEntropy
    from sottovoce.keyfiles import keys, storage
    from sottovoce.paillier import Profile
    from sottovoce.paillier import generate as generate_key

    wanted, entropy = Profile.of(profile), SystemEntropy()
    _check_bits(bits)
    old = [out / name for name in (keys.PUBLIC_NAME, keys.SECRET_NAME) if (out / name).exists()]
    if old and not replace:
        raise KeyFileError(
            f"{old[0]}: already exists; nothing was changed",
            hints=("choose another --out, or add --replace",),
        )
    storage.make_folder(out)
    passphrase = read_passphrase(passphrase_file, passphrase_fd, new=True)
    with _busy(f"making a {bits}-bit key"):
        key = generate_key(bits, wanted, entropy=entropy)
    for path in old:
        screen.say(f"{path}: renamed to {storage.set_aside(path).name}", err=True)
    public, secret = keys.make_pair(out, key, passphrase, entropy=entropy)
    _print_facts(
        {
            "public": str(public),
            "secret": str(secret),
            "fingerprint": key.public.fingerprint,
            "bits": bits,
            "profile": str(wanted),
        },
        as_json=as_json,
    )


@app.command(short_help="Fingerprint, size and profile of a key.")
def show(file: KeyFile, as_json: AsJson = False) -> None:
    """Show what is public about a key: fingerprint, size, profile and assumption.

    \b
    Examples:
      sottovoce keys show keys/public.key
      sottovoce keys show keys/secret.key --json
    """
    from sottovoce.keyfiles import keys
    from sottovoce.keyfiles.keytext import KeyHalf
    from sottovoce.paillier import Profile

    label = keys.read_label(file)
    if label.kind is KeyHalf.PUBLIC:
        keys.read_public(file)
    _print_facts(
        {
            "kind": str(label.kind),
            "fingerprint": label.fingerprint,
            "bits": label.bits,
            "profile": label.profile,
            "assumption": Profile.of(label.profile).assumption,
        },
        as_json=as_json,
    )


@app.command(short_help="Check a key file, and that its passphrase opens it.")
def check(
    file: KeyFile,
    passphrase_file: PassphraseFile = None,
    passphrase_fd: PassphraseFd = None,
    as_json: AsJson = False,
) -> None:
    """Check that a key file is whole, that its passphrase opens it, and that it is a key.

    \b
    Examples:
      sottovoce keys check keys/public.key
      sottovoce keys check keys/secret.key
    """
    from sottovoce.keyfiles import keys
    from sottovoce.keyfiles.keytext import KeyHalf

    label = keys.read_label(file)
    if label.kind is KeyHalf.PUBLIC:
        keys.read_public(file)
        verdict = "whole, and a valid public key"
    else:
        keys.read_secret(file, read_passphrase(passphrase_file, passphrase_fd))
        verdict = "whole, opened by this passphrase, and a valid secret key"
    facts = {"file": str(file), "fingerprint": label.fingerprint, "verdict": verdict}
    _print_facts(facts, as_json=as_json)


@app.command(short_help="Write the public half of a secret key again.")
def public(
    file: KeyFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the public half goes.")],
    passphrase_file: PassphraseFile = None,
    passphrase_fd: PassphraseFd = None,
    as_json: AsJson = False,
) -> None:
    """Write the public half of a secret key again.

    \b
    Example:
      sottovoce keys public keys/secret.key --out keys/public.key
    """
    from sottovoce.keyfiles import keys, storage

    storage.check_absent(out)
    key = keys.read_secret(file, read_passphrase(passphrase_file, passphrase_fd))
    keys.write_public(out, key.public)
    facts = {"public": str(out), "fingerprint": key.public.fingerprint}
    _print_facts(facts, as_json=as_json)


@app.command(short_help="Change the passphrase of a secret key.")
def passphrase(
    file: KeyFile,
    passphrase_file: PassphraseFile = None,
    passphrase_fd: PassphraseFd = None,
    new_passphrase_file: PassphraseFile = None,
    new_passphrase_fd: PassphraseFd = None,
    as_json: AsJson = False,
) -> None:
    """Change the passphrase of a secret key. Copies of the old file keep the old one.

    \b
    Example:
      sottovoce keys passphrase keys/secret.key
    """
    from sottovoce.entropy import SystemEntropy
    from sottovoce.keyfiles import keys

    # A wrong passphrase is reported before a new one is asked for.
    key = keys.read_secret(file, read_passphrase(passphrase_file, passphrase_fd))
    new = read_passphrase(new_passphrase_file, new_passphrase_fd, new=True)
    keys.write_secret(file, key, new, entropy=SystemEntropy(), replace=True)
    facts = {"file": str(file), "verdict": "sealed under the new passphrase"}
    _print_facts(facts, as_json=as_json)


def read_passphrase(
    file: Path | None, descriptor: int | None, *, new: bool = False
) -> "Passphrase":
    """The passphrase of a key: from a file, an open descriptor, or as it is typed."""
    from sottovoce.keyfiles.passphrase import Passphrase

    if file is not None and descriptor is not None:
        raise InputError("passphrase: expected a file or a descriptor, found both")
    if file is not None:
        passphrase = Passphrase.from_file(file)
    elif descriptor is not None:
        passphrase = Passphrase.from_descriptor(descriptor)
    elif new:
        return Passphrase.asked_twice("new passphrase")
    else:
        return Passphrase.asked("passphrase")
    return passphrase.chosen() if new else passphrase


def _check_bits(bits: int) -> None:
    from sottovoce.paillier.profiles import STRENGTHS, either

    if bits not in STRENGTHS:
        raise InputError(
            f"--bits: expected {either(tuple(STRENGTHS))}, found {bits}", hints=("use --bits 3072",)
        )


def _busy(what: str) -> "Status":
    return screen.console(err=True).status(what)


def _print_facts(facts: Mapping[str, str | int], *, as_json: bool) -> None:
    from rich.table import Table

    if as_json:
        screen.say_json(facts)
        return
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        table.add_row(name, str(value))
    screen.console().print(table)
