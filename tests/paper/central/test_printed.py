"""The central learner as printed equals its ideal, and the short way's direction."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.learners import NAMES, numeric_parts
from harness.meddling import Crashing, is_kind, repeating, rewriting
from harness.two_party import codec_for
from harness.views import assert_sees_noise, assert_sees_structure, readable
from sottovoce.attacks.everything import attack_everything
from sottovoce.errors import AbsenceError, BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt
from sottovoce.paper.central import learner as short
from sottovoce.paper.central.printed import SealedSum, SignedDocuments, ideal, run
from sottovoce.paper.central.printed_terms import PrintedTerms
from sottovoce.paper.central.terms import CentralTerms, Precision
from sottovoce.paper.encrypted_rados import Documents
from sottovoce.protocols.blind_sum import TwoPeersWarning
from sottovoce.protocols.blind_sum.messages import MaskedParts
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.sealed_model import SealedModel
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.products import MaskedColumnAndRow
from sottovoce.rados import Moments, gamma, random_rados

KEY = toy_key(bits=768)
SCALE = Scale(8, 2**11)


def terms_for(peers=3, *, features=2, penalties=None, each=3, ceiling=None, **more):
    cast = Cast(NAMES[:peers], coordinator="cate", evaluator="eve")
    return PrintedTerms(
        "study",
        cast,
        penalties or (0.5,) * features,
        each,
        SCALE,
        ceiling or 16.0 * features,
        masking=Masking(40),
        **more,
    )


def rados_for(terms, seed=0):
    rng = np.random.default_rng(seed)
    parts = numeric_parts(len(terms.cast.peers), features=terms.features, rows=9, seed=seed)
    return {
        name: terms.written(random_rados(part, count=terms.rados_each, rng=rng))
        for name, part in parts.items()
    }


def learn(terms, rados, *, seed=1, meddler=None, door=None):
    return run(terms, rados, key=KEY, entropy=door or SeededEntropy(seed), meddler=meddler)


def theta_of(outcome, name="alice"):
    return decrypt(KEY, outcome.results[name]).floats()


def test_rados_of_protocol_1_give_the_model_of_the_same_rados_made_in_plaintext() -> None:
    terms = terms_for(each=3, by_protocol_1=True)
    rng = np.random.default_rng(4)
    signed = {
        name: SignedDocuments(
            Documents(Plain.of(rng.uniform(-1, 1, (7, 2)), Scale(8, 2**8)), rng.choice([-1, 1], 7)),
            rng.choice([-1, 1], (3, 7)),
        )
        for name in terms.cast.peers
    }
    outcome = learn(terms, signed)
    expected = ideal(terms, signed)
    assert np.abs(theta_of(outcome) - expected).max() < 2e-3 * (1 + np.abs(expected).max())
    plain = {name: terms.written(own.rados().floats()) for name, own in signed.items()}
    assert ideal(terms, plain) == pytest.approx(expected)
    with pytest.raises(MismatchError, match="expected documents with signatures, found Plain"):
        learn(terms, plain)
    with pytest.raises(MismatchError, match="expected rados, found SignedDocuments"):
        learn(terms_for(each=3), signed)
    fewer = {
        name: SignedDocuments(own.documents, own.signatures[:2]) for name, own in signed.items()
    }
    with pytest.raises(MismatchError, match=r"expected 3 of 2 features .* found .2, 2."):
        learn(terms, fewer)


@settings(max_examples=3)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 999))
def test_every_peer_gets_the_closed_form_of_everybodys_rados(features, each, seed) -> None:
    terms = terms_for(features=features, each=each)
    rados = rados_for(terms, seed)
    outcome = learn(terms, rados, seed=seed)
    expected = ideal(terms, rados)
    for name in terms.cast.peers:
        assert np.abs(theta_of(outcome, name) - expected).max() < 2e-3 * (
            1 + np.abs(expected).max()
        )


@pytest.fixture(scope="module")
def study():
    terms = terms_for(penalties=tuple(0.5 * gamma(2, distrusted=(1,), epsilon=0.5)))
    rados = rados_for(terms, 5)
    return terms, rados, learn(terms, rados)


def shared(terms, rados, second_of):
    """The same rados for the short way: each peer's own moments, with the mean as right side."""
    moments = {}
    for name, own in rados.items():
        rows = own.floats()
        part = Moments(terms.features)
        part.count, part.weight = len(rows), float(len(rows))
        part.products = rows.sum(axis=0)[:, None] / terms.rados
        part._upper = second_of(rows) / terms.rados
        moments[name] = part
    return moments


def learnt_short(terms, moments):
    precision = Precision(tolerance=2.0**-13, masking=Masking(40))
    briefly = CentralTerms("short", terms.cast, terms.penalties, precision=precision)
    outcome = short.run(briefly, moments, key=KEY, entropy=SeededEntropy(4))
    return decrypt(KEY, outcome.results["alice"].theta).floats()


def test_the_short_way_on_the_same_moments_gives_the_same_model(study) -> None:
    terms, rados, outcome = study
    mean = np.concatenate([own.floats() for own in rados.values()]).mean(axis=0)
    moments = shared(terms, rados, lambda rows: (rows - mean).T @ (rows - mean))
    assert np.abs(learnt_short(terms, moments) - theta_of(outcome)).max() < 2e-3


def test_the_short_way_without_centring_gives_the_same_direction(study) -> None:
    """(C + bbᵀ + Γ)⁻¹b is (C + Γ)⁻¹b, divided by 1 + bᵀ(C + Γ)⁻¹b: no b need be broadcast."""
    terms, rados, outcome = study
    printed = theta_of(outcome)
    mean = np.concatenate([own.floats() for own in rados.values()]).mean(axis=0)
    uncentred = learnt_short(terms, shared(terms, rados, lambda rows: rows.T @ rows))
    assert np.abs(uncentred - printed / (1 + mean @ printed)).max() < 2e-3
    sides = [own.floats() @ theta > 0 for own in rados.values() for theta in (printed, uncentred)]
    assert all(np.array_equal(*pair) for pair in zip(sides[::2], sides[1::2], strict=True))


# What each party saw.


def test_the_key_holder_sees_noise_from_evaluator_and_peers(study) -> None:
    terms, rados, outcome = study
    view = outcome.views["cate"]
    askers = {item.sender for item in view.received if isinstance(item.message, MaskedColumnAndRow)}
    assert askers == set(terms.cast.peers)
    whole = terms.inversion.matrix_scale(terms.factor * terms.ceiling).plus(terms.penalty().scale)
    fixed = [whole.bits + terms.masking.kappa]
    assert_sees_noise(view, KEY, fixed=fixed)
    door = ForgetfulEntropy(1, bits=terms.centred_scale.bits + terms.masking.kappa, which=3)
    assert_sees_structure(learn(terms, rados, door=door).views["cate"], KEY, fixed=fixed)
    assert door.forgot


def test_attacks_find_nothing_in_any_view(study) -> None:
    _, _, outcome = study
    for name, view in outcome.views.items():
        seen = list(readable(view, key=KEY if name == "cate" else None))
        assert not attack_everything(seen, modulus=KEY.public.modulus).documents, name
    assert not outcome.views["cate"].of(MaskedParts)  # both sums go to the evaluator
    assert len(outcome.views["bob"].of(SealedSum)) == 1


# Bad input and bad manners, by name.


def test_one_peer_is_refused_and_two_must_be_asked_for_by_value() -> None:
    with pytest.raises(InputError, match="found 1: the sum of one is that peer's own value"):
        learn(terms_for(1), rados_for(terms_for(1)))
    with pytest.raises(InputError, match="expected at least 3 peers, found 2"):
        learn(terms_for(2), rados_for(terms_for(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TwoPeersWarning)
        terms = terms_for(2, fewest=2)
        rados = rados_for(terms)
        assert np.abs(theta_of(learn(terms, rados)) - ideal(terms, rados)).max() < 2e-3
    with pytest.warns(TwoPeersWarning, match="alice and bob"):
        terms.sums(KEY.public)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"penalties": (0.5, 0.0)},
            "expected a number above 0 for every feature, found 0",
        ),
        ({"each": 0}, "at least 1 rado a peer and a ceiling above 0, found 0 and"),
        ({"ceiling": -1.0}, "a ceiling above 0, found 3 and -1"),
    ],
)
def test_terms_that_cannot_work_are_refused(change, words) -> None:
    with pytest.raises(InputError, match=words):
        terms_for(**change)


def test_rados_that_do_not_belong_are_refused_before_anything_is_sent() -> None:
    terms = terms_for()
    with pytest.raises(BoundError, match=r"rados: .* found 9\.0 at index \(0, 0\)"):
        terms.written(np.full((3, 2), 9.0))
    with pytest.raises(MismatchError, match="rados: expected 3 of 2 features, found shape"):
        terms.written(np.zeros((3, 4)))
    rados = rados_for(terms)
    with pytest.raises(InputError, match="rados: expected those of"):
        learn(terms, {"alice": rados["alice"]})
    wide = Plain(np.zeros((3, 3), dtype=np.int64), SCALE)
    with pytest.raises(MismatchError, match=r"expected 3 of 2 features on"):
        learn(terms, rados | {"carol": wide})


def test_a_ceiling_below_the_covariance_is_caught() -> None:
    terms = terms_for(ceiling=0.4)
    rows = np.tile([[3.0, 3.0], [-3.0, -3.0], [0.0, 0.0]], (1, 1))
    rados = {name: terms.written(rows) for name in terms.cast.peers}
    with pytest.raises((BoundError, ViolationError), match=r"does not hold the spectrum|over its"):
        learn(terms, rados)


def test_a_missing_peer_ends_it_and_a_repeated_contribution_changes_nothing() -> None:
    terms = terms_for(each=1)
    rados = rados_for(terms)
    with pytest.raises(AbsenceError, match="too few peers are left for the blind sum 'sums'"):
        learn(terms, rados, meddler=Crashing({"bob": 1}))
    again = repeating(lambda packet: packet.sender == "bob" and is_kind(packet, MaskedParts))
    outcome = learn(terms, rados, meddler=again)
    assert again.done == 2
    assert np.abs(theta_of(outcome) - ideal(terms, rados)).max() < 2e-3


def test_a_sum_or_model_of_another_form_names_the_evaluator() -> None:
    terms = terms_for(each=1)
    rados, codec = rados_for(terms), codec_for(KEY)
    for kind, edit, words in (
        (SealedSum, lambda m: SealedSum(m.total.divided(1)), "eve: ciphertext: expected scale"),
        (SealedModel, lambda m: SealedModel(m.theta.divided(1)), "eve: ciphertext: expected scale"),
    ):
        wrong = rewriting(lambda packet, kind=kind: is_kind(packet, kind), kind, edit, codec)
        with pytest.raises(ViolationError, match=words):
            learn(terms, rados, meddler=wrong)
