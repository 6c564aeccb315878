"""Reads the query of a request strictly: each field once, and no others."""

from collections.abc import Mapping

from sottovoce.course.letter_chain import CHAIN_BYTES, HeldLetters
from sottovoce.transport.mailbox.mailbox_tables import RUN_BYTES, LetterSummary, Place
from sottovoce.transport.problems import Refusal

UPLOAD_FIELDS = ("session", "to", "number", "size", "digest")
_MAX_NAME = 200
_MAX_SESSION = 64


def fields_of(query: Mapping[str, str], *expected: str) -> dict[str, str]:
    """Return the fields of a query, which must be exactly these."""
    names = list(query)
    if sorted(names) != sorted(expected):
        raise _bad(f"the fields must be {', '.join(expected)}")
    fields = {name: query[name] for name in expected}
    if not all(text.isprintable() for text in fields.values()):
        raise _bad("every field must be printable text")
    return fields


def place_of(fields: Mapping[str, str], *, sender: str) -> Place:
    """Return the place of a letter that this sender posts."""
    session, recipient = _hex(fields, "session"), fields["to"]
    if not 0 < len(session) <= _MAX_SESSION:
        raise _bad(f"expected a session of 1 to {_MAX_SESSION} bytes, found {len(session)}")
    if not 0 < len(recipient) <= _MAX_NAME:
        raise _bad("`to` must be the name of a seat")
    return Place(session, sender, recipient, number_of(fields, "number"))


def sealed_of(fields: Mapping[str, str], *, sender: str) -> LetterSummary:
    """Return the announced letter of an upload."""
    digest = _hex(fields, "digest")
    if len(digest) != 32:
        raise _bad(f"expected a digest of 32 bytes, found {len(digest)}")
    return LetterSummary(place_of(fields, sender=sender), number_of(fields, "size"), digest)


def run_of(fields: Mapping[str, str], name: str = "run") -> bytes:
    """The run of a process at a seat; `before` may be empty."""
    run = _hex(fields, name)
    if len(run) != RUN_BYTES and (run or name != "before"):
        raise _bad(f"expected {RUN_BYTES} bytes in {name!r}, found {len(run)}")
    return run


def held_of(fields: Mapping[str, str]) -> HeldLetters:
    """Return the letters that a seat expects the server to hold."""
    chain = _hex(fields, "chain")
    if len(chain) != CHAIN_BYTES:
        raise _bad(f"expected {CHAIN_BYTES} bytes in 'chain', found {len(chain)}")
    return HeldLetters(number_of(fields, "letters"), chain)


def number_of(fields: Mapping[str, str], name: str) -> int:
    """Return a number without a sign."""
    text = fields[name]
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise _bad(f"{name!r} must be a number")
    return int(text)


def _hex(fields: Mapping[str, str], name: str) -> bytes:
    try:
        return bytes.fromhex(fields[name])
    except ValueError:
        raise _bad(f"{name!r} must be hexadecimal digits") from None


def _bad(detail: str) -> Refusal:
    return Refusal(400, "query", detail)
