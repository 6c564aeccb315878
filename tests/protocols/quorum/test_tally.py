"""Counts above thresholds: those of a trusted friend, and no comparison is seen by anybody."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.conversations.pooled import guessed
from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.quorums import OPENER, here, quorum_of, shared
from sottovoce import wire
from sottovoce.errors import BoundError, InputError, ViolationError
from sottovoce.numbers.residues import PRIMES, Planes
from sottovoce.protocols.conversation import Party, Send
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum import bits, tally
from sottovoce.protocols.quorum.bits import FlippedBit
from sottovoce.protocols.quorum.comparison import MaskedScore
from sottovoce.protocols.quorum.dealing import QuorumMember, QuorumPrograms, run
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import OpenedValues, Opener
from sottovoce.protocols.quorum.products import MaskedProduct
from sottovoce.protocols.quorum.rows import RowShares, share_rows
from sottovoce.protocols.quorum.sums import COUNT_BASE
from sottovoce.protocols.quorum.tally import QuorumTally, TallyShare, marks_of
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.seat import Packet

FACTORS = (-300, -7, 0, 5, 400)


@dataclass
class Count:
    """Rows of several peers, whose they are, and a model."""

    quorum: Quorum
    rows: dict[str, np.ndarray]
    truth: dict[str, np.ndarray]
    model: np.ndarray
    factors: tuple[int, ...] = FACTORS
    filled: int = 0
    hiding: int = 60
    marks: dict[str, np.ndarray] = field(default_factory=dict)
    plan: QuorumTally = field(init=False)

    def __post_init__(self) -> None:
        sizes = {peer: len(rows) + self.filled for peer, rows in self.rows.items()}
        width, classes = self.model.shape
        self.plan = QuorumTally(sizes, width, classes, self.factors, 24, self.hiding, self.quorum)

    @property
    def ideal(self) -> np.ndarray:
        total = np.zeros(self.plan.counts, np.int64)
        for peer, rows in self.rows.items():
            scores, norms = rows @ self.model, rows[:, -1]
            taken = norms[:, np.newaxis] * np.array(self.factors)
            above = scores[:, :, np.newaxis] >= taken[:, np.newaxis, :]
            for side, those in enumerate((self.truth[peer], ~self.truth[peer])):
                total[:, side] += (above & those[:, :, np.newaxis]).sum(axis=0)
        return total

    def run(
        self, meddler: Meddler | None = None, opening: Callable[[Opener], Party[Any]] | None = None
    ) -> Outcome:
        plan, context = self.plan, here(self.quorum)
        shares = shared(self.quorum, self.model, plan.comparison.base)

        def member(seat: QuorumMember) -> Party[Any]:
            share = shares[seat.name]
            rows = yield from tally.take_tally_rows(plan, context, share, name=seat.name)
            totals = yield from tally.count_above(seat, plan, rows)
            yield from tally.give_totals(seat, plan, totals)

        def opener(party: Opener) -> Party[Any]:
            yield from tally.open_comparisons(party, plan)
            return (yield from tally.open_totals(party, plan))

        def peer(name: str) -> Party[None]:
            rows = np.zeros((plan.rows[name], plan.width), np.int64)
            rows[: len(self.rows[name])] = self.rows[name]
            marks = self.marks.get(name, marks_of(self.truth[name], plan.rows[name]))
            entropy = SeededEntropy(len(name))
            yield from share_rows(plan.sharing(name, context), rows, marks, entropy=entropy)

        return run(
            QuorumPrograms(member, opening or opener),
            self.quorum,
            context,
            entropy=SeededEntropy(5),
            others={name: peer(name) for name in self.rows},
            meddler=meddler,
        )


def count(members: int, threshold: int, *, classes: int = 2, rows: int = 5, **more: Any) -> Count:
    rng = np.random.default_rng(classes)
    peers = ("a", "bb", "ccc")
    each = {peer: rng.integers(0, 4, (rows + place, 4)) for place, peer in enumerate(peers)}
    truth = {peer: rng.random((len(mine), classes)) < 0.4 for peer, mine in each.items()}
    model = rng.integers(-(2**9), 2**9, (4, classes))
    return Count(quorum_of(members, threshold), each, truth, model, **more)


@pytest.mark.parametrize(
    ("members", "threshold", "classes"), [(3, 1, 1), (3, 1, 3), (4, 1, 1), (5, 2, 3)]
)
def test_counts_are_those_of_a_trusted_friend(members: int, threshold: int, classes: int) -> None:
    mine = count(members, threshold, classes=classes)
    assert np.array_equal(mine.run().results[OPENER], mine.ideal)


def test_rows_that_fill_up_count_nowhere() -> None:
    mine = count(3, 1, filled=4)
    assert np.array_equal(mine.run().results[OPENER], mine.ideal)


def test_many_rows_are_counted_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_SEARCHED", 4)
    mine = count(3, 1)
    sizes = [part.stop - part.start for part in mine.plan.pieces]
    assert len(sizes) > len(mine.plan.rows)
    assert sum(sizes) == sum(mine.plan.rows.values())
    assert np.array_equal(mine.run().results[OPENER], mine.ideal)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 32])
def test_a_search_among_any_number_of_thresholds_finds_every_place(count: int) -> None:
    factors = tuple(
        sorted(int(each) for each in np.random.default_rng(count).integers(-9, 9, count))
    )
    rows = np.array([[score, 1] for score in range(-10, 11)])
    truth = np.ones((len(rows), 1), np.bool_)
    mine = Count(quorum_of(3, 1), {"a": rows}, {"a": truth}, np.array([[1], [0]]), factors=factors)
    assert len(mine.plan.searches) == count.bit_length()
    assert np.array_equal(mine.run().results[OPENER], mine.ideal)


def test_a_score_on_the_threshold_is_above_it() -> None:
    rows, truth = np.array([[2, 3], [0, 1]]), np.array([[True], [False]])
    mine = Count(
        quorum_of(3, 1), {"a": rows}, {"a": truth}, np.array([[9], [-6]]), factors=(-6, 0, 1)
    )
    # The scores are 0 and −6, the norms 3 and 1.
    assert mine.run().results[OPENER].tolist() == [[[1, 1, 0], [1, 0, 0]]]


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_no_pool_sees_a_comparison(members: int, threshold: int) -> None:
    """Every row is alike, and above: whoever may pool sees noise of rows, marks and masks."""
    rows = {"a": np.ones((90, 3), np.int64)}
    truth = {"a": np.ones((90, 1), np.bool_)}
    mine = Count(quorum_of(members, threshold), rows, truth, np.full((3, 1), 5), factors=(0,))
    outcome = mine.run()
    assert outcome.results[OPENER].tolist() == [[[90], [0]]]
    for kind in (MaskedScore, MaskedProduct):
        for message in outcome.views[OPENER].of(kind):
            for plane, residues in enumerate(message.share.planes()):
                assert_looks_uniform(residues.reshape(-1).tolist(), PRIMES[plane])
    # As many members as the threshold have noise of marks; one more has them.
    sent = {
        name: np.concatenate([each.beside.planes() for each in outcome.views[name].of(RowShares)])
        for name in mine.quorum.members[threshold:]
    }
    for pool in combinations(sent, threshold):
        result = guessed(sent, pool, mine.quorum)[0].reshape(-1)
        assert_looks_uniform(result, PRIMES[0], what=str(pool))
    for pool in combinations(sent, threshold + 1):
        result = guessed(sent, pool, mine.quorum)[0].reshape(-1)
        assert_shows_structure(result, PRIMES[0], what=str(pool))
        assert result.tolist() == [1, 0] * 90


def bits_read(outcome: Outcome, mine: Count, marks: dict[str, int]) -> bool:
    """Whether a peer that pools with the opener divides its marks out of the totals of one row.

    What is left would be shares of degree t of the comparison: three of them lie on a line.
    """
    prime, bits = PRIMES[0], {}
    for item in outcome.views[OPENER].received:
        if isinstance(item.message, TallyShare):
            total = int(item.message.share.planes()[0, 0, 0, 0])
            bits[item.sender] = total * pow(marks[item.sender], -1, prime) % prime
    first, second, third = (bits[name] for name in mine.quorum.members)
    return (first + third - 2 * second) % prime == 0


def test_totals_of_one_row_do_not_tell_its_owner_and_the_opener_the_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def same(member: Any, share: Any, **_: Any) -> Party[Any]:
        return share
        yield

    mine = Count(
        quorum_of(3, 1), {"a": np.ones((1, 2), np.int64)}, {"a": np.ones((1, 1), np.bool_)},
        np.full((2, 1), 5), factors=(0,),
    )  # fmt: skip
    sharing = mine.plan.sharing("a", here(mine.quorum))
    seed = SeededEntropy(1).seed()
    first = int(sharing.drawn(seed, 0)[1][0, 0, 0])
    marks = {
        name: (1 + (first - 1) * place) % PRIMES[0]
        for place, name in enumerate(mine.quorum.members, 1)
    }
    assert not bits_read(mine.run(), mine, marks)
    monkeypatch.setattr(tally, "renewed", same)
    assert bits_read(mine.run(), mine, marks)


def public_bits(outcome: Outcome, mine: Count) -> list[int]:
    """What the coordinator opens of every step of the search, from all shares that it is sent."""
    sent: dict[str, list[np.ndarray]] = {}
    for item in outcome.views[OPENER].received:
        if isinstance(item.message, FlippedBit):
            sent.setdefault(item.sender, []).append(item.message.share.planes())
    flat = {name: np.concatenate(parts, axis=1) for name, parts in sent.items()}
    return guessed(flat, mine.quorum.members, mine.quorum)[0].tolist()


def test_the_coordinator_reads_no_step_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """All scores are above all thresholds: without coins it would read just that."""
    rows, truth = {"a": np.ones((150, 2), np.int64)}, {"a": np.ones((150, 1), np.bool_)}
    mine = Count(quorum_of(3, 1), rows, truth, np.full((2, 1), 500), factors=(-2, 0, 2))
    flipped = public_bits(mine.run(), mine)
    assert len(flipped) == 300  # two steps a row
    assert set(flipped) == {0, 1}
    assert 110 < sum(flipped) < 190
    # Nor does a step tell the next: they agree as often as not.
    assert 45 < sum(a == b for a, b in zip(flipped[:150], flipped[150:], strict=True)) < 105
    monkeypatch.setattr(bits, "random_bits", lambda _entropy, shape: np.zeros(shape, np.uint32))
    assert public_bits(mine.run(), mine) == [1] * 300


@pytest.mark.parametrize("kind", [MaskedScore, MaskedProduct, FlippedBit, TallyShare])
@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2), (5, 1)])
def test_one_wrong_share_is_caught_before_a_total_is_used(
    kind: type[Message], members: int, threshold: int
) -> None:
    mine, seen = count(members, threshold), []

    def when(packet: Packet) -> bool:
        if packet.sender != "site2" or not is_kind(packet, kind):
            return False
        seen.append(packet)
        return len(seen) == 1

    def edit(message: Any) -> Message:
        planes = message.share.planes().copy()
        planes[0].reshape(-1)[0] = (int(planes[0].reshape(-1)[0]) + 1) % PRIMES[0]
        return msgspec.structs.replace(message, share=wire.Residues.of(planes))

    with pytest.raises(ViolationError) as caught:
        mine.run(rewriting(when, kind, edit))
    if members - 2 * threshold - 1 >= 2:
        assert caught.value.party == "site2"


# A coordinator that deviates, alone or with a peer.

# Far enough apart, and above what honest rows count.
WEIGHTS = 2 ** np.arange(6, 36, 3)


def reading(plan: QuorumTally, lie: Callable[[int, Planes], Planes]) -> Any:
    """An opener that tells the members what it likes, refuses nothing, and reads the totals."""

    def program(party: Opener) -> Party[np.ndarray]:
        sizes = ((part.stop - part.start) * plan.classes for part in plan.pieces)
        pieces = (plan.openings(size) for size in sizes)
        for place, opening in enumerate(each for piece in pieces for each in piece):
            value = yield from party.take(replace(opening, limit=None))
            if opening.is_told:
                for name in party.present:
                    yield Send(name, OpenedValues(wire.Residues.of(lie(place, value))))
        totals = yield from party.take(replace(plan.opening(), limit=None))
        return COUNT_BASE.integers(totals)

    return program


def weighs_rows(mine: Count) -> Callable[[int, Planes], Planes]:
    """Every score of the first peer seems to lie in a part of the search with its own weight."""
    openings = list(mine.plan.openings(sum(mine.plan.rows.values()) * mine.plan.classes))
    inside = [opening.base == COUNT_BASE and len(opening.shape) == 2 for opening in openings]
    first = inside.index(True)

    def lie(place: int, value: Planes) -> Planes:
        if place != first:
            return value
        added = np.zeros(value.shape[1:], np.int64)
        added[: len(WEIGHTS), 1] = WEIGHTS
        return COUNT_BASE.add(value, COUNT_BASE.of(added))

    return lie


def weights_in(total: int) -> list[bool]:
    return [bool(total // int(weight) % 8) for weight in WEIGHTS]


def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_args: Any, **_more: Any) -> Iterator[Any]:
        yield from ()

    monkeypatch.setattr(tally, "check_bits", nothing)
    monkeypatch.setattr(tally, "check_openings", nothing)


def test_a_coordinator_that_weighs_rows_reads_no_class_of_a_single_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = count(3, 1, classes=2, rows=5)
    with pytest.raises(ViolationError, match="found a larger number"):
        mine.run(opening=reading(mine.plan, weighs_rows(mine)))
    # The proof that there is something to check: each row of an honest peer, and its class.
    unchecked(monkeypatch)
    totals = mine.run(opening=reading(mine.plan, weighs_rows(mine))).results[OPENER]
    of_class = weights_in(int(totals[0, 0, 3]))[0::2]
    assert of_class == mine.truth["a"][:, 0].tolist()


def test_a_peer_that_makes_up_marks_learns_no_comparison_of_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the coordinator, who sees the totals: for an honest one they are out of range."""
    mine = count(3, 1, classes=1, rows=5)
    mine.model = np.array([[300], [-200], [150], [-100]])
    made_up = np.zeros((5, 2), np.int64)
    made_up[:, 0] = WEIGHTS[:5]
    mine.marks["a"] = made_up
    honest = reading(mine.plan, lambda _place, value: value)
    for opening in (None, honest):
        with pytest.raises(ViolationError, match="found a larger number"):
            mine.run(opening=opening)
    unchecked(monkeypatch)
    with pytest.raises(ViolationError, match="TallyShare: expected a value in the range"):
        mine.run()
    totals = mine.run(opening=honest).results[OPENER]
    scores, norms = mine.rows["a"] @ mine.model, mine.rows["a"][:, -1]
    above = [(scores[:, 0] >= factor * norms).tolist() for factor in FACTORS]
    assert {True, False} <= {bit for row in above for bit in row}
    assert [weights_in(int(total))[:5] for total in totals[0, 0]] == above


def test_what_does_not_fit_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(BoundError, match="do not fit 7 residues"):
        count(3, 1, hiding=140)
    with pytest.raises(InputError, match="expected at least 1 peer, row"):
        QuorumTally({}, 4, 1, FACTORS, 24, 60, quorum_of(3, 1))
    with pytest.raises(InputError, match="expected rising thresholds"):
        QuorumTally({"a": 2}, 4, 1, (3, 1), 24, 60, quorum_of(3, 1))
    with pytest.raises(InputError, match="expected at least 1 peer, row"):
        QuorumTally({"a": 2}, 4, 1, (), 24, 60, quorum_of(3, 1))
