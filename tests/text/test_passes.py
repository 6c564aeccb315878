from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import current_thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import InputError
from sottovoce.rados import Moments
from sottovoce.text import chunks, passes
from sottovoce.text.chunks import Workers, _remotely, chunked, in_order, working_with
from sottovoce.text.columns import Categorical
from sottovoce.text.dictionary.counts import Suppression
from sottovoce.text.dictionary.dictionaries import GivenDictionary, HashedDictionary
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document, Fragment, Origin, PackedDocuments, Span
from sottovoce.text.features import FeatureReader, FeatureSpace
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.occurrences import PieceMemory
from sottovoce.text.passes import (
    CountPlan,
    count,
    examples,
    kept_columns,
    scored_rows,
    training_examples,
)
from sottovoce.text.reading import Level, NGrams, Reading
from sottovoce.text.splits import Side, Split, position
from sottovoce.text.tokenizing.tokens import Token

KEY = DictionaryKey(bytes(32))
LABELLING = Labelling(Labels(("a", "b")))
SPACE = FeatureSpace(HashedDictionary(64), Reading(ngrams=NGrams((1, 2))))


def made_up(number: int) -> list[Document]:
    words = [f"w{(7 * n * n) % 91}" for n in range(3 * number)]
    return [
        Document(" ".join(words[n : n + 9 + n % 5]), "ab"[n % 2], group=f"g{n % 40}")
        for n in range(number)
    ]


def moments(documents: list[Document]) -> Moments:
    sums = Moments(SPACE.width)
    for block in examples(documents, SPACE, LABELLING, key=KEY):
        sums.add(block.rows, block.targets)
    return sums


@pytest.fixture
def threads() -> Iterator[Workers]:
    with ThreadPoolExecutor(3) as pool:
        yield Workers(lambda: pool, ahead=4)


def test_any_number_of_workers_gives_the_same_bits(
    threads: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "HERE_CHUNKS", 2)
    monkeypatch.setattr(passes, "BLOCK_ROWS", 100)
    monkeypatch.setattr(passes, "chunked", partial(chunked, most=37))
    documents = made_up(400)
    plan = CountPlan(LABELLING, SPACE.reading, Suppression(2))
    keep = partial(kept_columns, documents, SPACE, fewest=20, key=KEY)
    moments_read, first, kept = moments(documents), count(documents, plan, key=KEY), keep()
    with working_with(threads):
        two, second = moments(documents), count(documents, plan, key=KEY)
        assert np.array_equal(kept, keep())
    assert moments_read.second.tobytes() == two.second.tobytes()
    assert moments_read.products.tobytes() == two.products.tobytes()
    assert np.array_equal(first.by_class, second.by_class)


class CommaTokenizer:
    """A tokenizer of a user's own: what stands between commas, as it is."""

    fingerprint = "between commas, v1"

    def pieces(self, text: str) -> list[str]:
        return text.split(",")

    def fold(self, piece: str) -> tuple[str, ...]:
        return (piece.strip(),)

    def locate(self, text: str) -> list[Token]:
        return [Token(0, len(text), (text,))]


def test_rows_to_score_are_the_same_whoever_reads_them(
    threads: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [*made_up(90), Document("")]
    whole = FeatureReader(SPACE, KEY).read(documents).integers()
    monkeypatch.setattr(passes, "ASKED_DOCUMENTS", 7)
    monkeypatch.setattr(chunks, "HERE_CHUNKS", 2)
    read = FeatureReader.read
    readers = set()

    def noted(self: FeatureReader, chunk: Any) -> Any:
        readers.add(current_thread())
        return read(self, chunk)

    monkeypatch.setattr(FeatureReader, "read", noted)
    for workers, here in ((None, True), (threads, False)):
        readers.clear()
        with working_with(workers):
            rows, wordless = scored_rows(documents, SPACE, key=KEY)
        assert (current_thread() in readers) is here
        assert (rows != whole).nnz == 0
        assert np.flatnonzero(wordless).tolist() == [90]
    rows, wordless = scored_rows([], SPACE, key=KEY)
    assert (rows.shape, len(wordless)) == ((0, SPACE.width), 0)


def test_a_tokenizer_of_one_s_own_can_be_plugged_in() -> None:
    reading = Reading(tokenizer=CommaTokenizer())
    space = FeatureSpace(GivenDictionary(("Chest Pain", "No Fever")), reading)
    documents = [Document("No Fever, Chest Pain,x", "a"), Document("chest pain", "b")]
    (block,) = examples(documents, space, LABELLING, key=KEY)
    assert (block.rows.toarray()[:, :2] > 0).tolist() == [[True, True], [False, False]]
    assert reading.fingerprint != Reading().fingerprint


def test_an_error_in_a_worker_arrives_with_its_hints(
    threads: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "HERE_CHUNKS", 1)
    documents = [Document("x", "a"), Document("x", "c", origin=Origin("n.csv", 2))]
    for workers in (None, threads):
        with (
            working_with(workers),
            pytest.raises(InputError, match=r"n\.csv row 2: .*one of 1 char") as caught,
        ):
            list(examples(documents, SPACE, LABELLING, key=KEY))
        assert caught.value.hints


def test_examples_come_in_order_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "BLOCK_ROWS", 10)
    monkeypatch.setattr(passes, "chunked", partial(chunked, most=4))
    documents = made_up(30)
    blocks = list(examples(documents, SPACE, LABELLING, key=KEY))
    assert [len(block.targets) for block in blocks] == [12, 12, 6]
    targets = np.concatenate([block.targets for block in blocks])[:, 0]
    assert targets.tolist() == [-1, 1] * 15


def test_levels_end_to_end_with_several_labels_a_row() -> None:
    text = "Severe pain. No cough here."
    spans = (Span("Pain", (Fragment(7, 11),)), Span("Cough", (Fragment(16, 21),)))
    document = Document(text, spans=spans)
    expected = {
        (Level.DOCUMENT, Scheme.TYPES): [[1, 1]],
        (Level.SENTENCE, Scheme.TYPES): [[1, -1], [-1, 1]],
        (Level.TOKEN, Scheme.INSIDE): [[-1], [1], [-1], [1], [-1]],
        (Level.TOKEN, Scheme.SINGLE): [
            [1, -1, -1],
            [-1, 1, -1],
            [1, -1, -1],
            [-1, -1, 1],
            [1, -1, -1],
        ],
    }
    for (level, scheme), targets in expected.items():
        labelling = Labelling.by_entity(scheme, ("Pain", "Cough"))
        space = FeatureSpace(HashedDictionary(32), Reading(level))
        (block,) = examples([document], space, labelling, key=KEY)
        assert block.targets.tolist() == targets
        assert block.rows.shape == (len(targets), 33)


def test_a_scheme_of_tokens_at_document_level_is_refused_before_anything_is_read() -> None:
    labelling = Labelling.by_entity(Scheme.BIO, ("Pain",))
    with pytest.raises(InputError, match="labelling bio: expected level token, found document"):
        examples(iter(()), SPACE, labelling, key=KEY)
    with pytest.raises(InputError, match="labelling bio: expected level token, found document"):
        CountPlan(labelling)


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5), st.integers(1, 20))
def test_chunks_hold_every_document_in_order(lengths: list[int], most: int, limit: int) -> None:
    documents = [Document("x" * length) for length in lengths]
    pieces = list(chunked(documents, most=most, characters=limit))
    assert [document for chunk in pieces for document in chunk] == documents
    for chunk in pieces:
        assert len(chunk) <= most
        assert sum(len(document.text) for document in chunk[:-1]) < limit


class Lengths:
    """A job for the tests: how long the texts of a chunk are."""

    name = "lengths"

    def travelling(self):
        return self

    def prepare(self):
        return lambda documents: [len(document.text) for document in documents]


def test_only_a_few_chunks_are_under_way_at_a_time(
    threads: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "HERE_CHUNKS", 1)
    taken = []

    def pieces():
        for number in range(100):
            taken.append(number)
            yield [Document("x" * number)]

    with working_with(threads):
        results = in_order(Lengths(), pieces())
        assert [next(results) for _ in range(3)] == [[0], [1], [2]]
        assert len(taken) <= 3 + threads.ahead
        results.close()


def test_a_worker_prepares_a_job_once_and_one_job_at_a_time() -> None:
    prepared = []

    class Counting(Lengths):
        def prepare(self):
            prepared.append(self.name)
            return super().prepare()

    other = Counting()
    other.name = "other"
    chunk = PackedDocuments.of([Document("abc")])
    assert [_remotely(job, chunk) for job in (Counting(), Counting(), other, Counting())] == [
        [3]
    ] * 4
    assert prepared == ["lengths", "other", "lengths"]


def test_no_workers_are_refused(threads: Workers) -> None:
    with pytest.raises(InputError, match="workers: expected at least 1"):
        Workers(threads.open, ahead=0)


def test_few_documents_are_read_here() -> None:
    def never() -> Any:
        raise AssertionError

    with working_with(Workers(never, ahead=1)):
        assert moments(made_up(50)).count == 50


def test_chunks_of_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="chunk: expected sizes of at least 1"):
        list(chunked([], most=0))


@given(st.lists(st.text(max_size=12), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_split_depends_on_what_a_document_says_alone(texts: list[str], rng) -> None:
    split = Split(0.5)
    sides = {text: split.side(Document(text)) for text in texts}
    rng.shuffle(texts)
    for text in texts:
        spread = f" {text}\n\n"
        assert split.side(Document(spread, "other label", origin=Origin("y", 3))) == sides[text]


@given(st.text(max_size=8), st.text(max_size=20), st.text(max_size=20))
def test_a_group_is_never_split(group: str, first: str, second: str) -> None:
    split = Split(0.5, "again")
    assert split.side(Document(first, group=group)) == split.side(Document(second, group=group))


def test_a_group_and_a_text_of_the_same_words_are_placed_independently() -> None:
    texts = [f"t{n}" for n in range(64)]
    same = [
        position(Document(text), purpose="p") == position(Document("", group=text), purpose="p")
        for text in texts
    ]
    assert not any(same)


def test_shares_are_as_asked_and_names_vary_them() -> None:
    documents = [Document(f"text {n}") for n in range(2000)]
    first, second = (
        [Split(0.2, name).side(document) is Side.VALIDATION for document in documents]
        for name in "ab"
    )
    assert 320 < sum(first) < 480
    assert first != second
    assert all(Split(1).side(document) is Side.VALIDATION for document in documents)
    assert all(Split(0).side(document) is Side.TRAIN for document in documents)


def test_the_split_never_moves() -> None:
    sides = "".join(Split(0.5).side(Document(f"text {n}"))[0] for n in range(16))
    assert sides == "vttvttvtvttttvtv"


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"split: expected a share from 0 to 1, found 1\.5"):
        Split(1.5)
    assert Split(0.2).fingerprint != Split(0.2, "x").fingerprint


def test_a_memory_from_counting_changes_no_row_and_is_read_from() -> None:
    """The second pass over the same documents folds no piece again."""
    documents = [Document(f"Some words, {n % 7} of them!", f"class {n % 2}") for n in range(40)]
    labelling = Labelling(Labels(("class 0", "class 1")))
    plan = CountPlan(labelling)
    memory = PieceMemory(plan.reading, KEY)
    counts = count(documents, plan, key=KEY, memory=memory)
    assert (counts.total == count(documents, plan, key=KEY).total).all()
    learnt = memory._characters
    space = FeatureSpace(HashedDictionary(32), plan.reading)
    result = list(examples(documents, space, labelling, key=KEY, memory=memory))
    plain = list(examples(documents, space, labelling, key=KEY))
    assert memory._characters == learnt > 0
    assert len(result) == len(plain) == 1
    assert (result[0].rows != plain[0].rows).nnz == 0


def test_a_column_of_too_few_documents_is_zero_in_the_rows_to_learn_from() -> None:
    """Documents count, not rows, and those of one group count once."""
    texts = ["fever fever. fever", "cough fever", "cough rash", "rash cough"]
    groups = ["anna", "bert", "anna", None]
    documents = [
        Document(text, "a", group=group) for text, group in zip(texts, groups, strict=True)
    ]
    space = FeatureSpace(GivenDictionary(("fever", "cough", "rash")))
    labelling = Labelling(Labels(("a", "b")))
    kept = kept_columns(documents, space, fewest=3, key=KEY)
    assert kept.tolist() == [False, True, False]
    (block,) = training_examples(documents, space, labelling, fewest=3, key=KEY)
    (whole,) = examples(documents, space, labelling, key=KEY)
    rows = block.rows.toarray()
    assert rows[:, [0, 2]].sum() == 0
    # What is left has unit length, as if the other words had not been written.
    assert np.allclose(rows[1:, 1], 1)
    assert rows[0].tolist() == [0, 0, 0, space.weighting.bias]
    assert (whole.rows.toarray()[:, 0] > 0).tolist() == [True, True, False, False]


def test_a_rare_value_of_a_further_column_is_left_out_too() -> None:
    sex = Categorical("ward", ("a", "b"))
    documents = [Document("x y", "a", columns={"ward": value}) for value in "aaab"]
    space = FeatureSpace(GivenDictionary(("x", "y")), columns=(sex,))
    assert kept_columns(documents, space, fewest=3, key=KEY).tolist() == [True, True, True, False]
    labelling = Labelling(Labels(("a", "b")))
    (block,) = training_examples(documents, space, labelling, fewest=3, key=KEY)
    assert block.rows.toarray()[:, 3].tolist() == [0, 0, 0, 0]
