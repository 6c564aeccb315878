"""Light programs of queries and evaluations: order, charge and books of the real ones.

An asker hides a number under a mask, whose other half goes to the evaluator; with a dealer, both
wait for a word of it. The label of a number is whether it is odd. The coordinator's last message
tells it, and is charged. In an evaluation every peer adds a digit of its own; its sum is opened
once, over all who are in it or not at all.
"""

from typing import Any, ClassVar

from simulation.toy import _MODULUS, DIGIT, ToyMask, ToyMasked, ToySet, ToySum, ToyWord, _bytes
from sottovoce.course.queries.actions import RunEvaluation
from sottovoce.course.queries.conversations import QueryId
from sottovoce.entropy import Entropy, bound
from sottovoce.errors import AbsenceError, SottovoceError, ViolationError
from sottovoce.protocols.blind_sum import OpenedSum
from sottovoce.protocols.conversation import Gather, Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.study.choices import Verdict
from sottovoce.study.queries.budget import QueryBook, QueryGrant, QueryRequest, granted
from sottovoce.study.study import Study

BATCH = 8
"""What every query is charged."""
_PURPOSE = "toy/asked/v1"


class ToyLabel(Message, frozen=True):
    """The label of an asker's number."""

    discloses: ClassVar = Disclosure("another test", "nothing real", "it is a toy")
    odd: bool


def ideal(value: str) -> bool:
    """The label of what an asker asks about: whether its number is odd."""
    return number_of(value) % 2 == 1


def number_of(value: str) -> int:
    """The number that an asker hides."""
    return int(value.rsplit(maxsplit=1)[-1])


class ToyPrograms:
    """The programs of one seat."""

    def __init__(self, study: Study, name: str, sums: OpenedSumsBook) -> None:
        self.study, self.name, self.sums = study, name, sums

    def ask(self, value: str, number: int, verdict: Verdict | None, entropy: Entropy) -> Party[Any]:
        del verdict
        entropy = bound(entropy, _PURPOSE, value.encode())
        yield from granted(self.study, QueryRequest(number, BATCH, evaluation=False), self.name)
        mask = entropy.read(16)
        yield Send("coordinator", ToyMasked(_bytes(number_of(value) + int.from_bytes(mask))))
        yield Send("evaluator", ToyMask(mask))
        label = yield from receive("coordinator", ToyLabel)
        return label.odd

    def answer(
        self, book: QueryBook, asker: str, verdict: Verdict | None, entropy: Entropy
    ) -> Party[None]:
        del entropy
        request = yield from receive(asker, QueryRequest)
        if not book.grant(asker, request):
            raise ViolationError("expected a query within the budget, found another", party=asker)
        try:
            yield Send(asker, QueryGrant(book.left(asker)))
            if verdict is Verdict.FSS:
                yield Send("dealer", ToySet(()))
                yield from receive("dealer", ToyWord)
            yield Send("evaluator", ToySet(("dealer",) if verdict is Verdict.FSS else ()))
            masked = yield from receive(asker, ToyMasked)
            mask = yield from receive("evaluator", ToyMask)
            value = int.from_bytes(masked.value) - int.from_bytes(mask.mask)
            yield Send(asker, ToyLabel(value % _MODULUS % 2 == 1))
        except (SottovoceError, GeneratorExit):
            book.give_back(asker)
            raise
        book.keep_charged(asker)

    def help(self, query: QueryId, entropy: Entropy) -> Party[None]:
        if self.name == "dealer":
            yield from receive("coordinator", ToySet)
            for name in ("coordinator", "evaluator"):
                yield Send(name, ToyWord(entropy.read(8)))
            return
        dealt = yield from receive("coordinator", ToySet)
        if dealt.peers:
            yield from receive("dealer", ToyWord)
        mask = yield from receive(query.asker, ToyMask)
        yield Send("coordinator", mask)

    # Evaluations.

    def evaluate(self, action: RunEvaluation, entropy: Entropy) -> Party[Any]:
        if self.name == "coordinator":
            return self._open(action)
        if self.name == "evaluator":
            return self._sign(action)
        return self._add(action, entropy)

    def _add(self, action: RunEvaluation, entropy: Entropy) -> Party[Any]:
        mask = entropy.read(16)
        digit = DIGIT ** self.study.roster.peers.index(self.name)
        yield Send("coordinator", ToyMasked(_bytes(digit + int.from_bytes(mask))))
        yield Send("evaluator", ToyMask(mask))
        agreed = yield from receive("coordinator", ToySet)
        if self.name not in agreed.peers:
            return None
        self._note(action, agreed.peers)
        total = yield from receive("coordinator", ToySum)
        return total.peers, int.from_bytes(total.total)

    def _open(self, action: RunEvaluation) -> Party[Any]:
        came = yield Gather(ToyMasked, action.peers)
        yield Send("evaluator", ToySet(tuple(came)))
        agreed = yield from receive("evaluator", ToySet)
        self._whole(action, agreed.peers)
        self._note(action, agreed.peers)
        for name in action.peers:
            yield Send(name, agreed)
        masks = yield from receive("evaluator", ToySum)
        total = sum(int.from_bytes(came[name].value) for name in agreed.peers)
        total -= int.from_bytes(masks.total)
        for name in agreed.peers:
            yield Send(name, ToySum(agreed.peers, _bytes(total)))
        return agreed.peers, total % _MODULUS

    def _sign(self, action: RunEvaluation) -> Party[None]:
        came = yield Gather(ToyMask, action.peers)
        theirs = yield from receive("coordinator", ToySet)
        both = tuple(name for name in theirs.peers if name in came)
        yield Send("coordinator", ToySet(both))
        self._whole(action, both)
        self._note(action, both)
        total = sum(int.from_bytes(came[name].mask) for name in both)
        yield Send("coordinator", ToySum(both, _bytes(total)))

    def _whole(self, action: RunEvaluation, peers: tuple[str, ...]) -> None:
        if peers != action.peers:
            missing = next(name for name in action.peers if name not in peers)
            raise AbsenceError("is in no sum", party=missing)

    def _note(self, action: RunEvaluation, peers: tuple[str, ...]) -> None:
        """Write down that a sum is opened, as a real program does; never a second time."""
        this = OpenedSum(action.evaluation.attempt, peers, "evaluation")
        name = f"evaluation {action.evaluation.number} size"
        before = self.sums.book.spent.setdefault((self.study.digest.hex(), name), this)
        assert before == this, f"{name} is opened over {before.peers} and over {peers}"
