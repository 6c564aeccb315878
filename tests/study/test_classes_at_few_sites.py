"""What sites may lack: a class that only one of them has, documents with a class, a tail."""

import pytest

from sottovoce import LocalFederation, TextClassifier
from sottovoce.errors import InputError
from sottovoce.study.automatic_features import AUTO, Circumstances, columns

TEXTS = [f"{word} pain number{n}" for n in range(20) for word in ("heart", "bone")]
LABELS = ["heart", "bone"] * 20
SKIN = [f"skin itch number{n}" for n in range(20)]


def federation(**parts: tuple[list[str], list[str | None]]) -> LocalFederation:
    both = dict.fromkeys(("north", "harbour", "valley"), (TEXTS, LABELS))
    return LocalFederation({**both, **parts})


def test_a_class_of_one_site_only_is_learnt_by_all() -> None:
    model = TextClassifier(24, query_budget=4000)
    model.fit(federation(north=(TEXTS + SKIN, LABELS + ["skin"] * 20)))
    assert model.classes_.tolist() == ["bone", "heart", "skin"]
    assert model.predict(["skin itch", "bone pain"], peer="valley").tolist() == ["skin", "bone"]


def test_a_site_whose_documents_have_no_class_is_named_with_a_hint() -> None:
    without = federation(valley=(TEXTS, [None] * 40))
    with pytest.raises(InputError, match="valley row 1: expected one label, found none") as caught:
        TextClassifier(24).fit(without)
    assert caught.value.hints == ("leave rows without a label out",)


def test_a_tail_of_0_is_none_and_the_rules_choose_the_rest() -> None:
    about = Circumstances(2, documents=5000)
    without, by_rule = columns({"tail": 0}, about), columns({"tail": AUTO}, about)
    assert (without.beside.tail, without.features) == (0, by_rule.features)
    assert by_rule.beside.tail > 0
    model = TextClassifier(tail=0, query_budget=4000).fit(federation())
    assert model.study_.study.plan.beside.tail == 0
    assert model.predict(["heart pain", "bone pain"]).tolist() == ["heart", "bone"]
