"""Evaluator and key holder sit at one table under their own names, and are never the same party."""

import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.two_party import opened, sealed
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.two_party.in_memory import run
from sottovoce.protocols.two_party.products import multiply, product_rules

KEY = toy_key()
SCALE = Scale(0, 2**20)


def rules(budget=1):
    return [product_rules(KEY, budget=budget, entropy=SeededEntropy(5))]


def product():
    x = sealed([3, -4], SCALE)
    return multiply(x, x, entropy=SeededEntropy(1))


def test_the_two_play_their_roles_under_their_own_names() -> None:
    cast = Cast((), coordinator="cate", evaluator="eve")
    outcome = run(product(), rules(), key=KEY, cast=cast)
    assert opened(KEY, outcome.results["eve"]) == [9, 16]
    assert outcome.traffic.trips("eve", "cate") == 2


def test_one_party_for_both_is_refused() -> None:
    with pytest.raises(InputError, match="an evaluator that does not hold the key, found 'cate'"):
        run(product(), rules(), key=KEY, cast=Cast((), coordinator="cate", evaluator="cate"))


def test_errors_name_the_party_that_plays_the_role() -> None:
    def program():
        yield from product()
        yield from multiply(*[sealed([1], SCALE)] * 2, entropy=SeededEntropy(2))

    with pytest.raises(ViolationError, match="eve: expected at most 1 questions"):
        run(program(), rules(), key=KEY, cast=Cast((), coordinator="cate", evaluator="eve"))
