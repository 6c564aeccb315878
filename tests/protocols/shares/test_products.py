from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.conversations.enumeration import GivenWords, grid, words
from harness.conversations.opened import opened_words
from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import Words, share, to_ring
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares.holders import HolderPrograms, Trio, run
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.products import (
    DealtProduct,
    FactorShare,
    Product,
    deal_product,
    inner,
    multiplied,
    times,
)
from sottovoce.protocols.shares.rings import Ring

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob"])


def multiply(
    left: Words,
    right: Words | None,
    product: Product,
    seed: int = 1,
    meddler: Meddler | None = None,
) -> Outcome:
    """f(left, right), or f(left, left), through the whole conversation."""
    entropy = SeededEntropy(seed)
    lefts = share(left, entropy)
    rights = (None, None) if right is None else share(right, entropy)
    programs = HolderPrograms(
        lambda holder: multiplied(holder, lefts[0], rights[0], product, purpose="test"),
        lambda holder: multiplied(holder, lefts[1], rights[1], product, purpose="test"),
        lambda dealer: deal_product(dealer, product, purpose="test"),
    )
    return run(programs, TRIO, HERE, entropy=entropy, meddler=meddler)


def result(outcome: Outcome) -> Words:
    return outcome.results["coordinator"] + outcome.results["evaluator"]


def test_exhaustively_in_a_small_ring_it_is_right_and_what_is_opened_is_uniform() -> None:
    ring = Ring(3)
    # x and y at the first holder, both masks at the second (the first's are 0).
    x, y, a, b = grid(8, 8, 8, 8)
    count = len(x)
    product = Product(times, (count,), (count,), ring)
    zeros = [0] * 2 * count
    theirs = [*words(a), *words(b), *words(ring.reduce(a * np.uint64(5) + b))]
    dealt = product.deal(GivenWords(zeros), GivenWords(theirs))
    stream = GivenWords(theirs)
    masks = product.masks(stream)
    factors = (ring.reduce(x - a), ring.reduce(y - b))
    first = product.combine(factors, product.masks(GivenWords(zeros)), dealt, first=True)
    second = product.combine(factors, masks, ring.draw(stream, count), first=False)
    assert (ring.reduce(first + second) == ring.reduce(x * y)).all()
    seen = Counter(zip(words(x), words(y), words(factors[0]), words(factors[1]), strict=True))
    assert set(seen.values()) == {1}
    assert len(seen) == 8**4


ENTRIES = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=12)


@given(ENTRIES, st.integers(-(2**62), 2**62))
def test_products_of_entries_broadcast(values: list[int], factor: int) -> None:
    left, right = to_ring(np.array(values)), to_ring(np.array([[factor], [1], [-3]]))
    product = Product(times, left.shape, right.shape)
    assert (result(multiply(left, right, product)) == left * right).all()


@given(ENTRIES)
def test_the_sum_of_squares_opens_one_factor_only(values: list[int]) -> None:
    left = to_ring(np.array(values))
    outcome = multiply(left, None, Product(inner, left.shape))
    assert int(result(outcome)[0]) == sum(x * x for x in values) % 2**64
    assert len(outcome.views["evaluator"].of(FactorShare)) == 1


def test_both_factors_travel_in_one_trip() -> None:
    ones = np.ones((30, 30), np.uint64)
    outcome = multiply(ones, ones, Product(times, ones.shape, ones.shape))
    assert outcome.traffic.trips("coordinator", "evaluator") == 1


def test_what_everybody_sees_is_noise_and_the_dealer_sees_nothing() -> None:
    ones = np.ones((30, 30), np.uint64)
    outcome = multiply(ones, ones, Product(times, ones.shape, ones.shape))
    for name in ("coordinator", "evaluator"):
        assert_looks_uniform(outcome.views[name].words(), what=name)
    assert_looks_uniform(opened_words(outcome))
    assert outcome.views["dealer"].received == []


def test_a_mask_for_one_factor_only_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Product.masks

    def forgetful(self: Product, stream: Entropy) -> tuple[Words, Words]:
        left, right = drawn(self, stream)
        return left, np.zeros_like(right)

    monkeypatch.setattr(Product, "masks", forgetful)
    ones = np.ones((30, 30), np.uint64)
    assert_shows_structure(
        opened_words(multiply(ones, ones, Product(times, ones.shape, ones.shape)))
    )


def test_a_wrong_shape_is_refused_naming_the_dealer() -> None:
    ones = np.ones(4, np.uint64)
    meddler = rewriting(
        lambda packet: is_kind(packet, DealtProduct),
        DealtProduct,
        lambda message: DealtProduct(wire.Words.of(np.ones(5, np.uint64))),
    )
    with pytest.raises(ViolationError, match=r"shape \(4,\), found \(5,\)") as error:
        multiply(ones, ones, Product(times, (4,), (4,)), meddler=meddler)
    assert error.value.party == "dealer"
