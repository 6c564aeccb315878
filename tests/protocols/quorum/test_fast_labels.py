"""Labels for which a member deals: those of the scores, and what two organisations could read."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.conversations.pooled import guessed
from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform
from harness.quorums import here, quorum_of, shared
from sottovoce import wire
from sottovoce.errors import BoundError, InputError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.residues import PRIMES
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum import fast_labels
from sottovoce.protocols.quorum.dealing import QuorumMember, QuorumPrograms, run
from sottovoce.protocols.quorum.fast_labels import CoveredScore, FastLabels
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.rows import share_rows, take_scores
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.shares.holders import DealtSeed, Trio
from sottovoce.protocols.shares.labels.verdict import VerdictPlan
from sottovoce.protocols.shares.material import Ledger, Material
from sottovoce.protocols.shares.signs import ComparandShare

ASKER = "asker"


@dataclass
class Query:
    """Rows and a model."""

    quorum: Quorum
    rows: np.ndarray
    model: np.ndarray
    exclusive: bool = True
    bound: int = 2**24

    def __post_init__(self) -> None:
        (count, width), scores = self.rows.shape, self.model.shape[1]
        shape = (count, scores) if self.exclusive else (count * scores, 1)
        trio = Trio(self.quorum.dealers[0], ASKER, self.quorum.members[0])
        verdict = VerdictPlan(*shape, Scale(4, self.bound))
        self.plan = FastLabels(count, width, verdict, trio, self.quorum)

    @property
    def ideal(self) -> list[int]:
        scores = self.rows @ self.model
        if scores.shape[1] == 1 or not self.exclusive:
            return (scores >= 0).astype(int).reshape(-1).tolist()
        return scores.argmax(axis=1).tolist()

    def run(self, meddler: Meddler | None = None, seed: int = 5) -> Outcome:
        plan, context, seen = self.plan, here(self.quorum), SeededEntropy(seed + 1)
        model = shared(self.quorum, self.model, plan.base)

        def member(seat: QuorumMember) -> Party[Any]:
            sharing, share = plan.sharing(context), model[seat.name]
            scores = yield from take_scores(sharing, share, owner=ASKER, name=seat.name)
            words = yield from fast_labels.cover_scores(seat, plan, scores)
            if seat.name == plan.trio.first:
                yield from fast_labels.give_fast(plan, context, words, ledger=Ledger())
            elif seat.name == plan.trio.dealer:
                yield from fast_labels.deal_fast(plan, context, entropy=seen, ledger=Ledger())
            return words

        def outside() -> Party[Any]:
            offsets = np.zeros((plan.rows, plan.scores), np.int64)
            sharing = plan.sharing(context)
            yield from share_rows(sharing, self.rows, offsets, entropy=SeededEntropy(8))
            return (yield from fast_labels.ask_fast(plan, context, ledger=Ledger()))

        def opener(party: Opener) -> Party[None]:
            del party
            return
            yield

        return run(
            QuorumPrograms(member, opener),
            self.quorum,
            context,
            entropy=SeededEntropy(seed),
            others={ASKER: outside()},
            meddler=meddler,
        )


def query(members: int, threshold: int, *, scores: int = 1, **more: Any) -> Query:
    rng = np.random.default_rng(scores)
    rows = rng.integers(0, 3, (7, 6))
    model = rng.integers(-(2**12), 2**12, (6, scores))
    return Query(quorum_of(members, threshold), rows, model, **more)


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (4, 1), (5, 2)])
@pytest.mark.parametrize("scores", [1, 3])
def test_labels_are_those_of_the_scores(members: int, threshold: int, scores: int) -> None:
    mine = query(members, threshold, scores=scores)
    assert mine.run().results[ASKER].tolist() == mine.ideal


def test_signs_of_scores_that_do_not_exclude_each_other() -> None:
    mine = query(3, 1, scores=3, exclusive=False)
    assert mine.run().results[ASKER].tolist() == mine.ideal


@pytest.mark.parametrize("bound", [2**12, 2**41, 2**61])
def test_scores_near_their_bound_keep_their_sign(bound: int) -> None:
    rows = np.array([[1], [-1], [0]])
    mine = Query(quorum_of(3, 1), rows, np.array([[bound - 1]]), bound=bound)
    for seed in range(5):
        assert mine.run(seed=seed).results[ASKER].tolist() == [1, 0, 1]


def covered(outcome: Outcome) -> dict[str, np.ndarray]:
    """Every member's covered shares, as the asker got them."""
    return {
        item.sender: item.message.share.planes()
        for item in outcome.views[ASKER].received
        if isinstance(item.message, CoveredScore)
    }


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_covered_scores_are_noise_to_the_asker(members: int, threshold: int) -> None:
    """All rows are alike, and so are all scores: every share is noise, and so is their sum."""
    mine = Query(quorum_of(members, threshold), np.ones((150, 2), np.int64), np.array([[3], [4]]))
    shares = covered(mine.run())
    for planes in (*shares.values(), guessed(shares, list(shares), mine.quorum)):
        for plane, residues in enumerate(planes):
            assert_looks_uniform(residues.reshape(-1), PRIMES[plane])


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_the_asker_and_its_counterpart_read_the_scores(members: int, threshold: int) -> None:
    """What the card says is weaker: with the mask, two organisations have every score."""
    mine = query(members, threshold)
    outcome = mine.run()
    shares, ring = covered(outcome), mine.plan.verdict.ring
    base = mine.plan.base
    opened = fast_labels._words(guessed(shares, list(shares), mine.quorum), base)
    mask = outcome.results[mine.plan.trio.first]
    scores = ring.signed(ring.reduce(opened + mask))
    assert scores.tolist() == (mine.rows @ mine.model).tolist()
    # Without the counterpart the same sum is nothing.
    assert ring.signed(ring.reduce(opened)).tolist() != scores.tolist()


def test_the_counterpart_and_the_dealer_read_the_scores() -> None:
    """The dealer knows by how much the asker moved its share, which the counterpart is sent."""
    mine = query(3, 1)
    outcome, ring = mine.run(), mine.plan.verdict.ring
    counterpart = mine.plan.trio.first
    (moved,) = outcome.views[counterpart].of(ComparandShare)
    (dealt,) = outcome.views[ASKER].of(DealtSeed)  # as the dealer drew it
    drawn = Material(dealt.seed, "second", here(mine.quorum), ledger=Ledger())
    by = ring.draw(drawn.stream("signs of verdict"), mine.plan.rows)
    own = mine.plan.arranged(outcome.results[counterpart])[:, 0]
    true = (mine.rows @ mine.model)[:, 0].tolist()
    assert ring.signed(ring.reduce(moved.words.array() - by + own)).tolist() == true
    # The counterpart alone has nothing of it.
    assert ring.signed(ring.reduce(moved.words.array() + own)).tolist() != true


@pytest.mark.parametrize("field", ["share", "check"])
@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2), (5, 1)])
def test_one_wrong_share_is_caught_before_a_label_is_used(
    field: str, members: int, threshold: int
) -> None:
    mine = query(members, threshold)

    def when(packet: Packet) -> bool:
        return packet.sender == "site2" and is_kind(packet, CoveredScore)

    def edit(message: Any) -> Message:
        planes = getattr(message, field).planes().copy()
        planes[0].reshape(-1)[0] = (int(planes[0].reshape(-1)[0]) + 1) % PRIMES[0]
        return msgspec.structs.replace(message, **{field: wire.Residues.of(planes)})

    with pytest.raises(ViolationError) as caught:
        mine.run(rewriting(when, CoveredScore, edit))
    if members - 2 * threshold - 1 >= 2:
        assert caught.value.party == "site2"


def test_what_does_not_fit_is_refused_before_anything_is_sent() -> None:
    quorum = quorum_of(3, 1)
    verdict = VerdictPlan(2, 1, Scale(4, 2**20))
    with pytest.raises(InputError, match="expected a counterpart among site2, site3"):
        FastLabels(2, 3, verdict, Trio("site1", ASKER, "site2"), quorum)
    with pytest.raises(InputError, match="a dealer among the members, found 'site2' and 'else'"):
        FastLabels(2, 3, verdict, Trio("site2", ASKER, "else"), quorum)
    mine = query(3, 1)
    mine.rows = np.ones((7, 9), np.int64)
    with pytest.raises(InputError, match="expected 7 rows of 6 columns"):
        mine.run()
    with pytest.raises(BoundError):
        query(3, 1, bound=2**70)
