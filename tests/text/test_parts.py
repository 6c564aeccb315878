"""Sums over parts of a site's documents: the same bytes, however they are grouped and by whom."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import BoundError, InputError
from sottovoce.rados.moment_words import MomentWords
from sottovoce.rados.moments import Moments
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.dictionary.counts import Distinct
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments, PartTask, inputs_digest, mapped
from sottovoce.text.passes import CountPlan, count
from sottovoce.text.splits import Side, Split

KEY = DictionaryKey(bytes(32))
PLAN = CountPlan(Labelling(Labels(("a", "b"))), bits=10)


@dataclass(frozen=True)
class Numbered:
    """The documents of some numbers."""

    numbers: range
    grouped: bool = False

    def documents(self) -> Iterator[Document]:
        for number in self.numbers:
            group = f"g{number % 5}" if self.grouped else None
            yield Document(f"w{number % 7} w{number % 11} w{number}", "ab"[number % 2], group)


@dataclass(frozen=True)
class Broken:
    """A part whose library quotes the text that it read."""

    error: Exception

    def documents(self) -> Iterator[Document]:
        raise self.error
        yield


def parted(step: int, *, grouped: bool = False) -> PartedDocuments:
    parts = [Numbered(range(at, min(at + step, 300)), grouped) for at in range(0, 300, step)]
    return PartedDocuments(PartTask(tuple(parts)))


@pytest.mark.parametrize("grouped", [False, True])
def test_counts_of_parts_are_those_of_the_list_in_any_grouping(*, grouped: bool) -> None:
    documents = list(Numbered(range(300), grouped).documents())
    expected = count(documents, PLAN, key=KEY)
    for step in (1, 7, 300):
        counts = count(parted(step, grouped=grouped), PLAN, key=KEY)
        assert counts.by_class.tobytes() == expected.by_class.tobytes()
        assert counts.rows == expected.rows


def test_the_digest_of_inputs_is_the_same_by_any_workers_and_another_for_other_documents() -> None:
    documents = parted(10)
    alone = inputs_digest(documents)
    with ThreadPoolExecutor(3) as pool, working_with(Workers(lambda: pool, ahead=3)):
        assert inputs_digest(documents) == alone
    fewer = PartedDocuments(PartTask(documents.task.parts[:-1]))
    changed = PartedDocuments(PartTask((*fewer.task.parts, Numbered(range(290, 299)))))
    training = Split(0.3).part(documents, Side.TRAIN)
    assert len({alone, *map(inputs_digest, (fewer, changed, training))}) == 4


def test_workers_are_told_of_and_rules_travel() -> None:
    progress: list[tuple[int, int]] = []
    documents, split = parted(10), Split(0.3)
    expected = list(split.part(list(Numbered(range(300)).documents()), Side.TRAIN))
    with ThreadPoolExecutor(3) as pool:
        workers = Workers(lambda: pool, ahead=3, progress=lambda *far: progress.append(far))
        with working_with(workers):
            training = split.part(documents, Side.TRAIN)
            assert len(training) == len(expected)
    assert list(training) == expected
    assert progress[-1] == (len(progress), len(progress))
    assert len(progress) > 3


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=40), st.integers(1, 4))
def test_distinct_groups_of_parts_are_those_of_all(seen: list[tuple[int, int]], most: int) -> None:
    def of(pairs: list[tuple[int, int]]) -> Distinct:
        result = Distinct(4, most)
        cells = np.array([cell for cell, _ in pairs], np.int64)
        result.add(cells, np.array([group for _, group in pairs], np.uint64))
        return result

    whole, first = of(seen), of(seen[: len(seen) // 2])
    first.merge(of(seen[len(seen) // 2 :]))
    for threshold in range(1, most + 1):
        assert np.array_equal(first.reaches(threshold), whole.reaches(threshold))


def test_moments_in_words_add_up_to_the_same_bits_in_every_order() -> None:
    generator = np.random.default_rng(5)
    parts = []
    for _ in range(4):
        rows = generator.normal(size=(9, 5)) / 4
        parts.append(Moments.of(rows, np.sign(generator.normal(size=(9, 2)))))
    sums = set()
    for order in permutations(parts):
        words = MomentWords(5, 2, weight=36, row_norm=2)
        other = MomentWords(5, 2, weight=36, row_norm=2)
        for moments in order[:2]:
            words.add(moments)
        for moments in order[2:]:
            other.add(moments)
        words.merge(other)
        result = words.moments()
        sums.add(np.triu(result.upper).tobytes() + result.products.tobytes())
    assert len(sums) == 1
    exact = parts[0] + parts[1] + parts[2] + parts[3]
    assert np.allclose(np.triu(result.upper), np.triu(exact.upper), atol=1e-12, rtol=0)
    assert result.count == 36
    assert result.weight == 36


def test_moments_that_could_have_run_over_are_refused() -> None:
    words, other = (MomentWords(1, 1, weight=8, row_norm=1) for _ in range(2))
    for sums in (words, other):
        sums.add(Moments.of(np.ones((5, 1)), np.ones(5)))
    with pytest.raises(BoundError, match="at most 8, found 10"):
        words.merge(other)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (KeyError("the patient has secretitis"), "failed with KeyError"),
    ],
)
def test_what_a_worker_raises_quotes_no_text(error: Exception, said: str) -> None:
    broken = PartedDocuments(PartTask((Broken(error), Broken(error))))
    with pytest.raises(InputError, match=said) as raised:
        count(broken, PLAN, key=KEY)
    assert "secretitis" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_items_are_mapped_in_order_by_whoever_works() -> None:
    def double(number: Any) -> int:
        return int(number) * 2

    assert list(mapped(double, range(5))) == [0, 2, 4, 6, 8]
    with ThreadPoolExecutor(2) as pool, working_with(Workers(lambda: pool, ahead=2)):
        assert list(mapped(double, range(5))) == [0, 2, 4, 6, 8]
