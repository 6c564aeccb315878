"""The paper's row with θ in plain: as exact as the sealed one, and what it gives away."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.examples.descents import all_rados, entropy, rados_for, terms_for
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import sealed, talk
from harness.views import assert_sees_noise
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import decrypt, decrypt_residues
from sottovoce.paper.rado_learn import learner, opening
from sottovoce.paper.rado_learn.opening import (
    MaskedSums,
    OpenedSums,
    answer_opening,
    open_sums,
    opening_rule,
)
from sottovoce.paper.rado_learn.plain_theta import run_showing_theta
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, ask
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.wire import Integers

KEY = toy_key(bits=768)


@pytest.fixture(scope="module")
def study():
    terms = terms_for(4, features=4, rados=12)
    rados = rados_for(terms)
    return terms, rados, run_showing_theta(terms, rados, key=KEY, entropy=entropy())


def test_theta_equals_the_twin_and_the_sealed_descent(study) -> None:
    terms, rados, outcome = study
    theta = outcome.results["eve"].floats()
    union = all_rados(rados, terms.plan)
    assert np.abs(theta - plain_descent(union, terms.plan).floats()).max() < 2.0**-14
    both = learner.run(terms, rados, key=KEY, entropy=entropy())
    hidden = decrypt(KEY, both.results["alice"]).floats()
    assert np.abs(theta - hidden).max() < 2.0**-12
    assert np.array_equal(union.floats() @ theta > 0, union.floats() @ hidden > 0)


def test_the_evaluators_view_shows_the_mean_of_all_rados(monkeypatch) -> None:
    """What θ in plain gives away: from its first opened sum and its own masks, b, exactly."""
    own_masks = []

    def remembering(modulus, count, *, entropy):
        own_masks.append([entropy.below(modulus) for _ in range(count)])
        return own_masks[-1]

    monkeypatch.setattr(opening, "elements", remembering)
    terms = terms_for(features=4, rados=12)
    rados = rados_for(terms)
    outcome = run_showing_theta(terms, rados, key=KEY, entropy=entropy())
    view, modulus, plan = outcome.views["eve"], KEY.public.modulus, terms.plan
    opened = view.of(OpenedSums)
    assert len(opened) == plan.schedule.steps
    first = [
        (m - r + modulus // 2) % modulus - modulus // 2
        for m, r in zip(opened[0].values.read(modulus=modulus), own_masks[0], strict=True)
    ]
    slots = plan.feature_slots(KEY.public.plaintext_bits)
    sums = slots.unpack_all(first, plan.features)
    b = np.array(sums) / 2.0**plan.bits.rado / plan.rados
    assert np.array_equal(b, all_rados(rados, plan).floats().mean(axis=0))


def test_the_key_holder_sees_noise_and_the_peers_nothing(study) -> None:
    terms, _, outcome = study
    fixed = [terms.plan.rado_scale.bits + terms.plan.masking.kappa]
    assert_sees_noise(outcome.views["cate"], KEY, fixed=fixed)
    kinds = [type(item.message).__name__ for item in outcome.views["alice"].received]
    assert kinds == ["StudyKey"]


def test_no_step_needs_the_rados_by_feature_at_the_key_holder(study) -> None:
    terms, _, outcome = study
    plan = terms.plan
    later = plan.schedule.steps - 1
    expected = 1 + 1 + later * (plan.schedule.squarings + 2) + 1
    assert outcome.traffic.trips("eve", "cate") == expected


# Opening by itself.

SLOTS = Slots(60, 12)
SCALE = Scale(4, 2**50)


def opened(values, *, door=None, meddler=None):
    tensors = [
        sealed(values, SCALE, key=KEY, slots=SLOTS),
        sealed(values[0], SCALE, key=KEY),
    ]
    program = open_sums(tensors, entropy=door or SeededEntropy(3))
    return talk(KEY, program, [[opening_rule(KEY, budget=1)]], meddler=meddler)


def test_opening_gives_the_exact_integers_to_the_evaluator_alone() -> None:
    values = [-(2**50), 2**50, 0, 7, -9] * 5
    outcome = opened(values)
    vector, scalar = outcome.results[EVALUATOR]
    assert vector.integers.tolist() == values
    assert int(scalar.integers) == values[0]


def masked_sums(door_of):
    """What the key holder decrypts in sixty openings of the same small numbers."""
    collected = []
    for seed in range(60):
        outcome = opened([5, -3, 1], door=door_of(seed))
        for message in outcome.views[KEY_HOLDER].of(MaskedSums):
            for tensor in message.sums:
                collected += [int(m) for m in decrypt_residues(KEY, tensor)]
    return collected


class Forgetting(SeededEntropy):
    """A door that forgets one mask in sixty openings: masks are drawn before randomisers."""

    def below(self, bound):
        drawn = super().below(bound)
        forgets, self.forgets = self.forgets, False
        return 0 if forgets and bound == KEY.public.modulus else drawn

    def __init__(self, seed):
        super().__init__(seed)
        self.forgets = seed == 17


def test_the_key_holder_opens_noise_and_a_forgotten_mask_would_show() -> None:
    assert_looks_uniform(masked_sums(SeededEntropy), KEY.public.modulus)
    assert_shows_structure(masked_sums(Forgetting), KEY.public.modulus)


def test_opening_what_is_not_covered_is_refused() -> None:
    bare = sealed([1, 2], SCALE, key=KEY, slots=SLOTS)
    bare = bare.for_key_holder(entropy=SeededEntropy(1))
    with pytest.raises(MismatchError, match="opening: expected covered sums"):
        answer_opening(KEY, MaskedSums((bare,)))
    rule = opening_rule(KEY, budget=1)

    def bold():
        return (yield from ask(KEY_HOLDER, MaskedSums((bare,))))

    with pytest.raises(ViolationError, match="evaluator: MaskedSums out of range"):
        talk(KEY, bold(), [[rule]])


def test_too_few_opened_numbers_name_the_key_holder() -> None:
    program = open_sums([sealed([1, 2], SCALE, key=KEY, slots=SLOTS)], entropy=SeededEntropy(1))
    next(program)
    answer = OpenedSums(Integers.of([1, 2], modulus=KEY.public.modulus))
    with pytest.raises(ViolationError, match="key holder: expected 1 opened numbers, found 2"):
        program.send(answer)


def test_rados_of_other_peers_are_refused() -> None:
    terms = terms_for()
    with pytest.raises(InputError, match="rados: expected those of"):
        run_showing_theta(terms, {}, key=KEY, entropy=entropy())
