"""A coordinator hands an evaluator the letters of an old training again, with other shares.

The evaluator's folder came back from a backup, and has forgotten the training. If it took the old
seeds, it would put a second share under the same mask. Their difference is its half of the mask of
the joint solve's direction; the coordinator has the other half. The first direction is the joint
right-hand side: how each word of all sites goes with the labels.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from harness.conversations.opened import shares_among
from harness.entropy import SeededEntropy
from harness.examples.text_moments import text_moments
from sottovoce import wire
from sottovoce.entropy import Entropy, bound
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import Words, from_ring, share
from sottovoce.protocols.conversation import Party, Receive, Send
from sottovoce.protocols.runner import converse
from sottovoce.protocols.shares import holders
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.course import System
from sottovoce.protocols.shares.holders import (
    DealtSeed,
    HolderNonce,
    MaskedShare,
    Trio,
    deal_to_run,
    seated,
)
from sottovoce.protocols.shares.material import Context, Ledger, Material
from sottovoce.protocols.shares.multiplier import DirectionShare, MatrixShare
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.solve import SystemShare, deal_solve, solve
from sottovoce.protocols.shares.truncation import DividendShare

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob", "carol"])
FEATURES, COLUMN = 6, 3
FIRST_RUN, RESTORED = 2, 3


def plan_and_shares() -> tuple[ShareSolvePlan, list[SystemShare]]:
    """A system of text moments, in two shares."""
    moments = text_moments(300, FEATURES)
    scales = MomentScales.fit(weight=300, row_norm=1.05, penalty=1.0)
    plan = ShareSolvePlan.fit(
        System(FEATURES, 1, 300, 1.0, moments.largest * 1.02 + 1),
        matrix_bits=scales.matrix.fraction_bits,
        vector_bits=scales.vectors.fraction_bits,
    )
    encoded = scales.encode(moments.second, moments.products)
    halves = zip(*(share(words, SeededEntropy(7)) for words in encoded), strict=True)
    return plan, [SystemShare(*half, np.ones(FEATURES)) for half in halves]


PLAN, SHARES = plan_and_shares()


def holder(me: str, entropy: Entropy) -> Party[Words]:
    """A holder's part of the solve."""
    system = SHARES[me == TRIO.second]
    drawn = bound(entropy, "test", system.matrix.tobytes())
    seat = yield from seated(TRIO, me, HERE, ledger=Ledger(), entropy=drawn)
    return (yield from solve(seat, PLAN, system))


def dealer() -> Party[None]:
    dealt = yield from deal_to_run(TRIO, HERE, ledger=Ledger(), entropy=SeededEntropy(4))
    yield from deal_solve(dealt, PLAN)


@dataclass
class Life:
    """What the evaluator sent until its program ended, and its error."""

    sent: list[object]
    error: ViolationError | None = None

    def first(self, kind: type[MaskedShare], place: int = 0) -> Words:
        return list(shares_among(self.sent, kind))[place]


class Trained:
    """A solve that is over, with everything that coordinator and evaluator were sent."""

    def __init__(self) -> None:
        programs = {
            TRIO.first: holder(TRIO.first, SeededEntropy(1)),
            TRIO.second: holder(TRIO.second, SeededEntropy(FIRST_RUN)),
            TRIO.dealer: dealer(),
        }
        views = converse(programs, session=HERE.encode()).views
        self.letters = [(item.sender, item.message) for item in views[TRIO.second].received]
        (seed,) = views[TRIO.first].of(DealtSeed)
        self.half = Material(seed.seed, "first", HERE, ledger=Ledger())
        self.life = self.again(FIRST_RUN)

    def again(self, seed: int, change: Callable[[object], object] = lambda same: same) -> Life:
        """The evaluator's program once more, handed the same letters, or some of them changed."""
        boxes: dict[str, deque[object]] = {TRIO.first: deque(), TRIO.dealer: deque()}
        for sender, message in self.letters:
            boxes[sender].append(change(message))
        program, came, life = holder(TRIO.second, SeededEntropy(seed)), None, Life([])
        try:
            while True:
                match program.send(came):
                    case Send(_, message):
                        life.sent.append(message)
                        came = None
                    case Receive(sender, _):
                        came = boxes[sender].popleft()
        except StopIteration:
            return life
        except ViolationError as error:
            life.error = error
            return life

    def read(self, again: Life) -> int:
        """Return an entry of the first direction, which nobody may know.

        With 1 more at (0, k) of Δ, the evaluator's share of the residual has v_k less in row 0, and
        the next dividend that times a public constant.
        """
        factor = PLAN.steps[1].gain << PLAN.steps[0].doublings
        lost = (factor & -factor).bit_length() - 1
        modulus = 1 << 64 - lost
        before, after = (life.first(DividendShare, 1) for life in (self.life, again))
        difference = int((before - after)[0, 0]) >> lost
        theirs = difference * pow(factor >> lost, -1, modulus)
        mine = self.half.stream("direction mask", 0).words(*PLAN.shape)
        letters = (message for _, message in self.letters)
        e = self.life.first(DirectionShare) + next(shares_among(letters, DirectionShare))
        value = (int((e + mine)[COLUMN, 0]) + theirs) % modulus
        return value - modulus if value > modulus // 2 else value


def with_another_entry(message: object) -> object:
    """What the coordinator told of Δ, with 1 more in one entry of its first row."""
    if not isinstance(message, MatrixShare):
        return message
    words = message.words.array().copy()
    words[COLUMN] += np.uint64(1)
    return MatrixShare(wire.Words.of(words))


def joint_direction() -> int:
    """What the first step makes of the joint right-hand side, but for its rounding."""
    joint = from_ring(SHARES[0].vectors + SHARES[1].vectors)
    return int(joint[COLUMN, 0]) * PLAN.steps[0].gain << PLAN.lift >> PLAN.shift


def test_an_evaluator_from_a_backup_refuses_what_was_dealt_to_it_before() -> None:
    again = Trained().again(RESTORED, with_another_entry)
    assert again.error is not None
    assert "is for another run of this seat; nothing masked was sent" in again.error.message
    assert again.error.party == ""
    assert [type(message) for message in again.sent] == [HolderNonce]


def test_if_it_took_what_was_dealt_the_coordinator_would_read_the_joint_moments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holders, "_check_nonce", lambda *_: None)
    trained = Trained()
    again = trained.again(RESTORED, with_another_entry)
    assert abs(trained.read(again) - joint_direction()) <= 2
    assert abs(joint_direction()) > 1000


def test_after_a_crash_the_same_bytes_leave() -> None:
    trained = Trained()
    again = trained.again(FIRST_RUN)
    assert again.error is None
    assert again.sent == trained.life.sent


def test_a_copy_of_the_middle_of_a_solve_still_shows_it() -> None:
    """What nothing stops: such a copy has the nonce, and the seeds that fit."""
    trained = Trained()
    again = trained.again(FIRST_RUN, with_another_entry)
    assert abs(trained.read(again) - joint_direction()) <= 2


def test_a_dealer_deals_other_seeds_to_another_run() -> None:
    """Its own folder, too, may be an older copy."""

    def dealt(seed: int) -> bytes:
        def second() -> Party[bytes]:
            seat = yield from seated(
                TRIO, TRIO.second, HERE, ledger=Ledger(), entropy=SeededEntropy(seed)
            )
            return seat.material.stream("x").read(8)

        programs = {TRIO.first: first(), TRIO.second: second(), TRIO.dealer: deals()}
        return bytes(converse(programs, session=HERE.encode()).results[TRIO.second])

    def first() -> Party[object]:
        return (
            yield from seated(TRIO, TRIO.first, HERE, ledger=Ledger(), entropy=SeededEntropy(1))
        )

    def deals() -> Party[None]:
        yield from deal_to_run(TRIO, HERE, ledger=Ledger(), entropy=SeededEntropy(4))

    assert dealt(FIRST_RUN) == dealt(FIRST_RUN)
    assert dealt(FIRST_RUN) != dealt(RESTORED)
