"""The control letters between the coordinator and the seats about the course of a study.

    coordinator → seat   Seating, Begin, Gone, Stopped, Finished, Closed, OpenedQuery,
                         RefusedQuery, OpenedEvaluation, RefusedEvaluation, Reseated, Rejoining,
                         LedgerReceipt
    seat → coordinator   Declined, Done, Failed, Leaving, AskedQuery, AskedEvaluation, Rejoined,
                         LedgerHead

These letters have their own session, which needs no roster. They hold names, stages and kinds of
failures, but never an error's own message, which may quote a document.
"""

from typing import ClassVar

from sottovoce.errors import InputError, MalformedError
from sottovoce.protocols.disclosures import BY_ASKER
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure, Message, kind_of
from sottovoce.study.attempts import Attempt, Stage, Stop
from sottovoce.study.roster import Participant, Role, Roster
from sottovoce.study.stages.agreement import AgreedStudy, SignedConsent
from sottovoce.wire import Codec, Value
from sottovoce.wire.codec import tag_of

COORDINATOR = str(Role.COORDINATOR)
# The largest ones hold everybody's consent and the study's settings.
CONTROL = Codec(limit=16 * 2**20)
"""The codec of control letters; a larger letter is never written or accepted."""
_COURSE = "the course of a study is no secret among its participants"


def _told(reveals: str) -> Disclosure:
    return Disclosure("every seat of the study", reveals, _COURSE)


def _reported(reveals: str) -> Disclosure:
    return Disclosure("the coordinator of the study", reveals, _COURSE)


def control_session(study: str, public: bytes) -> bytes:
    """The session of control letters with the seat that holds this key.

    It exists before there is a roster. A seat that enrols again with a new key has a new one.
    """
    return digest("service/control/v1", study.encode(), public)


class SeatRecord(Value, frozen=True):
    """One line of a roster in a letter."""

    name: str
    organisation: str
    role: str
    public: bytes


class Seating(Message, frozen=True):
    """The coordinator's proposal of a roster: who takes part, with which identity keys."""

    discloses: ClassVar = _told("who takes part, and their public identity keys")
    number: int
    seats: tuple[SeatRecord, ...]

    @classmethod
    def of(cls, number: int, roster: Roster) -> "Seating":
        """The proposal of a roster."""
        seats = (
            SeatRecord(
                participant.name,
                participant.organisation,
                str(participant.role),
                participant.public,
            )
            for participant in roster.participants
        )
        return cls(number, tuple(seats))

    def roster(self) -> Roster:
        """The proposed roster, if it is valid."""
        try:
            return Roster(
                tuple(
                    Participant(seat.name, seat.organisation, Role(seat.role), seat.public)
                    for seat in self.seats
                )
            )
        except (InputError, ValueError) as error:
            raise MalformedError(f"roster: {error}", party=COORDINATOR) from error


class Begin(Message, frozen=True):
    """An attempt at a stage begins, among these peers."""

    discloses: ClassVar = _told("which stage begins, and with whom")
    seating: int
    stage: str
    number: int
    peers: tuple[str, ...]

    @classmethod
    def of(cls, seating: int, attempt: Attempt) -> "Begin":
        """The letter of an attempt."""
        return cls(seating, str(attempt.stage), attempt.number, attempt.peers)

    def attempt(self) -> Attempt:
        """The attempt that begins."""
        try:
            return Attempt(Stage(self.stage), self.number, self.peers)
        except ValueError as error:
            raise MalformedError(
                f"expected a stage of a study, found {self.stage!r}", party=COORDINATOR
            ) from error


class Gone(Message, frozen=True):
    """These seats left for good; nobody waits for them in this session any longer."""

    discloses: ClassVar = _told("who left the study")
    session: bytes
    seats: tuple[str, ...]


class Stopped(Message, frozen=True):
    """The study ended without a model: in which stage, with what kind of failure, by whom."""

    discloses: ClassVar = _told("in which stage the study ended, why in general, and by whom")
    stage: str
    attempt: int
    kind: str
    party: str
    reason: str

    @classmethod
    def of(cls, stop: Stop, reason: str) -> "Stopped":
        """The letter of a stop."""
        return cls(str(stop.stage), stop.attempt, stop.kind, stop.party, reason)


class Finished(Message, frozen=True):
    """The training is over; these peers are in the model, and journals may be deleted."""

    discloses: ClassVar = _told("that the model is there, and which peers are in it")
    peers: tuple[str, ...]


class Closed(Message, frozen=True):
    """The study is closed: queries are no longer answered, and shares of the model are deleted."""

    discloses: ClassVar = _told("that the study is closed")


class Reseated(Message, frozen=True):
    """To a seat that enrolled again: who agreed before, and who takes part with its new key."""

    discloses: ClassVar = Disclosure(
        "the seat that enrolled again",
        "who takes part, everybody's signed consent, and the study's public key",
        _COURSE,
    )
    before: Seating
    now: Seating
    proof: AgreedStudy
    peers: tuple[str, ...]


class Rejoined(Message, frozen=True):
    """A seat that enrolled again agrees to the study with its new keys."""

    discloses: ClassVar = _reported("that this seat agrees again, with new keys")
    consent: SignedConsent


class Rejoining(Message, frozen=True):
    """To all others: a seat has new keys, signed by itself; people compare the words."""

    discloses: ClassVar = _told("that a seat enrolled again, and its new public keys")
    now: Seating
    consent: SignedConsent


class HandedModel(Message, frozen=True):
    """A peer's stored part, for a peer that lost its own."""

    discloses: ClassVar = Disclosure(
        "the peer that lost its disk, sealed against the coordinator",
        "the encrypted model and the features, which that peer had before",
        "the people of both sites compared the words of the new roster",
    )
    part: bytes


class Done(Message, frozen=True):
    """A seat's program returned; `kept` is False if it came too late for the result."""

    discloses: ClassVar = _reported("that this seat has finished its part of a stage")
    session: bytes
    kept: bool


class Failed(Message, frozen=True):
    """A seat's program failed: the kind of the error, and who caused it, if that is known."""

    discloses: ClassVar = _reported("that this seat could not go on, and the kind of its error")
    session: bytes
    kind: str
    party: str


class Declined(Message, frozen=True):
    """A site does not consent to this roster or this plan."""

    discloses: ClassVar = _reported("that this site does not consent")
    seating: int


class Leaving(Message, frozen=True):
    """A site withdrew: it sends nothing after this."""

    discloses: ClassVar = _reported("that this site withdrew its consent")


class LedgerHead(Message, frozen=True):
    """The end of a seat's ledger: the number of lines and the hash of the last one, signed."""

    discloses: ClassVar = _reported("how many lines this seat's ledger has")
    entries: int
    head: bytes
    signature: bytes


class LedgerReceipt(Message, frozen=True):
    """The coordinator's signed receipt for the longest end of this seat's ledger."""

    discloses: ClassVar = Disclosure(
        "the seat whose ledger it is", "what this seat told the coordinator before", _COURSE
    )
    receipt: bytes


class AskedQuery(Message, frozen=True):
    """A peer wants to ask, under this query number; a repetition continues the query.

    `verdict` says how labels are computed, if not in the plan's first way.
    """

    discloses: ClassVar = _reported("that this peer asks now, and whether without the dealer")
    number: int
    verdict: str = ""


class OpenedQuery(Message, frozen=True):
    """A peer's query begins; sent to its helpers, each of which hears of the others."""

    discloses: ClassVar = Disclosure(
        "the dealer of this query, and the evaluator who holds a share of the model",
        "that a peer asks, which, and who else helps",
        _COURSE,
    )
    asker: str
    number: int
    helpers: tuple[str, ...]


class RefusedQuery(Message, frozen=True):
    """A query is refused: its number, the next valid number, and the reason.

    `missing` names the seat that did not answer, if any.
    """

    discloses: ClassVar = Disclosure(BY_ASKER, "why it cannot ask now", _COURSE)
    number: int
    expected: int
    reason: str
    missing: str = ""


class AskedEvaluation(Message, frozen=True):
    """A peer has labels of its held-out documents, and is ready for the joint evaluation."""

    discloses: ClassVar = _reported("that this peer takes part in an evaluation")


class OpenedEvaluation(Message, frozen=True):
    """The joint evaluation begins among these peers."""

    discloses: ClassVar = _told("which peers evaluate the model together")
    number: int
    attempt: int
    peers: tuple[str, ...]


class RefusedEvaluation(Message, frozen=True):
    """An attempt at an evaluation failed, or (attempt 0) this peer takes part in none."""

    discloses: ClassVar = Disclosure(
        "a peer of the evaluation", "why there is no joint evaluation now", _COURSE
    )
    number: int
    attempt: int
    reason: str


def read_control(body: bytes, *, sender: str) -> Message:
    """The control message in a letter, or `MalformedError` that names its sender."""
    try:
        return CONTROL.decode(body, _control_kind(body))
    except MalformedError as error:
        raise error.by(sender) from error


def _control_kind(body: bytes) -> type[Message]:
    kind = kind_of(tag_of(body))
    if kind.__module__ != __name__:
        raise MalformedError(f"expected a control letter, found {kind.__name__}")
    return kind
