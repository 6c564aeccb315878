"""Data and plaintext twins of partition `features`."""

from functools import cache
from typing import Any

from harness.entities import Entities, ionosphere, toy, wards
from sottovoce.estimators import LocalFederation


@cache
def data() -> Entities:
    return ionosphere()


@cache
def small() -> Entities:
    return wards()


@cache
def fitted(name: str, **settings: Any) -> Any:
    entities = {"ionosphere": data, "wards": small}[name]()
    defaults = {"categories": tuple(entities.categories.items()), "held_out": 0.0}
    chosen = defaults | settings
    chosen["categories"] = dict(chosen["categories"])
    return toy(**chosen).fit(entities.federation())


# Bad input by name


def fit(entities: Entities, federation: LocalFederation | None = None, **settings: Any) -> Any:
    chosen = {"categories": entities.categories, "held_out": 0.0, "remote": "zero"} | settings
    return toy(**chosen).fit(federation or entities.federation())
