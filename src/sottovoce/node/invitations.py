"""Invitations: one line that lets one organisation into one study, once, until it expires.

The line holds the address of the coordinator's server and the fingerprint of its certificate, so an
invitation that really comes from the coordinator cannot lead to another server. The server keeps
only a hash of the token, so its disk gives no invitation away.
"""

import binascii
import hmac
import re
from base64 import b32decode, b32encode
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sottovoce.errors import InputError, MalformedError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.protocols.identities import digest
from sottovoce.wire.printable import fault_in, is_path_name

PREFIX = "sottovoce-1-"
TOKEN_BYTES = 32
FINGERPRINT_BYTES = 32

_ANY = re.compile(r"sottovoce-(\d{1,4})-(.*)", re.DOTALL)
_LENGTH_BYTES = 2
_CHECKSUM_BYTES = 6
_LONGEST = 4096
_SHOWN = 40
_AGAIN = "copy the whole line that the coordinator sent, or ask for a new one"


@dataclass(frozen=True)
class Invitation:
    """An invitation: server, certificate, study, organisation and its seats."""

    address: str
    """`https://host:port`"""
    fingerprint: bytes
    """SHA-256 of the certificate that the server must show."""
    study: str
    title: str
    short_name: str
    seats: tuple[str, ...]
    token: bytes = field(repr=False)
    expires: datetime

    def __post_init__(self) -> None:
        """Refuse control characters, and names that lead outside this site's folder."""
        for what, text in (
            ("address", self.address),
            ("title", self.title),
            ("short_name", self.short_name),
        ):
            fault = fault_in(text)
            if fault:
                raise InputError(f"invitation: {what}: {fault}", hints=(_AGAIN,))
        for what, name in (("study", self.study), *(("seat", seat) for seat in self.seats)):
            if not is_path_name(name):
                raise InputError(
                    f"invitation: expected a {what} of letters, digits, - and _ (at most 32), "
                    f"found {name[:_SHOWN]!r}",
                    hints=(_AGAIN,),
                )
        if not self.seats or len(set(self.seats)) < len(self.seats):
            raise InputError(
                f"invitation: expected each seat once, found {', '.join(self.seats) or 'none'}",
                hints=(_AGAIN,),
            )

    @property
    def line(self) -> str:
        """The line that is sent to the organisation."""
        from sottovoce.node.invitation_content import InvitationContent

        content = InvitationContent(
            self.address,
            self.fingerprint,
            self.study,
            self.title,
            self.short_name,
            self.seats,
            self.token,
            int(self.expires.timestamp()),
        )
        body = content.body
        framed = len(body).to_bytes(_LENGTH_BYTES) + body + _checksum(body)
        return PREFIX + b32encode(framed).decode().rstrip("=").lower()

    @classmethod
    def parse(cls, line: str) -> "Invitation":
        """The invitation in a line, which a mail program may have wrapped."""
        compact = "".join(line.split()).strip("\"'<>")
        match = _ANY.fullmatch(compact)
        if match is None or len(compact) > _LONGEST:
            raise InputError(
                f"invitation: expected one line that begins with {PREFIX}, "
                f"found {len(compact)} characters that do not",
                hints=(_AGAIN,),
            )
        if match[1] != "1":
            raise InputError(
                f"invitation: expected version 1, found version {match[1]}",
                hints=("update Sottovoce: pip install --upgrade sottovoce",),
            )
        return cls._of(_body(match[2]))

    @classmethod
    def _of(cls, body: bytes) -> "Invitation":
        from sottovoce.node.invitation_content import InvitationContent

        try:
            read = InvitationContent.read(body)
            expires = datetime.fromtimestamp(read.expires, UTC)
        except (MalformedError, OverflowError, OSError, ValueError):
            raise InputError(
                "invitation: whole, but not one of this version", hints=(_AGAIN,)
            ) from None
        if len(read.token) != TOKEN_BYTES or len(read.fingerprint) != FINGERPRINT_BYTES:
            raise InputError("invitation: whole, but not one of this version", hints=(_AGAIN,))
        return cls(
            read.address,
            read.fingerprint,
            read.study,
            read.title,
            read.short_name,
            read.seats,
            read.token,
            expires,
        )

    def check_time(self, now: datetime) -> None:
        """Refuse an expired invitation."""
        if now > self.expires:
            raise _expired(self.short_name, self.expires)


def hash_of(token: bytes) -> bytes:
    """The hash of a token that may be stored: tokens are uniform, so a plain hash hides them."""
    return digest("service/invitation-token/v1", token)


def _body(written: str) -> bytes:
    """The text between length and checksum; an error says how it is damaged."""
    padded = written.upper() + "=" * (-len(written) % 8)
    try:
        framed = b32decode(padded)
    except (binascii.Error, ValueError):
        # The length shows whether it was cut or changed, if it can still be read.
        framed = _beginning(written)
    size = _LENGTH_BYTES + int.from_bytes(framed[:_LENGTH_BYTES]) + _CHECKSUM_BYTES
    expected = -(-size * 8 // 5)
    if len(written) != expected:
        what = "cut short" if len(written) < expected else "too long"
        raise InputError(
            f"invitation: {what}, expected {expected + len(PREFIX)} characters, "
            f"found {len(written) + len(PREFIX)}",
            hints=(_AGAIN,),
        )
    body = framed[_LENGTH_BYTES:-_CHECKSUM_BYTES]
    # The last character has spare bits: only one of its equivalent forms is valid.
    whole = len(framed) == size and b32encode(framed).decode().rstrip("=") == written.upper()
    if not whole or not hmac.compare_digest(_checksum(body), framed[-_CHECKSUM_BYTES:]):
        raise InputError(
            "invitation: damaged, its checksum does not fit: a character was changed",
            hints=(_AGAIN,),
        )
    return body


def _beginning(written: str) -> bytes:
    try:
        return b32decode(written[:8].upper().ljust(8, "A"))
    except (binascii.Error, ValueError):
        return b"\0\0"


def _checksum(body: bytes) -> bytes:
    """A checksum against typing mistakes only."""
    return digest("service/invitation/v1", body)[:_CHECKSUM_BYTES]


def _expired(short_name: str, expires: datetime) -> InputError:
    return InputError(
        f"invitation of {short_name!r}: it expired on {_day(expires)}",
        hints=(
            Hint(
                "the coordinator makes a new one: ",
                ShellCommand(f"sottovoce study invite {short_name}"),
            ),
        ),
    )


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
