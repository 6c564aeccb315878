"""A seed that is used again, with other values: the keys of a blind sum are others, too."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from sottovoce.protocols.blind_sum import Plan, Round, RoundBook, SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.conversation import Send

PLAN = Plan(
    Round("study", "preparation", ("alice", "bob", "carol")),
    (SummedVector("coordinator", "counts", WordSpace((8,))),),
)
COUNTS = np.array([3, 0, 7, 12, 5, 0, 4, 9], np.uint64)


def first_message(values: np.ndarray) -> object:
    member = members_of(PLAN.this, SeededEntropy(1))["alice"]
    program = pairwise.peer(PLAN, (values,), who=member, book=RoundBook(), entropy=SeededEntropy(2))
    sent = next(program)
    program.close()
    assert isinstance(sent, Send)
    return sent.message


@pytest.mark.parametrize("place", [0, 7])
def test_a_restored_journal_with_other_documents_shows_other_keys_at_its_first_step(
    place: int,
) -> None:
    """The attack: the same keys, hence the same mask, over two values."""
    changed = COUNTS.copy()
    changed[place] += np.uint64(1)
    assert first_message(COUNTS) == first_message(COUNTS.copy())
    assert first_message(COUNTS) != first_message(changed)
