"""A ledger as a chain of signed lines: each names its number and the hash of the line before it.

Every line is one JSON object in one encoding, signed by the seat's identity. A head,
signed too, says how many lines there are and what the last one hashes to.
"""

import hashlib
from typing import Any, Self, TypeVar

import msgspec

from sottovoce.errors import LedgerError, ViolationError
from sottovoce.ledger.entries import Entry, LineKind
from sottovoce.protocols.identities import Identity, Pins

# No line of ours comes near: a longer one was not written by us.
MAX_LINE_BYTES = 16 * 1024
_SIGNED_LINE = "ledger/line/v1"
_SIGNED_HEAD = "ledger/head/v1"

S = TypeVar("S", bound="SignedLine")


class SignedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that a seat signed, as one line of JSON."""

    signature: str = ""

    def signed(self, identity: Identity, purpose: str) -> Self:
        """The same with our signature."""
        return msgspec.structs.replace(
            self, signature=identity.sign(purpose, self._unsigned()).hex()
        )

    def is_signed(self, seat: str, public: bytes, purpose: str) -> bool:
        """Whether the holder of this public key signed it, as it stands."""
        try:
            signature = bytes.fromhex(self.signature)
            Pins({seat: public}).check(seat, signature, purpose, self._unsigned())
        except (ViolationError, ValueError):
            return False
        return True

    def encoded(self) -> bytes:
        """The one encoding, with its line end."""
        return msgspec.json.encode(self) + b"\n"

    def _unsigned(self) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(self, signature=""))


class LedgerLine(SignedLine, frozen=True, kw_only=True):
    """A line of a ledger: where it stands, after what, when, and what happened."""

    line: int
    after: str
    when: str
    seat: str
    study: str
    what: str
    stage: str
    kind: str
    party: str
    session: str
    number: int
    bytes: int
    digest: str
    reveals: str
    note: str

    @classmethod
    def of(cls, entry: Entry, end: "LedgerEnd", *, when: str, seat: str) -> Self:
        """The next line after an end, not signed yet."""
        values = vars(entry) | {"what": entry.what.value}
        return cls(line=end.count + 1, after=end.hash, when=when, seat=seat, **values)

    @property
    def entry(self) -> Entry:
        """The entry: what happened."""
        values: dict[str, Any] = {name: getattr(self, name) for name in Entry.__annotations__}
        return Entry(**values | {"what": LineKind(self.what)})


class LedgerEnd(msgspec.Struct, frozen=True):
    """The end of a ledger: the number of its lines, and the hash of the last."""

    count: int
    hash: str

    @classmethod
    def none(cls, seat: str, public: bytes) -> Self:
        """The end of an empty ledger of this seat."""
        return cls(0, _hash(b"ledger/begin/v1\0" + seat.encode() + b"\0" + public))

    def after(self, line: bytes) -> "LedgerEnd":
        """The end after one more line."""
        return LedgerEnd(self.count + 1, _hash(line))

    @property
    def words(self) -> str:
        """A text to write down, which identifies every line up to here."""
        return f"{self.count}-{self.hash[:32]}"


class Head(SignedLine, frozen=True, kw_only=True):
    """A seat's word for where its ledger ends: beside the ledger, or given to somebody else."""

    seat: str
    count: int
    hash: str

    @classmethod
    def of(cls, end: LedgerEnd, identity: Identity) -> Self:
        """Our word for this end."""
        head = cls(seat=identity.name, count=end.count, hash=end.hash)
        return head.signed(identity, _SIGNED_HEAD)

    def check(self, seat: str, public: bytes, where: str) -> None:
        """Refuse a head that this seat did not sign."""
        if self.seat != seat or not self.is_signed(seat, public, _SIGNED_HEAD):
            raise LedgerError(f"{where}: expected a head signed by {seat!r}, found another")


def sign_line(line: LedgerLine, identity: Identity) -> LedgerLine:
    """The line with the seat's signature."""
    return line.signed(identity, _SIGNED_LINE)


def line_is_signed(line: LedgerLine, seat: str, public: bytes) -> bool:
    """Whether this seat signed the line, as it stands."""
    return line.is_signed(seat, public, _SIGNED_LINE)


def read_signed(kind: type[S], data: bytes) -> S | None:
    """The one value that these bytes encode, or None for anything else."""
    if len(data) > MAX_LINE_BYTES:
        return None
    try:
        signed = msgspec.json.decode(data, type=kind)
        if isinstance(signed, LedgerLine):
            LineKind(signed.what)
        return signed if signed.encoded() == data else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()
