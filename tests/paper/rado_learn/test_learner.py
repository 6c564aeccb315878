"""RadoLearn on encrypted rados equals its plaintext twin, and nobody sees where it goes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy
from harness.examples.descents import all_rados, entropy, plan_for, rados_for, terms_for
from harness.keys import toy_key
from harness.learners import text_parts
from harness.meddling import Crashing, dropping, is_kind, repeating, rewriting
from harness.two_party import codec_for
from harness.views import assert_sees_noise, assert_sees_structure, readable
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.exposure import ExposedRados
from sottovoce.attacks.recovered import score
from sottovoce.attacks.unknown_signatures import attack_unknown_signatures
from sottovoce.errors import AbsenceError, BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt
from sottovoce.paper.rado_learn.contribution import Places, SealedRados, seal, written
from sottovoce.paper.rado_learn.learner import DescentTerms, run
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.rado_descent import sealed_theta
from sottovoce.protocols.rado_descent.plan import DescentPlan, Ranges
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.protocols.sealed_model import SealedModel
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Schedule, descend_on_schedule, random_rados

KEY = toy_key(bits=768)


def learn(terms, rados, *, seed=1, meddler=None, door=None):
    return run(terms, rados, key=KEY, entropy=door or entropy(seed), meddler=meddler)


def theta_of(outcome, name="alice"):
    return decrypt(KEY, outcome.results[name]).floats()


@settings(max_examples=5)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 999))
def test_the_sealed_descent_equals_its_twins(peers, features, seed) -> None:
    terms = terms_for(peers, features=features, rados=8)
    rados = rados_for(terms, seed=seed)
    outcome = learn(terms, rados, seed=seed)
    plan, union = terms.plan, all_rados(rados, terms.plan)
    twin = plain_descent(union, plan).floats()
    schedule = descend_on_schedule(union.floats(), penalty=plan.penalty, schedule=plan.schedule)
    for name in terms.cast.peers:
        assert np.abs(theta_of(outcome, name) - twin).max() < 2.0**-14
    assert np.abs(theta_of(outcome) - schedule.theta).max() < 2.0**-12
    assert np.array_equal(union.floats() @ twin > 0, union.floats() @ schedule.theta > 0)


def test_one_step_is_the_mean_and_needs_no_question() -> None:
    terms = terms_for(steps=1)
    rados = rados_for(terms)
    outcome = learn(terms, rados)
    mean = all_rados(rados, terms.plan).floats().mean(axis=0)
    assert np.abs(theta_of(outcome) - terms.plan.schedule.rate * mean).max() < 2.0**-14


def test_trips_and_bytes_depend_on_public_numbers_alone() -> None:
    terms = terms_for()
    plan = terms.plan
    first, other = (learn(terms, rados_for(terms, seed=seed), seed=seed) for seed in (1, 2))
    assert first.traffic.bytes == other.traffic.bytes
    lines = plan.schedule.squarings + sealed_theta.division_plan(plan).steps + 1
    questions = (plan.schedule.steps - 1) * (2 + lines + 1)
    # Both forms of the rados, the steps, the goodbye (which answers the key).
    assert first.traffic.trips("eve", "cate") == 2 + questions + 1


# What each party saw.


def test_the_key_holder_sees_noise_and_a_forgotten_mask_would_show() -> None:
    terms = terms_for()
    rados = rados_for(terms)
    plan = terms.plan
    fixed = [plan.rado_scale.bits + plan.masking.kappa] * 2
    assert_sees_noise(learn(terms, rados).views["cate"], KEY, fixed=fixed)
    hidden_scales = (
        plan.rado_scale,
        plan.exponentials.result_scale,
        plan.ahead_scale,
        plan.sum_scale,
    )
    for hidden in hidden_scales:
        door = ForgetfulEntropy(1, bits=hidden.bits + plan.masking.kappa, which=2)
        outcome = learn(terms, rados, door=door)
        assert door.forgot
        assert_sees_structure(outcome.views["cate"], KEY, fixed=fixed)


@pytest.fixture(scope="module")
def text_study():
    """Rados of sparse text, 16 for each of three peers: in the clear they give documents away."""
    terms = terms_for(features=40, rados=48, steps=2, ranges=Ranges(8.0))
    parts, rng = text_parts(3), np.random.default_rng(0)
    drawn = {name: random_rados(part, count=16, rng=rng) / 4 for name, part in parts.items()}
    outcome = learn(terms, {name: written(own, terms.plan) for name, own in drawn.items()})
    return parts, drawn, outcome


def test_attacks_rebuild_text_from_opened_rados_and_nothing_from_any_view(text_study) -> None:
    parts, drawn, outcome = text_study
    part = parts["alice"]
    opened = attack_unknown_signatures(ExposedRados.of(drawn["alice"]))
    assert score(opened, part.rows, part.labels).matched >= 2  # the control
    for name, view in outcome.views.items():
        key = KEY if name == "cate" else None
        report = attack_everything(list(readable(view, key=key)), modulus=KEY.public.modulus)
        assert not report.documents, name


def test_peers_are_sent_the_sealed_model_alone(text_study) -> None:
    _, _, outcome = text_study
    kinds = [type(item.message).__name__ for item in outcome.views["bob"].received]
    assert kinds == ["StudyKey", "SealedModel"]
    models = {outcome.views[name].of(SealedModel)[0].theta.residues for name in ("alice", "bob")}
    assert len(models) == 2


# Bad input, by name.


def test_evaluator_and_key_holder_are_never_one_party() -> None:
    with pytest.raises(InputError, match="an evaluator that does not hold the key"):
        DescentTerms(Cast(("alice",), coordinator="eve", evaluator="eve"), plan_for())


def test_rados_beyond_the_agreed_reach_raise_before_anything_is_sent() -> None:
    with pytest.raises(BoundError, match=r"rados: .* found 4\.5 at index \(0, 1\)") as caught:
        written([[0.0, 4.5, 0.0]], plan_for())
    assert caught.value.hints == ("give the plan a larger reach",)
    with pytest.raises(MismatchError, match="expected rows of 3 features, found shape"):
        written([[0.0, 4.5]], plan_for())


def test_rados_of_other_peers_and_shapes_are_refused() -> None:
    terms = terms_for()
    rados = rados_for(terms)
    with pytest.raises(InputError, match="rados: expected those of"):
        learn(terms, {"alice": rados["alice"]})
    short = Plain(rados["bob"].integers[:2], terms.plan.rado_scale)
    with pytest.raises(MismatchError, match="rados: expected 3 of 3 features, found"):
        learn(terms, rados | {"bob": short})
    with pytest.raises(MismatchError, match="rados: expected 9 of 3 features"):
        plain_descent(short, terms.plan)
    with pytest.raises(InputError, match="at least one for each of 4 peers, found 3"):
        terms_for(4, rados=3).places()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": 0}, "at least 1 feature and 1 rado, found 0 and 9"),
        ({"penalty": 0.1}, r"a shrinkage from 0 to 2 in units of 1/64, found 0\.9"),
        ({"penalty": 3.0}, "a shrinkage from 0 to 2"),
        ({"schedule": Schedule(rate=0.3, momentum_bits=6)}, r"a rate .* found 0\.3"),
        ({"schedule": Schedule(rate=0.5)}, "momentum in 6 bits, found None"),
        (
            {"schedule": Schedule(rate=0.5, bound=7.5, momentum_bits=6)},
            r"a whole bound on exponents, found 7\.5",
        ),
    ],
)
def test_plans_that_cannot_be_written_in_public_numbers_are_refused(change, words) -> None:
    plan = plan_for()
    fields = {
        "features": 3,
        "rados": 9,
        "schedule": plan.schedule,
        "penalty": 0.125,
        "ranges": Ranges(4.0),
    }
    with pytest.raises(InputError, match=words):
        DescentPlan(**fields | change)


@pytest.mark.parametrize("ranges", [(0.0,), (1.0, 0.0), (1.0, 8.0, 1.0, 1.0), (float("inf"),)])
def test_ranges_that_hold_nothing_are_refused(ranges) -> None:
    with pytest.raises(InputError, match="expected ranges above 0 and a floor below the ceiling"):
        Ranges(*ranges)


def test_the_twin_notices_what_leaves_its_range() -> None:
    terms = terms_for()
    union = all_rados(rados_for(terms), terms.plan)
    with pytest.raises(BoundError, match="weights that add up to"):
        plain_descent(union, plan_for(ranges=Ranges(4.0, floor=0.5)))
    far = Plain(union.integers * 0 + 4 * 2**14, terms.plan.rado_scale)
    with pytest.raises(BoundError, match="expected magnitudes"):
        plain_descent(far, terms.plan)


# Parties that do not keep to the protocol.


def contribution(packet):
    return packet.sender == "bob" and is_kind(packet, SealedRados)


def test_a_peer_that_repeats_its_rados_changes_nothing() -> None:
    terms = terms_for()
    rados = rados_for(terms)
    outcome = learn(terms, rados, meddler=repeating(contribution))
    twin = plain_descent(all_rados(rados, terms.plan), terms.plan).floats()
    assert np.abs(theta_of(outcome) - twin).max() < 2.0**-14


def test_a_peer_that_changes_its_rados_is_named() -> None:
    terms = terms_for()
    other = seal(
        rados_for(terms, seed=5)["bob"],
        Places(3, 3),
        plan=terms.plan,
        key=KEY.public,
        entropy=entropy(9),
    )
    changed = rewriting(contribution, SealedRados, lambda _: other, codec_for(KEY))

    def both(packet):
        return packet, *changed.change(packet)

    meddler = rewriting(contribution, SealedRados, lambda m: m, codec_for(KEY))
    meddler.change = both
    with pytest.raises(ViolationError, match="bob: eve expected message 0 as it came before"):
        learn(terms, rados_for(terms), meddler=meddler)


def test_rados_of_another_form_are_refused_naming_the_peer() -> None:
    terms = terms_for()

    def swapped(message):
        return SealedRados(message.by_feature, message.by_rado)

    meddler = rewriting(contribution, SealedRados, swapped, codec_for(KEY))
    with pytest.raises(ViolationError, match="bob: ciphertext: expected layout 3 × 3 in"):
        learn(terms, rados_for(terms), meddler=meddler)


def test_a_missing_peer_ends_it_by_name() -> None:
    terms = terms_for()
    with pytest.raises(AbsenceError, match="bob: expected rados from all of alice, bob, carol"):
        learn(terms, rados_for(terms), meddler=Crashing({"bob": 1}))
    with pytest.raises(AbsenceError, match="bob: expected rados from all"):
        learn(terms, rados_for(terms), meddler=dropping(contribution))


def test_more_steps_than_agreed_are_refused_naming_the_evaluator() -> None:
    terms, shorter = terms_for(), terms_for(steps=3)
    stages = sealed_theta.stages
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sealed_theta,
            "stages",
            lambda key, _, entropy: stages(key, shorter.plan, entropy=entropy),
        )
        with pytest.raises(
            ViolationError, match="eve: expected at most 4 questions MaskedDirection"
        ):
            learn(terms, rados_for(terms))


def test_slots_follow_from_the_plan_and_too_small_a_key_is_refused() -> None:
    plan = plan_for(masking=Masking(64))
    assert plan.feature_slots(767).width > plan_for().feature_slots(767).width
    assert plan.total_scale.fraction_bits == plan.bits.weight
    assert isinstance(plan.sum_scale, Scale)
    with pytest.raises(BoundError, match="one slot needs"):
        plan.rado_slots(64)
