"""Sizes, counts and steps follow from public numbers; deviating tells what the budget counts."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import Case, notes
from sottovoce.datasets.notes import DIAGNOSES
from sottovoce.errors import InputError, MisuseError, SottovoceError, ViolationError
from sottovoce.numbers.rounding import rounded_up
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.runner import converse
from sottovoce.protocols.shares.holders import deal_seeds
from sottovoce.protocols.shares.labels.carries import DigitTests
from sottovoce.protocols.shares.labels.undealt import LabelShare, MaskedChoices
from sottovoce.rados import Moments
from sottovoce.study.queries.budget import QueryGrant, QueryRequest
from sottovoce.study.queries.classification import MaskedScores, answer, ask
from sottovoce.study.stages.centring import END_PARTS
from sottovoce.study.stages.contributions import end_parts
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Labels


def traffic_of(case: Case) -> tuple[Any, ...]:
    outcome = case.run()
    return outcome.traffic.messages, outcome.traffic.kinds, outcome.traffic.bytes


def test_other_words_with_the_same_public_numbers_give_the_same_traffic(binary: Case) -> None:
    """The documents of all peers with their words exchanged for others, one by one."""
    words = tuple(f"w{number}" for number in range(24))
    documents: dict[str, list[Document]] = {}
    turned: dict[str, list[Document]] = {}
    rng = np.random.default_rng(0)
    for name in ("north", "harbour", "valley"):
        for row in range(60):
            picked = rng.choice(24, 5, replace=False)
            label = "urgent" if row % 2 else "routine"
            documents.setdefault(name, []).append(
                Document(" ".join(words[i] for i in picked), label)
            )
            text = " ".join(words[(7 * i + 3) % 24] for i in picked)
            turned.setdefault(name, []).append(Document(text, label))
    plan = replace(binary.plan, dictionary="given", words=words, features=24, held_out=0.0)
    first, other = (traffic_of(Case(mine, plan, binary.key)) for mine in (documents, turned))
    assert first == other


def test_a_query_of_one_document_looks_like_one_of_a_whole_batch(binary: Case) -> None:
    batch = binary.outcome.trained.scores.batch
    sizes = []
    for count in (1, batch):
        before = binary.outcome.traffic.total_bytes
        binary.outcome.classify("valley", binary.documents["valley"][:count])
        sizes.append(binary.outcome.traffic.total_bytes - before)
    assert sizes[0] == sizes[1]


def test_an_unpadded_query_is_refused(binary: Case) -> None:
    outcome = binary.outcome
    model, trained = outcome.models["north"], outcome.trained
    wide = replace(trained, scores=replace(trained.scores, room=trained.scores.room // 2))
    rows = FeatureReader(model.space, model.key).read(binary.documents["north"][:1]).integers()
    assert wide.scores.batch != trained.scores.batch
    programs = {
        "north": ask(outcome.parties["north"], replace(model, scores=wide.scores), rows, number=90),
        "coordinator": answer(
            outcome.parties["coordinator"], trained, outcome.queries, asker="north"
        ),
    }
    with pytest.raises(ViolationError, match="north: expected a query padded to"):
        converse(programs, codec=binary.study.codec(binary.key.public))


@pytest.mark.parametrize(
    ("number", "published"), [(0, 0), (7, 7), (99, 99), (100, 100), (101, 110), (12_345, 13_000)]
)
def test_totals_are_rounded_up_to_two_digits(number: int, published: int) -> None:
    assert rounded_up(number) == published


@pytest.mark.parametrize("scale", [0.01, 1.0, 12.345, 6789.0])
def test_the_upper_end_of_a_peers_spectrum_leaves_it_rounded_up(scale: float) -> None:
    """Coordinator and evaluator open the sum of these numbers as it is."""
    moments = Moments(3, 1)
    rows = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]]) * np.sqrt(scale)
    moments.add(rows, np.array([[1.0], [-1.0]]))
    parts = end_parts(moments, fraction_bits=20)
    true = float(np.linalg.eigvalsh(moments.second)[-1]) * END_PARTS
    assert rounded_up(parts) == parts
    assert true <= parts <= 1.11 * true + 2


def test_evaluation_opens_nothing_over_few_documents_or_few_peers(binary: Case) -> None:
    few = {name: mine[:25] for name, mine in binary.documents.items()}
    with pytest.raises(InputError, match="at least 20 held-out documents over all peers"):
        binary.run().evaluate(few)
    case = Case(dict(list(notes(400).items())[:2]), replace(binary.plan, min_peers=2), binary.key)
    with pytest.warns(UserWarning, match="two peers"):
        outcome = case.run()
    with pytest.raises(MisuseError, match="needs at least 3 peers, and 2 are left"):
        outcome.evaluate(case.documents)


def test_seeds_of_one_context_are_dealt_once(binary: Case) -> None:
    study, party = binary.study, binary.outcome.parties["dealer"]
    context = study.context(binary.outcome.trained.peers, round=1, attempt=1)
    with pytest.raises(MisuseError, match=r"'dealt seeds' of .* was used already"):
        next(deal_seeds(study.trio, context, ledger=party.ledger, entropy=party.entropy))


# What a peer that deviates could learn from a query is what its budget counts.

_ASKED = itertools.count()


def curious(case: Case, *sent: Any) -> Any:
    """A peer that has one batch granted, and sends the coordinator something else."""
    outcome, book = case.outcome, case.outcome.queries
    asked = 1000 + next(_ASKED)

    def thief() -> Party[Any]:
        batch = outcome.models["north"].scores.batch
        yield Send("coordinator", QueryRequest(asked, batch, evaluation=False))
        yield from receive("coordinator", QueryGrant)
        for message in sent:
            yield Send("coordinator", message)
        return (yield from receive("coordinator", LabelShare))

    programs = {
        "coordinator": answer(outcome.parties["coordinator"], outcome.trained, book, asker="north"),
        "north": thief(),
    }
    left = book.left("north")
    try:
        return outcome.converse(programs, "query", "north", str(asked)).results["north"]
    except SottovoceError:
        # Nothing was told, so nothing is counted.
        assert book.left("north") == left
        raise


@pytest.fixture(scope="module")
def undealt(binary: Case) -> Case:
    labels = Labels(DIAGNOSES[:3])
    documents = {
        name: [document for document in mine if document.label in labels.names]
        for name, mine in notes(500, label="diagnosis").items()
    }
    plan = replace(
        binary.plan,
        labels=labels,
        min_documents=1,
        verdict="dgk",
        features=16,
        labels_on="paillier",
    )
    return Case(documents, plan, binary.key)


def test_without_a_dealer_the_coordinator_opens_nothing_out_of_turn_or_size(undealt: Case) -> None:
    """Encrypted weights in the place of scores, or of anything else, are not opened."""
    weights = undealt.outcome.models["north"].weights.for_key_holder(entropy=SeededEntropy(1))
    for message in (MaskedScores(weights), MaskedChoices(weights), DigitTests(weights)):
        with pytest.raises(ViolationError, match=r"expected (layout|MaskedScores)") as error:
            curious(undealt, message)
        assert error.value.party == "north"


def test_labels_that_overlap_are_compared_without_a_dealer(undealt: Case) -> None:
    """Every class of a document is a number of its own: the key holder counts them all."""
    labels = Labels(DIAGNOSES[:3], exclusive=False)
    case = undealt.changed(labels=labels)
    test = case.held_out()[:70]
    assert case.outcome.classify("north", test).classes == case.plain(test)
