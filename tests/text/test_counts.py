from collections import defaultdict
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import InputError, MismatchError
from sottovoce.text.dictionary.counts import CountLayout, Counts, Distinct, Suppression, Tally
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.passes import CountPlan, count
from sottovoce.text.reading import Level, Reading

KEY = DictionaryKey(bytes(32))
LABELLING = Labelling(Labels(("a", "b")))
DOCUMENTS = st.lists(
    st.builds(
        Document,
        text=st.text(alphabet="uvwxyz ", min_size=1, max_size=10).map(lambda t: f"w {t}"),
        label=st.sampled_from("ab"),
        group=st.none() | st.sampled_from("123"),
    ),
    min_size=1,
    max_size=12,
)


def bucket(word: str, bits: int = 18) -> int:
    return KEY.words()(word) >> (64 - bits)


def counted(documents: list[Document], **suppression: int) -> Counts:
    return count(documents, CountPlan(LABELLING, suppression=Suppression(**suppression)), key=KEY)


def expected(
    documents: list[Document], *, min_documents: int, small_cells: int = 0
) -> dict[int, tuple[int, int]]:
    """By hand: rows per class of each bucket that enough groups have, in cells that do."""
    rows: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    groups: dict[tuple[int, str], set[object]] = defaultdict(set)
    for number, document in enumerate(documents):
        for place in {bucket(word) for word in document.text.split()}:
            rows[place]["ab".index(str(document.label))] += 1
            group = document.group if document.group is not None else number
            groups[place, ""].add(group)
            groups[place, str(document.label)].add(group)
    return {
        place: tuple(
            n if len(groups[place, label]) >= small_cells else 0
            for n, label in zip(cells, "ab", strict=True)
        )  # type: ignore[misc]
        for place, cells in rows.items()
        if len(groups[place, ""]) >= min_documents
    }


@given(DOCUMENTS, st.integers(1, 3), st.integers(0, 3))
def test_counts_are_per_class_rows_of_features_that_enough_documents_have(
    documents: list[Document], min_documents: int, small_cells: int
) -> None:
    counts = counted(documents, min_documents=min_documents, small_cells=small_cells)
    kept = expected(documents, min_documents=min_documents, small_cells=small_cells)
    nonzero = {place: cells for place, cells in kept.items() if any(cells)}
    assert set(np.flatnonzero(counts.total)) == set(nonzero)
    for place, cells in nonzero.items():
        assert tuple(counts.by_class[:, place]) == cells
        assert counts.total[place] == sum(cells)
        assert counts.peers[place] == 1
    assert counts.rows == len(documents) == counts.rows_by_class.sum()


@given(st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_sums_over_peers_are_the_pooled_counts_where_nothing_is_suppressed(
    peers: list[list[Document]],
) -> None:
    summed = reduce(add, (counted(peer, min_documents=1) for peer in peers))
    pooled = counted([document for peer in peers for document in peer], min_documents=1)
    assert (summed.by_class == pooled.by_class).all()
    assert (summed.total == pooled.total).all()
    assert summed.rows == pooled.rows
    assert summed.peers.max() <= len(peers)


def test_a_patient_s_many_documents_count_once_in_the_threshold() -> None:
    same = [Document("fever", "a", group="p1")] * 5
    assert counted(same, min_documents=2).total.sum() == 0
    more = [*same, Document("fever", "b", group="p2")]
    assert counted(more, min_documents=2).total[bucket("fever")] == 6


def test_rows_of_one_document_count_once_in_the_threshold() -> None:
    labelling = Labelling.by_entity(Scheme.INSIDE, ("X",))
    plan = CountPlan(labelling, Reading(Level.TOKEN), Suppression(min_documents=2))
    repeated = [Document("pain pain pain pain pain")]
    assert count(repeated, plan, key=KEY).total.sum() == 0
    both = count([*repeated, Document("pain")], plan, key=KEY)
    assert both.total[bucket("0=pain")] == 6


def test_a_zeroed_cell_cannot_be_had_from_the_total() -> None:
    documents = [Document("rare", "a")] + [Document("rare", "b")] * 5
    counts = counted(documents, min_documents=3, small_cells=2)
    assert counts.by_class[:, bucket("rare")].tolist() == [0, 5]
    assert counts.total[bucket("rare")] == 5


def test_overlapping_classes_count_a_row_in_each() -> None:
    labelling = Labelling(Labels(("a", "b"), exclusive=False))
    plan = CountPlan(labelling, suppression=Suppression(min_documents=1))
    counts = count([Document("x", ("a", "b")), Document("x", ())], plan, key=KEY)
    assert counts.by_class[:, bucket("x")].tolist() == [1, 1]
    assert counts.total[bucket("x")] == 2


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_distinct_groups_are_counted_exactly_up_to_the_most(
    pairs: list[tuple[int, int]], most: int, chunk: int
) -> None:
    sketch = Distinct(4, most)
    for start in range(0, len(pairs), chunk):
        part = pairs[start : start + chunk]
        cells = np.array([cell for cell, _ in part], np.int64)
        sketch.add(cells, np.array([group for _, group in part], np.uint64))
    for cell in range(4):
        alone = sum(1 for c, group in pairs if c == cell and group == 0)
        groups = len({group for c, group in pairs if c == cell and group != 0})
        for threshold in range(1, most + 1):
            assert sketch.reaches(threshold)[cell] == (alone + groups >= threshold)


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_vector_holds_what_the_choice_needs(exclusive: bool) -> None:  # noqa: FBT001
    labels = Labels(("a", "b"), exclusive=exclusive)
    plan = CountPlan(Labelling(labels), suppression=Suppression(min_documents=1), bits=8)
    first = count([Document("x y", "a"), Document("x", "b")], plan, key=KEY)
    second = count([Document("x z", "b")], plan, key=KEY)
    layout = CountLayout(2, 256, exclusive=exclusive)
    back = layout.counts(layout.vector(first) + layout.vector(second))
    both = first + second
    assert len(layout.vector(first)) == layout.length
    assert (back.by_class == both.by_class).all()
    assert (back.total == both.total).all()
    assert back.rows == 3
    assert back.rows_by_class.tolist() == both.rows_by_class.tolist()
    assert back.peers.max() == 1
    filtered = layout.counts(layout.vector(first) + layout.vector(second), peers=2)
    assert ((filtered.peers == 2) == (both.total > 0)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_two_numbers_share_a_word_and_sums_never_carry(classes: int) -> None:
    layout = CountLayout(classes, 8)
    most = (2**32 - 1) // 3
    vectors = [np.full(layout.length, most), np.arange(layout.length), np.full(layout.length, most)]
    words = [layout.paired(vector, peers=3) for vector in vectors]
    assert {len(each) for each in words} == {layout.words}
    assert (layout.parted(sum(words)) == sum(vectors)).all()
    with pytest.raises(InputError, match="fewer than 1,431,655,765 rows at each of 3 peers"):
        layout.paired(np.full(layout.length, most + 1), peers=3)


def test_vectors_and_counts_of_another_shape_are_refused() -> None:
    small = Tally(Labels(("a", "b")), Suppression(), bits=8).suppressed()
    large = Tally(Labels(("a", "b")), Suppression(), bits=9).suppressed()
    with pytest.raises(MismatchError, match="expected 2 classes of 256 buckets, found 2 of 512"):
        small + large
    with pytest.raises(MismatchError, match="expected 2 classes of 256 buckets, found 2 of 512"):
        CountLayout(2, 256).vector(large)
    with pytest.raises(MismatchError, match="expected 515 numbers"):
        CountLayout(2, 256).counts(np.zeros(3, np.int64))


def test_texts_without_a_single_word_are_refused() -> None:
    with pytest.raises(InputError, match="found 2 documents and not one word"):
        counted([Document("", "a"), Document(" … ", "b")])
    with pytest.raises(InputError, match="found 0 documents"):
        counted([])


def test_an_empty_document_among_others_is_a_row_without_features() -> None:
    counts = counted([Document("", "a"), Document("x", "b")], min_documents=1)
    assert counts.rows == 2
    assert counts.total.sum() == 1


@pytest.mark.parametrize(("least", "cells"), [(0, 0), (1, -1)])
def test_suppression_out_of_range_is_refused(least: int, cells: int) -> None:
    with pytest.raises(InputError, match="suppression: expected min_documents of at least 1"):
        Suppression(least, cells)


@pytest.mark.parametrize("bits", [7, 25])
def test_buckets_out_of_range_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match=rf"between 2\^8 and 2\^24, found 2\^{bits}"):
        Tally(Labels(("a", "b")), Suppression(), bits=bits)


def test_every_setting_changes_the_plan_s_fingerprint() -> None:
    plans = [
        CountPlan(LABELLING),
        CountPlan(LABELLING, suppression=Suppression(4)),
        CountPlan(LABELLING, bits=16),
        CountPlan(LABELLING, Reading(Level.SENTENCE)),
        CountPlan(Labelling(Labels(("a", "c")))),
    ]
    assert len({plan.fingerprint for plan in plans}) == len(plans)
