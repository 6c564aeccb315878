"""Labels of shared rows on a shared model: those of the scores, and seen by the asker alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform
from harness.quorums import OPENER, here, quorum_of, shared, talk
from sottovoce import wire
from sottovoce.errors import BoundError, InputError, SottovoceError, ViolationError
from sottovoce.numbers.residues import PRIMES, Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum import bit_check, labels
from sottovoce.protocols.quorum.bit_check import CheckedShare, check_bits, check_openings
from sottovoce.protocols.quorum.bits import FlippedBit
from sottovoce.protocols.quorum.comparison import BIT_BASE, MaskedScore, SharedComparison
from sottovoce.protocols.quorum.dealing import QuorumMember, QuorumPrograms, run
from sottovoce.protocols.quorum.labels import LabelPlan, QuorumLabel
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import OpenedValues, Opener, Opening, OpeningShare
from sottovoce.protocols.quorum.products import MaskedProduct
from sottovoce.protocols.quorum.rows import RowShares, share_rows, take_scores
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.seat import Packet

ASKER = "asker"


@dataclass
class Query:
    """Rows and a model."""

    quorum: Quorum
    rows: np.ndarray
    model: np.ndarray
    offsets: np.ndarray | None = None
    exclusive: bool = True
    margin: bool = False

    def __post_init__(self) -> None:
        count, width = self.rows.shape
        scores = self.model.shape[1]
        self.plan = LabelPlan(count, width, scores, 24, 60, self.quorum, exclusive=self.exclusive)
        if self.offsets is None:
            self.offsets = np.zeros((count, scores), np.int64)
        self.shares = shared(self.quorum, self.model, self.plan.base)

    @property
    def ideal(self) -> list[list[int]]:
        scores = self.rows @ self.model - self.offsets
        if self.margin:
            return scores.tolist()
        if scores.shape[1] == 1 or not self.exclusive:
            return (scores >= 0).astype(int).tolist()
        return [[int(label)] for label in scores.argmax(axis=1)]

    def run(
        self, meddler: Meddler | None = None, opening: Callable[[Opener], Party[Any]] | None = None
    ) -> Outcome:
        plan, context = self.plan, here(self.quorum)
        assert self.offsets is not None
        offsets = self.offsets

        def member(seat: QuorumMember) -> Party[Any]:
            model = self.shares[seat.name]
            sharing = plan.sharing(context)
            scores = yield from take_scores(sharing, model, owner=ASKER, name=seat.name)
            give = labels.give_scores if self.margin else labels.answer
            yield from give(seat, plan, scores, asker=ASKER)

        def outside() -> Party[Any]:
            take = labels.take_score_shares if self.margin else labels.take_labels
            sharing = plan.sharing(context)
            yield from share_rows(sharing, self.rows, offsets, entropy=SeededEntropy(8))
            return (yield from take(plan))

        def opener(party: Opener) -> Party[None]:
            if not self.margin:
                yield from labels.open_labels(party, plan)

        programs = QuorumPrograms(member, opening or opener)
        return run(
            programs,
            self.quorum,
            context,
            entropy=SeededEntropy(5),
            others={ASKER: outside()},
            meddler=meddler,
        )


def query(members: int, threshold: int, *, scores: int = 1, **more: Any) -> Query:
    rng = np.random.default_rng(scores)
    rows = rng.integers(0, 3, (7, 6))
    model = rng.integers(-(2**12), 2**12, (6, scores))
    return Query(quorum_of(members, threshold), rows, model, **more)


@pytest.mark.parametrize(
    ("members", "threshold", "scores"),
    [(3, 1, 1), (3, 1, 2), (3, 1, 3), (3, 1, 5), (4, 1, 5), (5, 2, 3), (9, 4, 2)],
)
def test_labels_are_those_of_the_scores(members: int, threshold: int, scores: int) -> None:
    mine = query(members, threshold, scores=scores)
    assert mine.run().results["asker"].tolist() == mine.ideal


def test_signs_of_scores_that_do_not_exclude_each_other() -> None:
    mine = query(3, 1, scores=3, exclusive=False)
    assert mine.run().results["asker"].tolist() == mine.ideal


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_released_scores_are_the_scores(members: int, threshold: int) -> None:
    mine = query(members, threshold, scores=2, margin=True)
    assert mine.run().results["asker"].tolist() == mine.ideal


@settings(max_examples=6)
@given(data=st.data(), scores=st.integers(1, 4))
def test_ties_go_to_the_lower_index_and_zero_counts_as_plus(
    data: st.DataObject, scores: int
) -> None:
    small = st.integers(-1, 1)
    rows = np.array(data.draw(st.lists(small, min_size=4, max_size=4))).reshape(4, 1)
    model = np.array(data.draw(st.lists(small, min_size=scores, max_size=scores))).reshape(1, -1)
    offsets = np.array(data.draw(st.lists(small, min_size=4, max_size=4))).reshape(4, 1)
    mine = Query(quorum_of(3, 1), rows, model, offsets=np.repeat(offsets, scores, axis=1))
    assert mine.run().results["asker"].tolist() == mine.ideal


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_only_labels_come_out(members: int, threshold: int) -> None:
    quorum = quorum_of(members, threshold)
    rows = np.ones((150, 2), np.int64)
    mine = Query(quorum, rows, np.array([[3], [4]]))
    outcome = mine.run()
    view = outcome.views[OPENER]
    for kind in (MaskedScore, MaskedProduct):
        for message in view.of(kind):
            for plane, residues in enumerate(message.share.planes()):
                values = residues.reshape(-1).tolist()
                assert_looks_uniform(values, PRIMES[plane], what=kind.__name__)
    # The asker gets shares of labels alone; all labels are 1, yet every share is noise.
    kinds = {type(item.message) for item in outcome.views["asker"].received}
    assert kinds == {QuorumLabel}
    for message in outcome.views["asker"].of(QuorumLabel):
        assert_looks_uniform(message.share.planes()[0].tolist(), PRIMES[0])


def test_members_see_noise_of_the_rows() -> None:
    mine = Query(quorum_of(3, 1), np.ones((80, 3), np.int64), np.array([[3], [4], [5]]))
    outcome = mine.run()
    for name in ("site2", "site3"):
        for message in outcome.views[name].of(RowShares):
            for plane, residues in enumerate(message.rows.planes()):
                assert_looks_uniform(residues.reshape(-1).tolist(), PRIMES[plane])


@pytest.mark.parametrize("kind", [MaskedScore, MaskedProduct, QuorumLabel, FlippedBit])
@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2), (5, 1)])
def test_one_wrong_share_is_caught_before_a_label_is_used(
    kind: type[Message], members: int, threshold: int
) -> None:
    mine = query(members, threshold, scores=3)
    seen = {"count": 0}

    def when(packet: Packet) -> bool:
        if packet.sender != "site2" or not is_kind(packet, kind):
            return False
        seen["count"] += 1
        return seen["count"] == 1

    def edit(message: Message) -> Message:
        assert isinstance(message, OpeningShare | QuorumLabel)
        planes = message.share.planes().copy()
        planes[0].reshape(-1)[0] = (int(planes[0].reshape(-1)[0]) + 1) % PRIMES[0]
        return msgspec.structs.replace(message, share=wire.Residues.of(planes))

    with pytest.raises(SottovoceError) as caught:
        mine.run(rewriting(when, kind, edit))
    degree = threshold if kind is QuorumLabel else 2 * threshold
    if (members - degree - 1) // 2:
        assert isinstance(caught.value, ViolationError)
        assert caught.value.party == "site2"


def test_rows_of_another_length_are_refused() -> None:
    mine = query(3, 1)
    mine.rows = np.ones((7, 9), np.int64)
    with pytest.raises(InputError, match="expected 7 rows of 6 columns"):
        mine.run()


def test_rows_for_another_query_are_refused_by_name() -> None:
    mine = query(3, 1)

    def edit(message: Message) -> Message:
        return msgspec.structs.replace(message, context=b"another")

    def when(packet: Packet) -> bool:
        return is_kind(packet, RowShares) and packet.recipient == "site3"

    with pytest.raises(ViolationError, match="rows were shared for another query") as caught:
        mine.run(rewriting(when, RowShares, edit))
    assert caught.value.party == "asker"


def test_scores_that_do_not_fit_are_refused_beforehand() -> None:
    with pytest.raises(BoundError, match="do not fit 7 residues"):
        LabelPlan(1, 1, 1, 60, 90, quorum_of(3, 1))
    with pytest.raises(InputError, match="at least 1 row"):
        LabelPlan(0, 1, 1, 10, 60, quorum_of(3, 1))


# An asker that deviates: rows larger than rows can be.


def whatever_comes(plan: LabelPlan) -> Party[Any]:
    """What an asker can put together, though it is no label."""
    shares = {}
    for member in plan.quorum.members:
        message = yield from receive(member, QuorumLabel)
        shares[member] = message.share.planes()
    degree = plan.quorum.threshold
    labels = put_together(shares, degree=degree, quorum=plan.quorum, what="labels")[0]
    return np.where(labels > PRIMES[0] // 2, labels.astype(np.int64) - PRIMES[0], labels)


def larger(scores: int) -> Query:
    """One text of one word for every word, each so often that its weight fills the range."""
    rng = np.random.default_rng(1)
    model = rng.integers(-(2**12), 2**12, (6, scores))
    model[:, 1:] = 0
    rows = np.eye(6, dtype=np.int64) << 24
    return Query(quorum_of(3, 1), rows, model)


@pytest.mark.parametrize("scores", [1, 2, 3])
def test_rows_larger_than_rows_can_be_are_told_no_label(
    scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "take_labels", whatever_comes)
    mine = larger(scores)
    with pytest.raises(ViolationError, match="expected signs of scores, found a larger number"):
        mine.run()


def test_without_the_check_they_would_give_the_exact_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(*_: Any, **__: Any) -> Party[None]:
        yield from ()

    monkeypatch.setattr(labels, "take_labels", whatever_comes)
    monkeypatch.setattr(labels, "check_bits", nothing)
    monkeypatch.setattr(labels, "check_openings", lambda *_: iter(()))
    mine = larger(1)
    assert (mine.run().results["asker"] - 1).tolist() == mine.model.tolist()


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_a_number_that_is_no_bit_opens_as_a_random_one(
    members: int, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum, bits = quorum_of(members, threshold), np.array([[0, 1], [1, 1], [7, 0]])
    shares = shared(quorum, bits, BIT_BASE)

    def member(seat: QuorumMember) -> Party[Any]:
        yield from check_bits(seat, shares[seat.name], purpose="test")

    with pytest.raises(ViolationError, match="found a larger number"):
        talk(quorum, member, check_openings(quorum, bits.shape))
    monkeypatch.setattr(bit_check, "refuse_others", lambda *_: None)
    opened = []
    for seed in range(3):
        outcome = talk(quorum, member, check_openings(quorum, bits.shape), seed=seed)
        opened += outcome.results[OPENER].ravel().tolist()
    assert len(set(opened)) == 6
    shares |= shared(quorum, bits % 2, BIT_BASE)
    outcome = talk(quorum, member, check_openings(quorum, bits.shape))
    assert not outcome.results[OPENER].any()


# A coordinator that deviates, with the asker or alone.


def tells(openings: Iterable[Opening], lie: Callable[[int, Planes], Planes]) -> Any:
    """An opener that tells the members what it likes, and refuses nothing."""
    seen: list[type[OpeningShare]] = []

    def program(party: Opener) -> Party[list[type[OpeningShare]]]:
        for place, opening in enumerate(openings):
            value = yield from party.take(replace(opening, limit=None))
            seen.append(opening.kind)
            if opening.is_told:
                for name in party.present:
                    yield Send(name, OpenedValues(wire.Residues.of(lie(place, value))))
        return seen

    program.seen = seen  # type: ignore[attr-defined]
    return program


def test_a_coordinator_cannot_tell_the_members_that_larger_rows_are_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(labels, "take_labels", whatever_comes)
    mine = larger(1)
    openings = list(mine.plan.openings())
    check = [opening.kind for opening in openings].index(bit_check.BitCheck)
    says_zero = tells(openings, lambda place, value: value * (place != check))
    with pytest.raises(ViolationError, match="expected signs of scores, found a larger number"):
        mine.run(opening=says_zero)


def test_a_member_cannot_choose_its_share_of_the_check_after_those_of_others() -> None:
    def edit(message: Message) -> Message:
        assert isinstance(message, CheckedShare)
        return msgspec.structs.replace(message, share=wire.Residues.of(np.ones((1, 2), np.uint32)))

    def when(packet: Packet) -> bool:
        return packet.sender == "site3" and is_kind(packet, CheckedShare)

    with pytest.raises(ViolationError, match="is not the one that was promised") as caught:
        query(3, 1).run(rewriting(when, CheckedShare, edit))
    assert caught.value.party == "site3"


def read_through_masks(quorum: Quorum) -> int:
    """Of how many of 100 weights the opener reads ten bits, if the asker's rows are so large."""
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 2**10, (100, 1))
    modulus = LabelPlan(1, 1, 1, 24, 60, quorum).base.modulus
    rows = np.eye(100, dtype=object) * (modulus >> 10)
    mine, read = Query(quorum, rows, weights), []
    openings = list(mine.plan.openings())
    score = [opening.kind for opening in openings].index(MaskedScore)

    def look(place: int, value: Planes) -> Planes:
        if place == score and not read:
            read.extend(mine.plan.base.integers(value).ravel().tolist())
        return value

    with pytest.raises(ViolationError, match="found a larger number"):
        mine.run(opening=tells(openings, look))
    guesses = [number * 2**10 // modulus for number in read]
    return sum(guess == weight for guess, (weight,) in zip(guesses, weights, strict=True))


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_a_coordinator_reads_no_score_through_the_mask_of_a_larger_row(
    members: int, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum = quorum_of(members, threshold)
    assert read_through_masks(quorum) < 5
    fitted = SharedComparison.fitted

    def small_masks(*numbers: Any) -> SharedComparison:
        return replace(fitted(*numbers), highest=0)

    monkeypatch.setattr(SharedComparison, "fitted", small_masks)
    assert read_through_masks(quorum) > 90


def test_a_coordinator_that_spoils_a_coin_sees_no_bit_under_it() -> None:
    mine = query(3, 1, scores=3)
    openings = list(mine.plan.openings())
    coin = [opening.kind for opening in openings].index(FlippedBit) - 3

    def spoil(place: int, value: Planes) -> Planes:
        return (value + 10) % PRIMES[0] if place == coin else value

    spoils = tells(openings, spoil)
    with pytest.raises(ViolationError, match="found a larger number"):
        mine.run(opening=spoils)
    assert FlippedBit not in spoils.seen


def test_a_coordinator_can_make_a_label_another_bit_of_the_score_and_no_more() -> None:
    """What nothing stops, with an asker that pools with it: one label still tells one bit.

    Of a score that is known to be positive, the label then says whether its lower bits are above a
    random number that the coordinator knows.
    """
    rng = np.random.default_rng(4)
    rows, model = rng.integers(1, 3, (40, 6)), rng.integers(1, 2**12, (6, 1))
    mine, masked = Query(quorum_of(3, 1), rows, model), []
    openings = list(mine.plan.openings())
    kinds = [opening.kind for opening in openings]
    score, check = kinds.index(MaskedScore), kinds.index(bit_check.BitCheck)
    # Three parts of eight bits are joined here, each "less" and each "equal"; the last two openings
    # of the comparison join these.
    low_bits, joined = 16, check - 4
    assert openings[joined].shape == (6, 40, 1)

    def lie(place: int, value: Planes) -> Planes:
        if place == score and not masked:
            masked.extend(mine.plan.base.integers(value).ravel().tolist())
        if place != joined:
            return value
        added = np.zeros_like(value)
        # That the upper parts are equal counts once more.
        added[0, 5] = 1
        return BIT_BASE.add(value, added)

    labels = mine.run(opening=tells(openings, lie)).results[ASKER].ravel().tolist()
    lower = (rows @ model).ravel() % 2**low_bits
    assert labels == [
        int(number % 2**low_bits >= low) for number, low in zip(masked, lower, strict=True)
    ]
    assert {0, 1} == set(labels)


def test_with_more_classes_a_coordinator_can_choose_the_match_that_a_label_tells() -> None:
    """What nothing stops: one label still tells one of the classes."""
    rng = np.random.default_rng(6)
    rows, model = rng.integers(-2, 3, (40, 6)), rng.integers(-(2**12), 2**12, (6, 3))
    mine = Query(quorum_of(3, 1), rows, model)
    openings = list(mine.plan.openings())
    gained = [opening.kind for opening in openings].index(FlippedBit) + 1

    def lie(place: int, value: Planes) -> Planes:
        if place != gained:
            return value
        # The winner of the first match wins every further one.
        return mine.plan.base.add(value, mine.plan.base.of(np.full(value.shape[1:], 2**20)))

    labels = mine.run(opening=tells(openings, lie)).results[ASKER].ravel()
    scores = rows @ model
    assert labels.tolist() == scores[:, :2].argmax(axis=1).tolist()
    assert (scores.argmax(axis=1) == 2).any()
