"""With `verdict = "fss"` a copy of the comparing member, from the middle of a query, tells scores.

The asker sides with the coordinator, who hands each copy of the member's folder the same letters up
to the asker's half of a covered score, and there another half. The copy has the one-time keys of
the comparison, and compares once more. Nothing stops that: an answer that only fits what was told
would take a word of the dealing member in every level of a comparison, one trip more each.
"""

import numpy as np

from harness.entropy import SeededEntropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words, share, to_ring
from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.shares.holders import DealtSeed, Trio
from sottovoce.protocols.shares.labels.verdict import VerdictPlan, run
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.signs import ComparandShare

TRIO = Trio("member", "asker", "dealing member")
HERE = Context.among("flu", ["asker"], round=3)
SCORES = np.array([[1234], [-4321], [0]])
PLAN = VerdictPlan(*SCORES.shape, Scale(0, 2**13))


def compared(shifts: Words) -> Outcome:
    """One life of the member: it draws, and was dealt, what it drew and was dealt in all of them.

    The asker puts numbers of its choice to its half of the scores.
    """
    mine, theirs = share(to_ring(SCORES), SeededEntropy(1))
    return run(PLAN, (mine, theirs + shifts), TRIO, HERE, entropy=SeededEntropy(2))


def labels_of(outcome: Outcome) -> list[int]:
    return [int(label) for label in outcome.results[TRIO.second]]


def test_a_copy_of_the_comparing_member_compares_until_the_asker_has_its_scores() -> None:
    first = compared(np.zeros(SCORES.shape, np.uint64))
    assert labels_of(first) == (SCORES[:, 0] >= 0).astype(int).tolist()
    # [score ≥ −shift]: a search by halves.
    low = np.full(SCORES.shape, -(2**13))
    high = np.full(SCORES.shape, 2**13)
    lives = 0
    while (high - low > 1).any():
        middle = (low + high) // 2
        again, lives = compared(to_ring(-middle)), lives + 1
        above = np.array(labels_of(again))[:, np.newaxis] == 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        # It is the same run of the member: what it was dealt, and what it sent before it was told.
        for name, kind in ((TRIO.first, DealtSeed), (TRIO.second, ComparandShare)):
            assert again.views[name].of(kind) == first.views[name].of(kind)
    assert low.tolist() == SCORES.tolist()
    assert lives <= 14
