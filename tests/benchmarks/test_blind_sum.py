"""The benchmark of blind sums answers in the shape that scripts read."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic.blind_sum import book_bytes, measure
from benchmarks.commands import app
from sottovoce.errors import InputError


def test_it_prints_one_json_object() -> None:
    result = CliRunner().invoke(
        app,
        ["blind-sum", "--peers", "4", "--words", "5000", "--rounds", "1", "--json"],
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["peers"], answer["words"]) == (4, 5000)
    operations = [(row["operation"], row["partner"]) for row in answer["rows"]]
    assert operations == [
        ("one peer's masks", "numpy's PCG64"),
        ("a whole round", "plain addition"),
    ]
    for row in answer["rows"]:
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="bench blind-sum: expected at least 3 peers"):
        measure(peers=2, words=1, rounds=1)


@pytest.mark.soak
def test_the_size_of_the_books_is_that_of_a_real_round() -> None:
    from harness.entropy import SeededEntropy
    from sottovoce.protocols.blind_sum import Plan, Round, SummedVector, WordSpace, pairwise
    from sottovoce.protocols.blind_sum.messages import KeyBook, ShareBook
    from sottovoce.wire import Codec

    names = tuple(f"peer {index:04}" for index in range(40))
    parts = (SummedVector("coordinator", "x", WordSpace((1,))),)
    values = {name: (np.zeros(1, np.uint64),) for name in names}
    played = pairwise.run(Plan(Round("s", "r", names), parts), values, entropy=SeededEntropy(3))
    view = played.views["peer 0007"]
    books = [*view.of(KeyBook), *view.of(ShareBook)]
    real = sum(len(Codec().encode(book)) for book in books)
    assert 0.95 * real < book_bytes(40) < 1.1 * real
