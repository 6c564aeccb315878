"""The demo tells a true story."""

import json
import subprocess
import sys

import pytest

from sottovoce.demo import hospitals
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.roles import InsecureToyPlan


@pytest.fixture(autouse=True)
def _quick_keys(monkeypatch) -> None:
    start = TextClassifier.__init__

    def smaller(self, *given, **settings) -> None:
        start(self, *given, **settings | {"key_bits": 768})

    monkeypatch.setattr(TextClassifier, "_plan_type", InsecureToyPlan)
    monkeypatch.setattr(TextClassifier, "__init__", smaller)


def test_sealed_is_better_than_alone_and_as_good_as_pooled() -> None:
    result = hospitals.run(documents=600, features=96)
    assert all(share < result.joint for share in result.local.values())
    # The key is new in every run: a note or two may lie between two classes.
    assert abs(result.joint - result.pooled) <= 0.03
    assert result.agreement >= 0.96
    assert {one.party for one in result.seen} >= {"coordinator", "evaluator", "dealer"}
    assert result.exposed.startswith("100 of 100")
    figures = json.loads(json.dumps(result.as_json()))
    assert set(figures) >= {"accuracy", "seconds", "peers", "features", "engine"}
    assert set(figures["accuracy"]) == {"local", "joint", "pooled"}


def test_help_says_what_it_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "demo", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "synthetic notes" in done.stdout
