"""What the cost model says is what counting arithmetic and the wire count."""

import numpy as np
import pytest

from benchmarks.arithmetic.costs import MESSAGE_BYTES, TENSOR_BYTES, Cost
from harness.conversations.blocks import BLOCKS, Block
from harness.conversations.counting import Counting
from harness.entropy import SeededEntropy
from sottovoce.paillier import Ciphertext
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.in_memory import run
from sottovoce.protocols.view import leaves


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_block_costs_what_the_model_says(block: Block) -> None:
    counting = Counting()
    key = block.key.with_arithmetic(counting)
    start = block.start(key)
    key.prepare(1)  # the base of the randomisers is lifted once, whatever comes after
    key.public.prepare(1)
    counting.counts.clear()
    outcome = run(start(SeededEntropy(2)), block.stages(key, SeededEntropy(3)), key=key)
    counts, square, prime = dict(counting.counts), 2 * block.bits, block.bits
    traffic, cost = outcome.traffic, block.cost
    # The evaluator's randomisers are N-th powers mod N²; the owner's, and decryptions, mod p².
    assert counts.get(f"randomisers {square}", 0) == 0
    assert counts.get(f"uniform {square}", 0) == cost.rerandomisations
    assert counts.get(f"randomisers {prime}", 0) == 2 * cost.encryptions
    result = Cost(
        traffic.trips(EVALUATOR, KEY_HOLDER) - 1,  # the goodbye
        counts.get(f"powers {prime}", 0) // 2,
        counts.get(f"randomisers {prime}", 0) // 2,
        counts.get(f"powers {square}", 0),
        counts.get(f"shifted {square}", 0),
    )
    assert result == cost
    np.testing.assert_allclose(
        block.outcome_of(key, outcome.results[EVALUATOR]), block.ideal, atol=block.exact or 1e-9
    )


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_bytes_are_those_of_ciphertexts_and_small_heads(block: Block) -> None:
    key = block.key
    outcome = run(block.start(key)(SeededEntropy(2)), block.stages(key, SeededEntropy(3)), key=key)
    messages = [item.message for view in outcome.views.values() for item in view.received]
    tensors = [leaf for m in messages for leaf in leaves(m) if isinstance(leaf, Ciphertext)]
    least = block.cost.ciphertext_bytes(block.bits)
    most = least + MESSAGE_BYTES * len(messages) + TENSOR_BYTES * len(tensors)
    assert least == sum(len(t.residues) for t in tensors) * block.bits // 4
    assert least < outcome.traffic.total_bytes <= most


def test_costs_add_up_and_multiply() -> None:
    cost = Cost(1, 2, 3, 4, 5)
    assert cost + cost == cost * 2
    assert (cost * 3).ciphertext_bytes(2048) == 15 * 512
    assert (cost.rerandomisations, cost.decryptions, cost.encryptions) == (2, 2, 3)
