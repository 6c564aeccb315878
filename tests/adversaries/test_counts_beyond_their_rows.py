"""A peer subtracts counts, so that the dictionary tells it whether the others have more."""

from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.errors import MismatchError
from sottovoce.paillier import generate_insecure_for_tests
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.stages import preparation
from sottovoce.text.dictionary.counts import CountLayout, Counts, Numbers

BUCKET_BITS, ALL_WORDS = 8, 2**8
MALLORY = "north"
HONEST = preparation._vector


def a_case(engine: str) -> Case:
    key = generate_insecure_for_tests(512, entropy=SeededEntropy(31))
    plan = InsecureToyPlan(
        "notes", BINARY, features=ALL_WORDS, key_bits=512, bucket_bits=BUCKET_BITS, engine=engine
    )
    seats = {} if engine == "shares" else {"with_dealer": False, "with_evaluator": False}
    return Case(notes(120), plan, key, seats)


def modular(layout: CountLayout, vector: Numbers, *, peers: int) -> np.ndarray:
    """Two numbers to a word, whatever they are."""
    del peers
    numbers = np.zeros(2 * layout.words, np.int64)
    numbers[: layout.length] = vector
    return (numbers[0::2].astype(np.uint64) & np.uint64(2**32 - 1)) + (
        numbers[1::2].astype(np.uint64) << np.uint64(32)
    )


class Mallory:
    """Subtracts a number from one count of one class, and sees what is published."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, subtracted: int, bucket: int = 0) -> None:
        self.others, self.subtracted, self.bucket = 0, subtracted, bucket
        self.honest = HONEST
        monkeypatch.setattr(preparation, "_vector", self.vector)
        monkeypatch.setattr(CountLayout, "paired", modular)

    def vector(self, study: Study, name: str, *what: Any, **more: Any) -> Numbers:
        counts = self.honest(study, name, *what, **more)
        place = 1 + len(study.plan.labels.names) + self.bucket
        if name == MALLORY:
            counts[place :: 1 << BUCKET_BITS] = 0
            counts[place] = -self.subtracted
        else:
            self.others += int(counts[place])
        return counts


@pytest.mark.parametrize("engine", ["shares", "quorum"])
def test_a_peer_that_subtracts_more_than_the_others_have_stops_the_study(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Mallory(monkeypatch, 10_000)
    with pytest.raises(MismatchError, match="in more rows than there are"):
        a_case(engine).run()


class Enough(Exception):  # noqa: N818 - it ends a study that has shown what it should
    """The dictionary is chosen."""


def test_without_the_comparison_the_dictionary_tells_a_count_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen, published = preparation._chosen, []

    def choose(study: Study, counts: Counts) -> None:
        dictionary = chosen(study, counts)
        published.append(dict(zip(dictionary.buckets, dictionary.idf_halves, strict=True)))
        raise Enough

    monkeypatch.setattr(Counts, "check_rows", lambda _: None)
    monkeypatch.setattr(preparation, "_chosen", choose)
    subtracted = 0
    for more in (0, -1, 2):
        mallory = Mallory(monkeypatch, subtracted + more)
        with pytest.raises(Enough):
            a_case("shares").run()
        subtracted = subtracted or mallory.others
    _, fewer, more_than_they_have = published
    # A count of some 2^32 has the least weight that there is.
    assert more_than_they_have[0] == 1 < fewer[0]
