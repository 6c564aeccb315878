"""A selection rule is one object: registered once, a plan takes it and the card says it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import InputError
from sottovoce.node.site.shown_card import card_of
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.selection import (
    CHI_SQUARED,
    FREQUENCY,
    SELECTION_RULES,
    Selection,
    SelectionRule,
    chosen,
)


def rarest(counts: Counts, *, exclusive: bool) -> NDArray[np.float64]:
    assert exclusive
    return -counts.total.astype(np.float64)


TOY = SelectionRule("rarest", "stand in the fewest documents", rarest)


def counts() -> Counts:
    """Bucket 0 tells the classes apart, bucket 1 is in most rows, bucket 2 is rare."""
    by_class = np.array([[9, 8, 1, 0], [0, 9, 2, 0]], dtype=np.int64)
    peers = np.array([3, 3, 3, 0])
    return Counts(20, np.array([10, 10]), by_class.sum(0), by_class, peers)


@pytest.mark.parametrize(("rule", "best"), [(CHI_SQUARED, 0), (FREQUENCY, 1), (TOY, 2)], ids=str)
def test_a_rule_ranks_the_features(rule: SelectionRule, best: int) -> None:
    assert chosen(counts(), Selection(1, rule=rule)).buckets == (best,)


def test_a_registered_rule_is_known_to_study_toml_and_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SELECTION_RULES, TOY.name, TOY)
    text = example().replace('# select = "chi-squared"', 'select = "rarest" #')
    described = parse_study(text)
    assert described.plan.selection.rule is TOY
    assert dict(described.plan.settings())["select"] == "rarest"
    assert TOY.words in card_of(described, "Northfield Hospital").markdown()


def test_an_unknown_rule_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="expected one of chi-squared, frequency, found 'best'"):
        parse_study(example().replace('# select = "chi-squared"', 'select = "best" #'))
