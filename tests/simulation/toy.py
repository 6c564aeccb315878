"""A study of light programs: stages, roles and order of a real one, and no cryptography.

The coordinator sends every peer a word, and the first peer all others, without which they do
not go on. Peers send a masked
number to the coordinator and its mask to the evaluator; both agree on
whose halves arrived; the evaluator sends the sum of these masks. The number of a peer is a
digit of its own, so a sum shows who was counted, and how often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

from sottovoce.entropy import Entropy, bound
from sottovoce.errors import AbsenceError
from sottovoce.protocols.blind_sum import OpenedSum
from sottovoce.protocols.conversation import Gather, Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.study import Study
from sottovoce.wire import Codec

DIGIT = 256
TRIPS = 4
_CODEC = Codec()
_TOLD = Disclosure(seen_by="another test", reveals="nothing real", assuming="it is a toy")


class ToyWord(Message, frozen=True):
    """Some random bytes."""

    discloses: ClassVar = _TOLD
    data: bytes


class ToyMasked(Message, frozen=True):
    """A number under a mask."""

    discloses: ClassVar = _TOLD
    value: bytes


class ToyMask(Message, frozen=True):
    """The mask."""

    discloses: ClassVar = _TOLD
    mask: bytes


class ToySet(Message, frozen=True):
    """Whose halves arrived."""

    discloses: ClassVar = _TOLD
    peers: tuple[str, ...]


class ToySum(Message, frozen=True):
    """A sum over these peers."""

    discloses: ClassVar = _TOLD
    peers: tuple[str, ...]
    total: bytes


@dataclass(frozen=True)
class Counted:
    """What a stage gives: the sum, and who is in it."""

    peers: tuple[str, ...]
    total: int


def number_of(study: Study, peer: str) -> int:
    """The digit of a peer."""
    return DIGIT ** study.roster.peers.index(peer)


_MODULUS = 2**128


def _bytes(value: int) -> bytes:
    return (value % _MODULUS).to_bytes(16)


class ToyCourse:
    """One seat's way through a toy study, with the face of `course.seat_course.SeatCourse`.

    Another `edition` of a peer's documents adds something above all digits to its number.
    """

    def __init__(self, study: Study, name: str, sums: OpenedSumsBook, edition: int = 0) -> None:
        self.study, self.name, self.sums, self.edition = study, name, sums, edition
        self.party = SimpleNamespace(study=study)
        self.kept: dict[Stage, Any] = {}

    @property
    def inputs(self) -> bytes:
        return self.edition.to_bytes(32)

    def drawn(self, entropy: Entropy) -> Entropy:
        return bound(entropy, "toy/inputs/v1", self.inputs)

    @property
    def agreement(self) -> Any:
        return self.kept.get(Stage.AGREEMENT)

    @property
    def peers(self) -> tuple[str, ...]:
        counted = self.kept.get(Stage.DICTIONARY)
        return self.study.roster.peers if counted is None else counted.peers

    @property
    def left_out(self) -> bool:
        return self.name in self.study.roster.peers and None in self.kept.values()

    def codec(self) -> Codec:
        return _CODEC

    def takes_part(self, attempt: Attempt) -> bool:
        return self.name in attempt.parties(self.study)

    def keep(self, attempt: Attempt, result: Any) -> None:
        assert attempt.stage not in self.kept
        self.kept[attempt.stage] = result

    def program(self, attempt: Attempt, *, entropy: Entropy) -> Party[Any]:
        assert attempt.stage not in self.kept
        roster, entropy = self.study.roster, self.drawn(entropy)
        if attempt.stage is Stage.AGREEMENT:
            return self._collected(entropy) if self.name == "coordinator" else self._agreed(entropy)
        if self.name == roster.dealer:
            return self._deal(entropy)
        if self.name == roster.coordinator:
            return self._coordinate(attempt)
        if self.name == roster.evaluator:
            return self._evaluate(attempt, entropy)
        return self._contribute(attempt, entropy)

    def _agreed(self, entropy: Entropy) -> Party[bytes]:
        yield Send("coordinator", ToyWord(entropy.read(8)))
        message = yield from receive("coordinator", ToyWord)
        return message.data

    def _collected(self, entropy: Entropy) -> Party[bytes]:
        others = [name for name in self.study.roster.names if name != self.name]
        word = entropy.read(8)
        for name in others:
            result = yield from receive(name, ToyWord)
            word += result.data
        for name in others:
            yield Send(name, ToyWord(word))
        return word

    def _contribute(self, attempt: Attempt, entropy: Entropy) -> Party[Counted | None]:
        yield from receive("coordinator", ToyWord)
        first, *others = attempt.peers
        if self.name == first:
            word = entropy.read(8)
            for name in others:
                yield Send(name, ToyWord(word))
        else:
            yield from receive(first, ToyWord)
        mask = entropy.read(16)
        value = number_of(self.study, self.name) + self.edition * DIGIT ** len(self.peers)
        masked = value + int.from_bytes(mask)
        yield Send("coordinator", ToyMasked(_bytes(masked)))
        yield Send("evaluator", ToyMask(mask))
        message = yield from receive("coordinator", ToySum)
        if self.name not in message.peers:
            return None
        return Counted(message.peers, int.from_bytes(message.total))

    def _coordinate(self, attempt: Attempt) -> Party[Counted]:
        for name in attempt.peers:
            yield Send(name, ToyWord(b"begin"))
        came = yield Gather(ToyMasked, attempt.peers)
        yield Send("evaluator", ToySet(tuple(came)))
        agreed = yield from receive("evaluator", ToySet)
        self._enough(agreed.peers)
        self._open(attempt, agreed.peers)
        masks = yield from receive("evaluator", ToySum)
        if attempt.stage is Stage.TRAINING:
            yield from self._trips("evaluator")
        total = sum(int.from_bytes(came[peer].value) for peer in agreed.peers)
        total -= int.from_bytes(masks.total)
        for name in attempt.peers:
            yield Send(name, ToySum(agreed.peers, _bytes(total)))
        return Counted(agreed.peers, total % _MODULUS)

    def _evaluate(self, attempt: Attempt, entropy: Entropy) -> Party[None]:
        came = yield Gather(ToyMask, attempt.peers)
        theirs = yield from receive("coordinator", ToySet)
        both = tuple(peer for peer in theirs.peers if peer in came)
        yield Send("coordinator", ToySet(both))
        self._enough(both)
        total = sum(int.from_bytes(came[name].mask) for name in both)
        yield Send("coordinator", ToySum(both, _bytes(total)))
        if attempt.stage is Stage.TRAINING:
            if self.study.roster.dealer is not None:
                yield from receive("dealer", ToyWord)
            for _ in range(TRIPS):
                yield Send("coordinator", ToyWord(entropy.read(8)))
                yield from receive("coordinator", ToyWord)

    def _trips(self, other: str) -> Party[None]:
        if self.study.roster.dealer is not None:
            yield Send("dealer", ToySet(()))
            yield from receive("dealer", ToyWord)
        for _ in range(TRIPS):
            result = yield from receive(other, ToyWord)
            yield Send(other, result)

    def _deal(self, entropy: Entropy) -> Party[None]:
        yield from receive("coordinator", ToySet)
        for name in ("coordinator", "evaluator"):
            yield Send(name, ToyWord(entropy.read(8)))

    def _open(self, attempt: Attempt, peers: tuple[str, ...]) -> None:
        """Write down that a sum of this stage is opened, as a real program does."""
        name, spent = min(attempt.stage.opened_sums), self.sums.book.spent
        this = OpenedSum(attempt.number, peers)
        before = spent.setdefault((self.study.digest.hex(), name), this)
        assert before == this, f"{name} is opened over {before.peers} and over {peers}"

    def _enough(self, peers: Sequence[str]) -> None:
        if len(peers) < self.study.plan.min_peers:
            raise AbsenceError(f"too few peers are left: found {len(peers)}")
