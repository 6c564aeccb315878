"""Memberships and statuses of studies: records that every command can load quickly.

Nothing here imports numerical code, so `sottovoce status` answers at once.
"""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Membership:
    """A site's membership in one study: its invitation, and the folder that holds the rest.

    `seats` are the seats of this organisation (its peer's name, "evaluator", "dealer"). The
    `token` lets each of them enrol once. `at_rest` encrypts journals on this disk.
    """

    folder: Path
    address: str
    fingerprint: bytes
    study: str
    seats: tuple[str, ...]
    token: bytes = field(repr=False)
    at_rest: bytes = field(repr=False)


@dataclass(frozen=True)
class SeatStatus:
    """The status of one seat of this site: its phase, and why it ended.

    It says for whom and what it waits, and until when (seconds since 1970; 0 for no limit).
    `process` is the last process that took part, and `labels_left` the rest of the budget after the
    newest query, None before the first.
    """

    study: str
    seat: str
    phase: str
    attempt: int
    letters: int
    reason: str = ""
    party: str = ""
    waits_for: tuple[str, ...] = ()
    waits_what: str = ""
    waits_until: float = 0.0
    process: int = 0
    labels_left: int | None = None


@dataclass(frozen=True)
class StudyStatus:
    """The status of a study at the coordinator: its phase, who is enrolled, who was seen when.

    It says who is waited for, for what, and until when (seconds since 1970; 0 for no limit).
    `words` are what people compare by phone once everybody is known; `reported` is each seat's last
    report about the current attempt, `versions` the version of the program that it names. `done` is
    the share of the stage that is behind, `ends` about when it ends; 0 where nobody can say.
    """

    study: str
    name: str
    phase: str
    attempt: int
    enrolled: tuple[str, ...]
    expected: tuple[str, ...]
    reason: str
    seen: tuple[tuple[str, float], ...]
    waits_for: tuple[str, ...] = ()
    waits_what: str = ""
    waits_until: float = 0.0
    words: tuple[str, ...] = ()
    reported: tuple[tuple[str, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    done: float = 0.0
    ends: float = 0.0


@dataclass(frozen=True)
class CoordinatorPlace:
    """A coordinator's folder and address."""

    folder: Path
    at_rest: bytes = field(repr=False)
    host: str = "127.0.0.1"
    port: int = 8443
    database: str = field(default="", repr=False)
    """The PostgreSQL database for letters; without one, a file in every study's folder."""


@dataclass(frozen=True)
class InvitationToken:
    """The token of one organisation's invitation; the server keeps only its hash."""

    study: str
    organisation: str
    seats: tuple[str, ...]
    secret: bytes = field(repr=False)
    expires: float = 0.0
