"""Hypothesis profiles, short by default and long in `make soak`; what is run first; one seed."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from harness.entropy import SeededEntropy

TESTS = Path(__file__).parent
# Whole commands and processes, which take up to a minute each: nobody should wait for them alone.
FIRST = ("test_readme_terminals.py", "test_demo.py", "e2e", "simulation")

settings.register_profile(
    "default", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")

# Thousands of tests are collected into objects that stay: looking for garbage among them, then and
# ever after, would take more than a quarter of the collection's time.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first, all others in their order."""
    items.sort(key=_turn)


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, among what tests make."""
    gc.freeze()
    gc.enable()


def _turn(item: pytest.Item) -> int:
    place = item.path.relative_to(TESTS).parts[0]
    return FIRST.index(place) if place in FIRST else len(FIRST)


@pytest.fixture(autouse=True, scope="session")
def _one_seed_for_estimators() -> Iterator[None]:
    """Near ties fall the same way in every run: an estimator's study draws from one seed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sottovoce.estimators.sealed_study.SystemEntropy", lambda: SeededEntropy(6))
        yield
