"""Make tests/vectors/keyfiles.json: key files of version 1, whole and in every way wrong.

Run from the repository: PYTHONPATH=tests python tests/vectors/make_keyfiles.py
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from harness.entropy import SeededEntropy
from sottovoce.keyfiles import keys
from sottovoce.keyfiles.keytext import KeyText, Label, Lock
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.keyfiles.sealing import MIN_WORK, seal
from sottovoce.paillier import generate

PASSPHRASE = "seven quiet owls read"
SEED = 20260601


def main() -> None:
    """Write the vectors beside this file."""
    key = generate(2048, entropy=SeededEntropy(SEED))
    entropy = SeededEntropy(SEED + 1)
    with tempfile.TemporaryDirectory() as folder:
        public, secret = Path(folder, "public.key"), Path(folder, "secret.key")
        keys.write_public(public, key.public)
        keys.write_secret(secret, key, Passphrase(PASSPHRASE), entropy=entropy, work=MIN_WORK)
        files = {"public": public.read_text(), "secret": secret.read_text()}
    vectors = {
        "provenance": "made by tests/vectors/make_keyfiles.py; the key is for tests alone",
        "seed": SEED,
        "passphrase": PASSPHRASE,
        "fingerprint": key.public.fingerprint,
        "modulus": hex(key.public.modulus),
        "good": files,
        "bad": [
            {"name": name, "kind": kind, "file": text, "error": error, "match": match}
            for name, kind, text, error, match in bad(files["public"], files["secret"])
        ],
    }
    text = json.dumps(vectors, indent=1) + "\n"
    Path(__file__).with_name("keyfiles.json").write_text(text, encoding="utf-8")


Bad = tuple[str, str, str, str, str]


def bad(public: str, secret: str) -> Iterator[Bad]:
    """Every way in which a key file can be wrong, with the error that says so."""
    damaged, plain = "DamagedFileError", "KeyFileError"
    for kind, text in (("public", public), ("secret", secret)):
        lines = text.splitlines(keepends=True)
        yield "empty", kind, "", damaged, "found an empty file"
        yield "only the first line", kind, lines[0], damaged, "in the last line is missing"
        yield "last line missing", kind, "".join(lines[:-1]), damaged, "last line is missing"
        yield "last line feed missing", kind, text[:-1], damaged, "last line is missing"
        yield "one line missing", kind, "".join(lines[:6] + lines[7:]), damaged, "expected checksum"
        yield "text after the end", kind, text + "more\n", damaged, "last line is missing"
        yield "windows line ends", kind, text.replace("\n", "\r\n"), damaged, "found CR"
        yield "a space added", kind, text.replace("bits: ", "bits:  "), damaged, "expected checksum"
        yield "another program's file", kind, "-----BEGIN KEY-----\n", plain, "not a key file"
        newer = resealed(text, lambda t: t.replace("version 1", "version 2"))
        yield "newer version", kind, newer, plain, "found version 2"
        other = resealed(text, lambda t: t.replace("key, version", "seal, version"))
        yield "another kind of file", kind, other, plain, "not a key file"
        spaced = resealed(text, lambda t: t.replace("bits: ", "bits:  "))
        yield "second spelling", kind, spaced, damaged, "not those of a key file of version 1"
        wrapped = resealed(text, lambda t: t.replace("body:\n", "body:\nAAAA\n"))
        yield "short line in the body", kind, wrapped, damaged, "not those of a key file"
        padded = resealed(text, lambda t: t.replace("body:\n", "body:\n=\n"))
        yield "base64 that ends too early", kind, padded, damaged, "not those of a key file"
        uneven = resealed(text, lambda t: t.split("body:\n")[0] + "body:\nAAAAA\n")
        yield "base64 of no bytes", kind, uneven, damaged, "not those of a key file"
    yield "wrong kind", "public", secret, plain, "expected a public key, found a secret key"
    yield "wrong kind", "secret", public, plain, "expected a secret key, found a public key"
    yield from bad_labels(public, secret)
    yield from bad_locks(secret)


def bad_labels(public: str, secret: str) -> Iterator[Bad]:
    """Files that say one thing and hold another."""
    for field, value in (
        ("fingerprint", "-".join(["0000"] * 8)),
        ("bits", 3072),
        ("profile", "djn"),
    ):
        parsed = KeyText.parse(public.encode(), name="public.key")
        lying = replace(parsed, label=replace(parsed.label, **{field: value}))
        yield (
            f"says another {field}",
            "public",
            text_of(lying),
            "DamagedFileError",
            "says .*, holds",
        )
        parsed = KeyText.parse(secret.encode(), name="secret.key")
        lying = replace(parsed, label=replace(parsed.label, **{field: value}))
        # The head is bound to the body, so no passphrase opens it under another label.
        yield f"says another {field}", "secret", text_of(lying), "WrongPassphraseError", "not open"
    parsed = KeyText.parse(public.encode(), name="public.key")
    cut = text_of(replace(parsed, body=parsed.body[:-1]))
    yield "body too short", "public", cut, "DamagedFileError", "body is no key"
    even = text_of(replace(parsed, body=parsed.body[:258] + b"\0" + parsed.body[259:]))
    yield "body is no key", "public", even, "DamagedFileError", "body is no key"
    sealed = seal(
        label_of(secret), b"no key", Passphrase(PASSPHRASE), entropy=SeededEntropy(1), work=MIN_WORK
    )
    yield "body is no key", "secret", text_of(sealed), "DamagedFileError", "body is no key"


def bad_locks(secret: str) -> Iterator[Bad]:
    """Locks that would cost too much or protect too little."""
    parsed = KeyText.parse(secret.encode(), name="secret.key")
    assert parsed.lock is not None
    for name, lock, match in (
        ("lock too weak", Lock(MIN_WORK - 1, parsed.lock.salt), "found 15, which is too weak"),
        ("lock too costly", Lock(21, parsed.lock.salt), "found 21, which is too costly"),
        ("lock absurd", Lock(999, parsed.lock.salt), "found 999, which is too costly"),
        ("salt too short", Lock(MIN_WORK, b"salt"), "salt of 16 bytes, found 4"),
    ):
        yield name, "secret", text_of(replace(parsed, lock=lock)), "KeyFileError", match
    moved = text_of(replace(parsed, lock=Lock(MIN_WORK, bytes(16))))
    yield "another salt", "secret", moved, "WrongPassphraseError", "does not open"
    flipped = bytes([parsed.body[0] ^ 1]) + parsed.body[1:]
    yield (
        "body altered",
        "secret",
        text_of(replace(parsed, body=flipped)),
        "WrongPassphraseError",
        "not open",
    )
    yield (
        "no body",
        "secret",
        text_of(replace(parsed, body=b"x")),
        "DamagedFileError",
        "sealed body",
    )
    unlocked = text_of(replace(parsed, lock=None))
    yield "no lock", "secret", unlocked, "DamagedFileError", "not those of a key file"


def label_of(text: str) -> Label:
    """What a file says in the open."""
    return KeyText.parse(text.encode(), name="file").label


def text_of(parsed: KeyText) -> str:
    """The text of a file, whole by its checksum whatever it holds."""
    return parsed.render().decode()


def resealed(text: str, change: Callable[[str], str]) -> str:
    """The changed text under a checksum that fits: what only a deliberate hand does."""
    from sottovoce.keyfiles.keytext import _checksum

    changed = change(text[: text.rindex("checksum: ")])
    return f"{changed}checksum: {_checksum(changed.encode()).decode()}\n"


if __name__ == "__main__":
    main()
