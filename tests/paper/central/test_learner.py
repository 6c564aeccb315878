"""The central learner equals ridge regression on the union, and nobody sees how."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.learners import NAMES, numeric_parts, text_parts
from harness.meddling import Change, Crashing, Holding, is_kind, repeating, rewriting
from harness.two_party import codec_for
from harness.views import assert_sees_noise, assert_sees_structure, noise_words, readable
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.exposure import ExposedMoments
from sottovoce.attacks.recovered import score
from sottovoce.attacks.second_moments import attack_moments
from sottovoce.errors import (
    AbsenceError,
    BoundError,
    InputError,
    MismatchError,
    TheirError,
    ViolationError,
)
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paper.central.learner import ideal, run, table
from sottovoce.paper.central.messages import PublicTotals
from sottovoce.paper.central.terms import CentralTerms, MomentTerms, Precision, RoundedTotals
from sottovoce.protocols.blind_sum import TwoPeersWarning
from sottovoce.protocols.blind_sum.messages import MaskedParts, RoundKeys
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.sealed_model import SealedModel, StudyKey
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.view import Received, View
from sottovoce.rados import Moments, Part, gamma, joined

KEY = toy_key(bits=768)
WORDS = 30
PRECISION = Precision(tolerance=2.0**-12, masking=Masking(40))


def terms_for(peers=3, *, features=4, penalties=None, **more):
    cast = Cast(NAMES[:peers], coordinator="cate", evaluator="eve")
    return CentralTerms("study", cast, penalties or (2.0,) * features, precision=PRECISION, **more)


def moments_of(parts):
    return {name: Moments.of(part.rows, part.labels) for name, part in parts.items()}


def learn(parts, terms, *, seed=1, meddler=None):
    moments = moments_of(parts)
    outcome = run(terms, moments, key=KEY, entropy=SeededEntropy(seed), meddler=meddler)
    return outcome, moments


def theta_of(outcome, name="alice"):
    return decrypt(KEY, outcome.results[name].theta).floats()


@settings(max_examples=5)
@given(st.integers(3, 4), st.integers(1, 5), st.integers(0, 999))
def test_every_peer_gets_ridge_on_the_union(peers, features, seed) -> None:
    parts = numeric_parts(peers, features=features, rows=8, seed=seed)
    terms = terms_for(peers, features=features)
    outcome, moments = learn(parts, terms, seed=seed)
    expected = ideal(terms, moments)
    for name in NAMES[:peers]:
        error = np.abs(theta_of(outcome, name) - expected).max()
        assert error < 2e-3 * max(1.0, float(np.linalg.norm(expected)))
    residues = {outcome.results[name].theta.residues for name in NAMES[:peers]}
    assert len(residues) == peers  # re-randomised for each of them


def test_gamma_penalises_each_feature_by_itself() -> None:
    parts = numeric_parts(3)
    diagonal = 4.0 * gamma(4, distrusted=(1, 3), epsilon=0.25)
    terms = terms_for(penalties=tuple(diagonal))
    outcome, moments = learn(parts, terms)
    whole = joined(moments.values())
    direct = np.linalg.solve(whole.second + np.diag(diagonal), whole.products[:, 0])
    assert np.abs(theta_of(outcome) - direct).max() < 1e-3
    even, _ = learn(parts, terms_for(penalties=(4.0,) * 4))
    assert np.abs(theta_of(even) - direct).max() > 1e-2


def test_the_sum_is_the_union_whatever_is_where() -> None:
    parts = numeric_parts(3, rows=6)
    rows = np.concatenate([part.rows for part in parts.values()])
    labels = np.concatenate([part.labels for part in parts.values()])
    outcome, _ = learn(parts, terms_for())
    whole = Moments.of(rows, labels)
    expected = np.linalg.solve(whole.second + 2 * np.eye(4), whole.products[:, 0])
    assert np.abs(theta_of(outcome) - expected).max() < 1e-3


def test_trips_depend_on_public_numbers_alone() -> None:
    outcome, moments = learn(numeric_parts(3), terms_for())
    totals = RoundedTotals.of(sum(RoundedTotals.words(own) for own in moments.values()))
    steps = terms_for().solve_plan(totals).steps
    # Three for keys, totals and the agreed sets; the matrix, the steps, the check, the goodbye.
    assert outcome.traffic.trips("eve", "cate") == 3 + 1 + steps + 4 + 1
    again, _ = learn(numeric_parts(3), terms_for(), seed=77)
    assert again.traffic.bytes == outcome.traffic.bytes


# What each party saw.


def test_the_coordinator_and_the_peers_are_sent_no_moments() -> None:
    outcome, _ = learn(numeric_parts(3), terms_for())
    assert not any(len(message.parts) > 1 for message in outcome.views["cate"].of(MaskedParts))
    kinds = {type(item.message) for item in outcome.views["alice"].received}
    assert MaskedParts not in kinds
    assert SealedModel in kinds


@pytest.fixture(scope="module")
def text_study():
    parts = text_parts(3, words=WORDS, documents=6)
    return parts, *learn(parts, terms_for(features=WORDS))


def plan_and_fixed_bits(terms, moments):
    totals = RoundedTotals.of(sum(RoundedTotals.words(own) for own in moments.values()))
    plan = terms.solve_plan(totals)
    # A and the penalty together: the operand that is masked once, value by value.
    moment_terms = MomentTerms(terms, totals, tuple(moments))
    scale = moment_terms.matrix_scale.plus(moment_terms.penalty().scale)
    return plan, [scale.bits + plan.masking.kappa]


def test_the_coordinator_sees_noise_and_a_forgotten_mask_would_show(text_study) -> None:
    _, outcome, moments = text_study
    _, fixed = plan_and_fixed_bits(terms_for(features=WORDS), moments)
    assert len(noise_words(outcome.views["cate"], KEY, fixed=fixed)) > 900
    assert_sees_noise(outcome.views["cate"], KEY, fixed=fixed)
    narrow, small = terms_for(features=6), moments_of(numeric_parts(3, features=6))
    plan, fixed = plan_and_fixed_bits(narrow, small)
    for bits in (plan.untruncated_scale.bits + plan.masking.kappa, *fixed):
        door = ForgetfulEntropy(1, bits=bits, which=20)
        seen = run(narrow, small, key=KEY, entropy=door).views["cate"]
        assert door.forgot
        assert_sees_structure(seen, KEY, fixed=fixed)


def test_attacks_rebuild_text_from_opened_moments_and_nothing_from_any_view(text_study) -> None:
    parts, outcome, moments = text_study
    rows = np.concatenate([part.rows for part in parts.values()])
    labels = np.concatenate([part.labels for part in parts.values()])
    whole = joined(moments.values())
    opened = attack_moments(ExposedMoments.of(whole.second, whole.products))
    assert score(opened, rows, labels).matched >= 5  # the control: this text can be rebuilt

    for name, view in outcome.views.items():
        key = KEY if name == "cate" else None
        report = attack_everything(list(readable(view, key=key)), modulus=KEY.public.modulus)
        assert report.attempts or name in parts  # a peer is sent a vector, nothing else
        assert not report.documents, name


def test_the_same_attack_would_find_moments_that_were_sent_to_the_key_holder(text_study) -> None:
    parts, _, moments = text_study
    second = Plain.of(joined(moments.values()).second, Scale(8, 2**30))
    slots = Slots.fit(2**30, plaintext_bits=KEY.public.plaintext_bits)
    leaked = SealedModel(encrypt(KEY.public, second, slots=slots, entropy=SeededEntropy(1)))
    view = View("cate", [Received("eve", leaked, 0)])
    report = attack_everything(list(readable(view, key=KEY)), modulus=KEY.public.modulus)
    rows = np.concatenate([part.rows for part in parts.values()])
    labels = np.concatenate([part.labels for part in parts.values()])
    assert score(report.documents, rows, labels).matched >= 5


def test_a_coordinator_who_evaluates_would_read_everything(text_study) -> None:
    """Why E is not C: with the key, the ciphertexts that the evaluator holds are open."""
    _, outcome, moments = text_study
    model = decrypt(KEY, outcome.results["eve"].theta).floats()
    assert np.abs(model - ideal(terms_for(features=WORDS), moments)).max() < 1e-3


# Bad input, by name.


def test_evaluator_and_key_holder_are_never_one_party() -> None:
    with pytest.raises(InputError, match="an evaluator that does not hold the key, found 'cate'"):
        Cast(NAMES[:3], coordinator="cate", evaluator="cate")
    with pytest.raises(InputError, match="every party in one role, found 'alice' twice"):
        Cast(NAMES[:3], evaluator="alice")


def test_one_peer_is_refused_and_two_must_be_asked_for_by_value() -> None:
    with pytest.raises(InputError, match="found 1: the sum of one is that peer's own value"):
        learn(numeric_parts(1), terms_for(1))
    with pytest.raises(InputError, match="expected at least 3 peers, found 2"):
        learn(numeric_parts(2), terms_for(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TwoPeersWarning)
        outcome, moments = learn(numeric_parts(2), terms_for(2, fewest=2))
        assert np.abs(theta_of(outcome) - ideal(terms_for(2, fewest=2), moments)).max() < 1e-3
    with pytest.warns(TwoPeersWarning, match="alice and bob"):
        terms_for(2, fewest=2).totals_sum()


@pytest.mark.parametrize("penalties", [(), (0.0, 1.0), (-1.0,), (float("inf"),), (float("nan"),)])
def test_a_penalty_that_leaves_the_moments_singular_is_refused(penalties) -> None:
    with pytest.raises(InputError, match="penalty: expected a number above 0 for every feature"):
        CentralTerms("study", Cast(NAMES[:3]), penalties)


def test_peers_whose_shapes_differ_are_refused_before_anything_is_sent() -> None:
    parts = numeric_parts(3) | {"bob": numeric_parts(3, features=5)["bob"]}
    seated = table(terms_for(), moments_of(parts), key=KEY, entropy=SeededEntropy(1))
    with pytest.raises(MismatchError, match="expected 4 features and 1 class, found 5 and 1"):
        seated.run()
    assert not any(view.of(MaskedParts) for view in seated.views.values())
    with pytest.raises(InputError, match="moments: expected those of"):
        learn({name: numeric_parts(3)[name] for name in ("alice", "bob")}, terms_for())


def test_bounds_too_small_for_the_data_raise_before_anything_is_sent() -> None:
    lying = rewriting(
        lambda packet: packet.recipient == "bob" and is_kind(packet, PublicTotals),
        PublicTotals,
        lambda totals: PublicTotals(totals.documents, 256),
    )
    seated = table(
        terms_for(),
        moments_of(numeric_parts(3)),
        key=KEY,
        entropy=SeededEntropy(1),
        meddler=lying,
    )
    with pytest.raises(BoundError, match="a largest eigenvalue of at most 1 and"):
        seated.run()
    sums = [message for message in seated.views["eve"].of(MaskedParts) if len(message.parts) == 2]
    assert not sums or lying.done


def test_a_ceiling_below_the_spectrum_is_caught_at_the_end(monkeypatch) -> None:
    """Peers that understate their spread, each by less than its own check sees."""
    honest = RoundedTotals.words

    def understated(moments):
        documents, ceiling = honest(moments)
        return np.array([documents, ceiling * 17 // 20], dtype=np.uint64)

    monkeypatch.setattr(RoundedTotals, "words", staticmethod(understated))
    rng = np.random.default_rng(1)
    rows = 1 + 0.1 * rng.normal(size=(8, 4))
    parts = {name: Part.of(rows, np.ones(8)) for name in NAMES[:3]}
    with pytest.raises(BoundError, match=r"S\.Solve: the interval from 2 to .* does not hold"):
        learn(parts, terms_for())


def test_moments_that_are_not_positive_semidefinite_are_refused() -> None:
    moments = Moments.of(np.eye(4), np.ones(4))
    moments._upper = np.diag([1.0, 1.0, 1.0, -0.5])
    moment_terms = MomentTerms(terms_for(), RoundedTotals(20, 20.0), NAMES[:3])
    with pytest.raises(MismatchError, match="expected 4 features and 1 class, found 4 and 2"):
        moment_terms.written(Moments.of(np.eye(4), np.ones((4, 2))))
    with pytest.raises(InputError, match=r"positive semidefinite .* found the eigenvalue -0\.5"):
        moment_terms.written(moments)
    with pytest.raises(BoundError, match="at most 1 documents, found 1 and 4"):
        MomentTerms(terms_for(), RoundedTotals(1, 20.0), NAMES[:3]).written(
            Moments.of(np.eye(4), np.ones(4))
        )


def test_totals_of_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="totals: all documents are zero"):
        RoundedTotals.of(np.array([3, 0], dtype=np.uint64))


# Parties that do not keep to the protocol.


def test_another_key_is_refused_before_anything_is_encrypted() -> None:
    other = toy_key(bits=768, seed=1).public.to_bytes()
    lying = rewriting(
        lambda packet: packet.recipient == "bob" and is_kind(packet, StudyKey),
        StudyKey,
        lambda _: StudyKey(other),
    )
    with pytest.raises(ViolationError, match=r"cate: expected the 768-bit .* found another key"):
        learn(numeric_parts(3), terms_for(), meddler=lying)


def test_totals_other_than_those_that_were_opened_are_refused() -> None:
    lying = rewriting(
        lambda packet: packet.recipient == "eve" and is_kind(packet, PublicTotals),
        PublicTotals,
        lambda totals: PublicTotals(totals.documents + 1, totals.ceiling),
    )
    with pytest.raises(
        ViolationError, match="cate: the totals are not those that we opened ourselves"
    ):
        learn(numeric_parts(3), terms_for(), meddler=lying)


def contribution(packet):
    return (packet.sender, packet.recipient) == ("bob", "eve") and is_kind(packet, MaskedParts)


def test_a_peer_that_repeats_its_contribution_changes_nothing() -> None:
    again = repeating(contribution)
    outcome, moments = learn(numeric_parts(3), terms_for(), meddler=again)
    assert again.done == 2
    assert np.abs(theta_of(outcome) - ideal(terms_for(), moments)).max() < 1e-3


def test_a_peer_that_changes_its_contribution_is_named() -> None:
    codec = codec_for(KEY)

    def twice(packet):
        message = codec.decode(packet.body, MaskedParts)
        first, *rest = message.parts
        swapped = MaskedParts(message.agreed, (*rest, first) if rest else message.parts)
        other = rewriting(lambda _: True, MaskedParts, lambda _: swapped, codec)
        return packet, *other.change(packet)

    changing = Change(contribution, twice)
    with pytest.raises(ViolationError, match=r"bob: eve expected message .* and it is changed"):
        learn(numeric_parts(3), terms_for(), meddler=changing)


def test_a_contribution_of_another_shape_is_refused_naming_the_peer() -> None:
    wrong = rewriting(
        lambda packet: contribution(packet) and len(packet.body) > 1000,
        MaskedParts,
        lambda message: MaskedParts(message.agreed, tuple(reversed(message.parts))),
        codec_for(KEY),
    )
    with pytest.raises(ViolationError, match=r"bob: second/v1: expected ciphertexts of 4 × 4"):
        learn(numeric_parts(3), terms_for(), meddler=wrong)


def test_a_peer_that_leaves_is_left_out_whenever_it_leaves() -> None:
    parts = numeric_parts(4)
    counting = Crashing({})
    learn(parts, terms_for(4), meddler=counting)
    for step in range(0, counting.seen["dave"] + 1, 3):
        outcome, moments = learn(parts, terms_for(4), meddler=Crashing({"dave": step}))
        used = outcome.results["alice"].peers
        expected = ideal(terms_for(4), {name: moments[name] for name in used})
        assert np.abs(theta_of(outcome) - expected).max() < 1e-3


@pytest.mark.parametrize("sum_number", [0, 1])
def test_a_peer_that_comes_too_late_for_a_sum_gets_nothing(sum_number) -> None:
    keys = []

    def late(packet):
        if packet.sender != "dave" or not is_kind(packet, RoundKeys):
            return False
        keys.append(packet)
        return len(keys) == sum_number + 1

    parts = numeric_parts(4)
    outcome, moments = learn(parts, terms_for(4), meddler=Holding(late))
    assert outcome.results["dave"] is None
    assert outcome.results["alice"].peers == ("alice", "bob", "carol")
    expected = ideal(terms_for(4), {name: moments[name] for name in NAMES[:3]})
    assert np.abs(theta_of(outcome) - expected).max() < 1e-3


def test_too_many_that_leave_end_it_and_reveal_nothing() -> None:
    with pytest.raises(AbsenceError, match="too few peers are left"):
        learn(numeric_parts(3), terms_for(), meddler=Crashing({"bob": 2}))


def test_a_model_of_another_layout_is_refused_naming_the_evaluator() -> None:
    codec = codec_for(KEY)
    wrong = rewriting(
        lambda packet: is_kind(packet, SealedModel) and packet.recipient == "carol",
        SealedModel,
        lambda message: SealedModel(message.theta.divided(1)),
        codec,
    )
    with pytest.raises(TheirError, match="eve: ciphertext: expected scale"):
        learn(numeric_parts(3), terms_for(), meddler=wrong)
