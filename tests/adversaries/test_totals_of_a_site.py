"""Totals are rounded at the sites: the coordinator never holds an exact one."""

import numpy as np
import pytest

from harness.studies import BINARY, Case, notes
from sottovoce.numbers.rounding import rounded_up
from sottovoce.paillier import SecretKey
from sottovoce.study import InsecureToyPlan
from sottovoce.study.stages import preparation
from sottovoce.study.stages.training import training_side
from sottovoce.text.dictionary.counts import Counts


def test_no_exact_total_reaches_the_coordinator(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = InsecureToyPlan("notes", BINARY, features=24, key_bits=768, bucket_bits=12)
    case = Case(notes(900), plan, toy_key)
    opened: list[Counts] = []
    chosen = preparation._chosen

    def keep(study: object, counts: Counts) -> object:
        opened.append(counts)
        return chosen(study, counts)  # type: ignore[arg-type]

    monkeypatch.setattr(preparation, "_chosen", keep)
    outcome = case.run()
    (counts,) = opened
    own = [
        training_side(outcome.parties[name], documents)
        for name, documents in case.documents.items()
    ]
    by_class = [
        [sum(document.label == name for document in documents) for name in BINARY.names]
        for documents in own
    ]
    assert counts.rows == sum(rounded_up(len(documents)) for documents in own)
    assert counts.rows != sum(map(len, own))
    rounded = [[rounded_up(row) for row in rows] for rows in by_class]
    assert counts.rows_by_class.tolist() == np.sum(rounded, axis=0).tolist()
    assert counts.rows_by_class.tolist() != np.sum(by_class, axis=0).tolist()
    # Each count is a sum of three numbers of 0, 3, 9, 27, …
    assert not (counts.by_class % 3).any()
