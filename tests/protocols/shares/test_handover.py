import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, rewriting
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.ring import share, to_ring
from sottovoce.paillier import Ciphertext, Plain, decrypt, encrypt
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.handover import (
    EncryptedShare,
    ModelPlan,
    give_share,
    take_share,
)
from sottovoce.protocols.shares.rings import Ring
from sottovoce.wire import Codec

KEY = toy_key()
CODEC = Codec(ciphertexts_under(KEY.public))
BOUND = 2**30
EVERY_PLAN = [
    ModelPlan((6, 3), Scale(20, BOUND), ring, slots)
    for ring in (Ring(64), Ring(33))
    for slots in (None, Slots(80, 4))
]
# A ring of 6 bits, whose shares can all be tried, and weights of each sign up to its quarter.
TINY = ModelPlan((64, 1), Scale(0, 15), Ring(6), Slots(20, 1))


def model(seed: int = 0, shape: tuple[int, int] = (6, 3)) -> NDArray[np.int64]:
    theta = np.random.default_rng(seed).integers(-BOUND, BOUND, shape)
    theta[0] = [-BOUND, 0, BOUND]
    return theta


def integers(ciphertext: Ciphertext) -> NDArray[np.object_]:
    return np.array(decrypt(KEY, ciphertext).integers, dtype=object)


def modular(theta: NDArray[np.int64], plan: ModelPlan, meddler: Meddler | None = None) -> Outcome:
    entropy = SeededEntropy(3)
    first, second = share(to_ring(theta), entropy)
    return converse(
        {
            "coordinator": give_share(first, plan, KEY, to="evaluator", entropy=entropy),
            "evaluator": take_share(second, plan, sender="coordinator", entropy=entropy),
        },
        codec=CODEC,
        meddler=meddler,
    )


@pytest.mark.parametrize("plan", EVERY_PLAN)
def test_mod_2_to_the_b_the_ciphertexts_hold_the_model(plan: ModelPlan) -> None:
    theta = model()
    result = modular(theta, plan).results["evaluator"]
    assert isinstance(result, Ciphertext)
    assert ((integers(result) - theta) % 2**plan.ring.bits == 0).all()
    assert (result.slots, result.scale) == (plan.slots, plan.handed_scale)
    assert plan.exact == (plan.slots is None)


@pytest.mark.parametrize("plan", [p for p in EVERY_PLAN if p.exact])
def test_where_weights_have_ciphertexts_of_their_own_these_hold_numbers(plan: ModelPlan) -> None:
    result = modular(model(), plan).results["evaluator"]
    assert (integers(result) == model()).all()
    assert result.scale == plan.scale


@pytest.mark.parametrize("value", range(-15, 16))
def test_every_share_of_every_number(value: int) -> None:
    first = np.arange(64, dtype=np.uint64)[:, np.newaxis]
    second = TINY.ring.reduce(to_ring(np.full((64, 1), value)) - first)
    entropy = SeededEntropy(4)
    outcome = converse(
        {
            "coordinator": give_share(first, TINY, KEY, to="evaluator", entropy=entropy),
            "evaluator": take_share(second, TINY, sender="coordinator", entropy=entropy),
        },
        codec=CODEC,
    )
    assert (integers(outcome.results["evaluator"]) == value).all()


@given(st.integers(-(2**30), 2**30), st.integers(0, 2**32))
def test_every_sign_and_every_wrap(value: int, seed: int) -> None:
    plan = ModelPlan((8, 1), Scale(0, BOUND), Ring(33))
    theta = np.full((8, 1), value)
    theta[1:, 0] = np.random.default_rng(seed).integers(-BOUND, BOUND, 7)
    result = integers(modular(theta, plan).results["evaluator"])
    assert (result == theta).all()


def test_the_coordinator_receives_nothing() -> None:
    assert modular(model(), EVERY_PLAN[0]).views["coordinator"].received == []


def test_the_model_is_re_randomised_before_it_may_travel() -> None:
    theta, plan = model(), EVERY_PLAN[0]
    outcome = modular(theta, plan)
    _, second = share(to_ring(theta), SeededEntropy(3))
    stale = plan.sum(outcome.views["evaluator"].of(EncryptedShare)[0].share, second)
    result = outcome.results["evaluator"]
    assert (integers(result) == np.array(decrypt(KEY, stale).integers, dtype=object)).all()
    assert not set(stale.residues) & set(result.residues)


def test_a_model_too_large_for_the_ring_is_refused() -> None:
    with pytest.raises(MismatchError, match="need a ring of at least 33 bits, found 32"):
        ModelPlan((6, 3), Scale(20, BOUND), Ring(32))


def test_a_share_of_another_shape_is_refused() -> None:
    wrong = np.zeros((2, 2), np.uint64)
    with pytest.raises(MismatchError, match=r"expected shape \(6, 3\), found \(2, 2\)"):
        next(give_share(wrong, EVERY_PLAN[0], KEY, to="evaluator", entropy=SeededEntropy()))


def test_ciphertexts_that_are_not_as_agreed_are_refused() -> None:
    def other(message: EncryptedShare) -> EncryptedShare:
        plain = Plain(np.zeros((2, 2), np.int64), Scale(20, 5))
        return EncryptedShare(encrypt(KEY, plain, entropy=SeededEntropy()))

    meddler = rewriting(
        lambda packet: is_kind(packet, EncryptedShare),
        EncryptedShare,
        other,
        CODEC,  # type: ignore[arg-type]
    )
    with pytest.raises(ViolationError, match="ciphertext: expected layout") as error:
        modular(model(), EVERY_PLAN[0], meddler)
    assert error.value.party == "coordinator"
