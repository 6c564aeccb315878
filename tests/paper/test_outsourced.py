"""One owner, one evaluator: θ as if learnt at home, and nothing but ciphertexts left it."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.examples.descents import plan_for as descent_plan
from harness.keys import toy_key
from harness.learners import text_parts
from harness.meddling import is_kind, rewriting
from harness.two_party import codec_for
from harness.views import readable
from sottovoce.attacks.everything import attack_everything
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Plain
from sottovoce.paper.encrypted_rados import Documents, SealedDocuments, plain_rados
from sottovoce.paper.outsourced import OutsourcingTerms, evaluator, owner, run
from sottovoce.paper.rado_solver import SolverPlan, ideal
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.rado_descent.plan import Bits, Ranges
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.protocols.runner import converse
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados.signatures import draw_signs
from sottovoce.wire import Codec

KEY = toy_key(bits=768)
SCALE = Scale(8, 2**8)
DOCUMENTS = 7


def documents(features=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(2**8), 2**8 + 1, (DOCUMENTS, features))
    labels = np.where(rows.sum(axis=1) + 200 * rng.normal(size=DOCUMENTS) > 0, 1, -1)
    return Documents(Plain(rows, SCALE), labels)


def solver_plan(rados=6, features=3):
    scale = Scale(8, 2**8 * DOCUMENTS)
    return SolverPlan(rados, (2.0,) * features, scale, rados * features * 49.0, masking=Masking(40))


def order_for(plan, **more):
    fields = {"owner": "alice", "evaluator": "eve", "documents": DOCUMENTS} | more
    return OutsourcingTerms(document_scale=SCALE, plan=plan, **fields)


def together(order, held, *, seed=7):
    """Both parties with doors of their own: the signatures can be drawn again."""
    programs = {
        "alice": owner(order, held, key=KEY, entropy=SeededEntropy(1)),
        "eve": evaluator(order, entropy=SeededEntropy(seed)),
    }
    outcome = converse(programs, codec=Codec(ciphertexts_under(KEY.public)))
    signs = draw_signs(order.plan.rados, order.documents, entropy=SeededEntropy(seed))
    return outcome, plain_rados(held, signs)


def test_the_closed_form_is_that_of_the_evaluators_rados() -> None:
    order = order_for(solver_plan())
    outcome, rados = together(order, documents())
    expected = ideal(Plain(rados.integers, order.plan.rado_scale), order.plan)
    assert np.abs(outcome.results["alice"] - expected).max() < 1e-3
    assert outcome.results["eve"] is None


def test_the_descent_is_that_of_the_evaluators_rados() -> None:
    plan = descent_plan(rados=6, steps=3, bits=Bits(rado=10))
    order = order_for(plan)
    assert order.shrink_bits == 2
    outcome, rados = together(order, documents(seed=3))
    twin = plain_descent(Plain(rados.integers, plan.rado_scale), plan).floats()
    assert np.abs(outcome.results["alice"] - twin).max() < 2.0**-14


def test_the_evaluator_receives_ciphertexts_alone_and_attacks_find_nothing() -> None:
    part = text_parts(1, words=33, documents=DOCUMENTS)["alice"]
    held = Documents(Plain.of(part.rows / 4, SCALE), part.labels.astype(np.int64))
    order = order_for(descent_plan(features=33, rados=20, steps=2, bits=Bits(rado=10)))
    outcome = run(order, held, key=KEY, entropy=SeededEntropy(2))
    view = outcome.views["eve"]
    numbers = [leaf for leaf in view.leaves() if not isinstance(leaf, Ciphertext)]
    assert numbers == []  # neither numbers nor bytes nor bits in the clear
    assert not attack_everything(list(readable(view)), modulus=KEY.public.modulus**2).documents
    leaked = attack_everything(list(readable(view, key=KEY)), modulus=KEY.public.modulus)
    assert leaked.documents  # the control: with the key, the upload is the documents themselves


def test_owner_and_evaluator_are_never_one_party() -> None:
    with pytest.raises(InputError, match="an evaluator that does not hold the key, found 'alice'"):
        order_for(solver_plan(), evaluator="alice")


def test_bounds_too_small_for_the_data_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(BoundError, match=r"outsourced: rados of 90 documents on .* do not fit"):
        order_for(solver_plan(), documents=90)
    with pytest.raises(BoundError, match="do not fit the plan's"):
        order_for(descent_plan(bits=Bits(rado=7)))
    with pytest.raises(BoundError, match="do not fit the plan's"):
        order_for(descent_plan(ranges=Ranges(0.5), bits=Bits(rado=8)))


def test_documents_of_another_shape_or_scale_are_refused() -> None:
    order = order_for(solver_plan())
    with pytest.raises(MismatchError, match="outsourced: expected documents"):
        run(order, documents(features=4), key=KEY, entropy=SeededEntropy(1))
    finer = Documents(Plain(documents().rows.integers, Scale(9, 2**8)), documents().labels)
    with pytest.raises(MismatchError, match="outsourced: expected documents"):
        run(order, finer, key=KEY, entropy=SeededEntropy(1))


def test_an_upload_of_another_form_names_the_owner() -> None:
    order = order_for(solver_plan())
    wrong = rewriting(
        lambda packet: is_kind(packet, SealedDocuments),
        SealedDocuments,
        lambda m: SealedDocuments(m.documents[:3], m.edges),
        codec_for(KEY),
    )
    with pytest.raises(ViolationError, match="alice: ciphertext: expected layout 7 × 3, found 3"):
        run(order, documents(), key=KEY, entropy=SeededEntropy(1), meddler=wrong)
