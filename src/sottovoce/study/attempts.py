"""The stages of a study and their attempts: with which peers, and what follows a failure.

Each attempt is a session of its own. Its number and its peers are in the name of everything that is
used once, so an attempt after a peer left shares no key, no mask and no seed with the one before.
What was opened over a set of peers is never opened over another set: with one peer less, the
difference of the two sums would be that peer's part.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from sottovoce.errors import AbsenceError, InputError, SottovoceError, StoppedError, TheirError
from sottovoce.study.roster import Role

if TYPE_CHECKING:
    from sottovoce.study.study import Study


class Stage(StrEnum):
    """The stages of a study, in this order; each is a session of its own."""

    AGREEMENT = "agreement"
    DICTIONARY = "dictionary"
    CONTRIBUTIONS = "contributions"
    TRAINING = "training"

    @classmethod
    def of(cls, study: "Study") -> tuple["Stage", ...]:
        """Return the stages of a study; only engine quorum adds up in a stage before the training.

        Members keep their shares of the sum. So if one of them leaves the training, it is tried
        again without that member, and no sum is opened a second time.
        """
        from sottovoce.study.choices import Engine

        quorum = study.engine is Engine.QUORUM
        return tuple(stage for stage in cls if quorum or stage is not cls.CONTRIBUTIONS)

    @property
    def opened_sums(self) -> frozenset[str]:
        """The blind sums of this stage; once one is agreed on, the stage is not tried again."""
        return _OPENED[self]


_OPENED = {
    Stage.AGREEMENT: frozenset[str](),
    Stage.DICTIONARY: frozenset({"preparation"}),
    Stage.CONTRIBUTIONS: frozenset({"ends"}),
    Stage.TRAINING: frozenset({"spectrum", "contributions", "penalty size"}),
}
# The maximum number of attempts of one stage.
MOST_ATTEMPTS = 5


@dataclass(frozen=True)
class Attempt:
    """One attempt at one stage: its number, and which peers take part (in roster order)."""

    stage: Stage
    number: int
    peers: tuple[str, ...]

    @classmethod
    def first(cls, study: "Study", stage: Stage, *, peers: Collection[str] | None = None) -> Self:
        """Return the first attempt at a stage, with these peers (by default all)."""
        roster = study.roster.peers
        chosen = roster if peers is None else tuple(peer for peer in roster if peer in peers)
        attempt = cls(stage, 1, chosen)
        attempt.check(study)
        return attempt

    def check(self, study: "Study") -> None:
        """Refuse peers that are not in the roster, and too few peers."""
        from sottovoce.study.choices import Engine

        roster, fewest = study.roster.peers, study.fewest_peers
        if self.number < 1:
            raise InputError(f"attempt: expected a number from 1, found {self.number}")
        if self.peers != tuple(peer for peer in roster if peer in self.peers):
            raise InputError(
                f"attempt: expected peers of the roster in its order ({', '.join(roster)}), "
                f"found {', '.join(self.peers) or 'nobody'}"
            )
        if len(self.peers) < fewest:
            left = [peer for peer in roster if peer not in self.peers]
            raise AbsenceError(
                f"too few peers are left for the {self.stage} of study {study.plan.name!r}: "
                f"expected at least {fewest}, found {len(self.peers)}, missing {', '.join(left)}",
                party=left[0],
            )
        if study.engine is Engine.QUORUM:
            study.quorum_of(self.peers)
        if self.stage is Stage.AGREEMENT and self.peers != roster:
            raise InputError("attempt: expected everybody in the roster to agree, found fewer")

    def session(self, study: "Study") -> bytes:
        """Return the session of this attempt, which no other attempt has."""
        return study.session(self.stage, str(self.number))

    def parties(self, study: "Study") -> tuple[str, ...]:
        """Return the parties of this session; dealer and intermediaries skip the dictionary.

        A seat that only looks up entities for others takes part in the agreement alone, then waits
        for queries.
        """
        roster = study.roster
        seats: list[str] = [roster.coordinator]
        if roster.helped:
            seats.append(roster.evaluator)
        if roster.dealer is not None and self.stage is not Stage.DICTIONARY:
            seats.append(roster.dealer)
        if self.stage is not Stage.DICTIONARY:
            builders = map(roster.intermediary, self.peers)
            seats += [builder for builder in builders if builder is not None]
        seats += [member for member in map(roster.member, self.peers) if member is not None]
        if self.stage is Stage.AGREEMENT:
            seats += [participant.name for participant in roster.having(Role.ANSWERER)]
        return (*seats, *self.peers)

    def follows(self, before: "Attempt") -> bool:
        """Whether this attempt can follow another: it is a later attempt, or at a later stage."""
        stages = list(Stage)
        here = (stages.index(self.stage), self.number)
        return here > (stages.index(before.stage), before.number)

    def again(self, *, without: Collection[str] = ()) -> "Attempt":
        """Return the next attempt, without the peers named."""
        peers = tuple(peer for peer in self.peers if peer not in without)
        return Attempt(self.stage, self.number + 1, peers)


def following(
    study: "Study", failed: Attempt, *, missing: Collection[str], opened: bool
) -> "Attempt":
    """Return the attempt after a failed one; raise `AbsenceError` if the study has to stop.

    `missing` are the parties that left. `opened` says whether one of the stage's sums was agreed on
    already.
    """
    name = study.plan.name
    missing = study.whole_organisations(missing)
    check_roles(study, missing)
    helped = study.roster.intermediary
    gone = [peer for peer in failed.peers if {peer, helped(peer)} & set(missing)]
    if failed.stage is Stage.AGREEMENT and gone:
        raise AbsenceError(
            f"study {name!r} cannot begin without the consent of everybody in its roster",
            party=gone[0],
            hints=("make a study without this peer",),
        )
    if opened:
        raise AbsenceError(
            f"study {name!r} cannot repeat its {failed.stage}: a sum over "
            f"{', '.join(failed.peers)} was agreed on already, and is never opened over others",
            party=gone[0] if gone else "",
            hints=("make a new study",),
        )
    after = failed.again(without=gone)
    after.check(study)
    return after


def check_roles(study: "Study", missing: Collection[str]) -> None:
    """Raise if a role is missing that nobody else can take over."""
    roster = study.roster
    for role, seat in (
        ("coordinator", roster.coordinator),
        ("evaluator", roster.evaluator if roster.helped else None),
        ("dealer", roster.dealer),
    ):
        if seat is not None and seat in missing:
            raise AbsenceError(
                f"study {study.plan.name!r} cannot continue without its {role}", party=seat
            )


@dataclass(frozen=True)
class Stop:
    """Why a study ended early: the stage, the kind of failure, and the party that caused it.

    It holds nothing from a document or a message: the error's text stays at the seat where it was
    raised.
    """

    stage: Stage
    attempt: int
    kind: str
    party: str

    @classmethod
    def of(cls, attempt: Attempt, error: SottovoceError, *, seat: str) -> Self:
        """Return the stop after an error at one seat; `blamed` caused it, if that is known."""
        party = error.party if isinstance(error, TheirError) and error.party else seat
        return cls(attempt.stage, attempt.number, type(error).__name__, party)

    def error(self) -> StoppedError:
        """Return the error that every other seat raises."""
        reason = _REASONS.get(self.kind, "something failed there")
        return StoppedError(
            f"the study was stopped in its {self.stage} (attempt {self.attempt}): {reason}",
            party=self.party,
        )


_REASONS = {
    "AbsenceError": "it left, or too few are left to continue",
    "MalformedError": "what it sent could not be read",
    "ViolationError": "what it sent or did was not as agreed",
    "InputError": "its documents or settings cannot be used",
    "BoundError": "a number there would leave the range that was agreed",
    "MisuseError": "something there would have been used twice",
    "WithdrawnError": "declined by its owner",
}
