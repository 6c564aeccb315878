"""Tables of entities whose features are spread over three peers, with rows in any order."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from harness.consent import ANYTHING
from sottovoce.datasets import load_ionosphere
from sottovoce.estimators import LocalFederation, SealedClassifier
from sottovoce.study import InsecureToyPlan

PEERS = ("alice", "bob", "carol")


class ToySealedClassifier(SealedClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan
    _keeps_views = True


def toy(**settings: Any) -> ToySealedClassifier:
    """A classifier with small keys and many queries."""
    return ToySealedClassifier(**({"key_bits": 768, "query_budget": 9000} | settings))


@dataclass(frozen=True)
class Entities:
    """One table of entities, and which columns of it are shared or at which peer."""

    table: pd.DataFrame
    labels: list[Any]
    categories: dict[str, tuple[Any, ...]]
    own: dict[str, list[str]]

    @property
    def shared(self) -> list[str]:
        return list(self.categories)

    @cached_property
    def names(self) -> list[str]:
        return [f"entity {number}" for number in range(len(self.table))]

    def rows(self, peer: str, numbers: Any = slice(None)) -> pd.DataFrame:
        """What a peer has of some entities, in the order of the table."""
        return self.table[[*self.shared, *self.own[peer]]].iloc[numbers]

    def part(self, peer: str, seed: int, *, named: bool = True) -> tuple[Any, ...]:
        """A peer's part, in an order of its own."""
        order = np.random.default_rng(seed).permutation(len(self.table))
        labels = [self.labels[name] for name in order]
        names = [self.names[place] for place in order]
        return (self.rows(peer, order), labels, names)[: 3 if named else 2]

    def federation(self, *, named: bool = True, **settings: Any) -> LocalFederation:
        parts = {peer: self.part(peer, seed, named=named) for seed, peer in enumerate(self.own)}
        return LocalFederation(
            parts,
            **({"partition": "features", "shared": self.shared, "policy": ANYTHING} | settings),
        )


@cache
def wards(count: int = 90, *, classes: int = 2, seed: int = 3) -> Entities:
    """Synthetic patients: ward and sex known everywhere, two measurements at each peer."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"ward": rng.choice(["eye", "heart", "lung"], count), "sex": rng.choice(["f", "m"], count)}
    )
    own = {peer: [f"{peer} {k}" for k in (1, 2)] for peer in PEERS}
    for names in own.values():
        for name in names:
            table[name] = rng.uniform(-1, 1, count).round(3)
    score = sum(table[names[0]] for names in own.values()) + (table["ward"] == "eye")
    cuts = np.quantile(score, [k / classes for k in range(1, classes)])
    labels = [f"class {k}" for k in np.digitize(score, cuts)]
    categories = {"ward": ("eye", "heart", "lung"), "sex": ("f", "m")}
    return Entities(table, labels, categories, own)


@cache
def ionosphere() -> Entities:
    """UCI Ionosphere: three coarse columns shared; the classic test rows have no label."""
    data = load_ionosphere()
    X = np.vstack([data.train.X, data.test.X])
    names = [f"a{number + 1:02d}" for number in range(X.shape[1])]
    table = pd.DataFrame(X, columns=names)
    for name in ("a03", "a05"):
        table[name] = np.digitize(table[name], [-0.3, 0.3])
    shared: dict[str, tuple[Any, ...]] = {"a01": (0, 1), "a03": (0, 1, 2), "a05": (0, 1, 2)}
    rest = np.array_split([name for name in names if name not in shared], len(PEERS))
    labels = [*map(int, data.train.y), *[None] * len(data.test.y)]
    own = {peer: list(mine) for peer, mine in zip(PEERS, rest, strict=True)}
    return Entities(table, labels, shared, own)


@cache
def fitted(name: str, **settings: Any) -> Any:
    """A classifier of one of these tables, without rows held out unless the settings say so."""
    entities = {"ionosphere": ionosphere, "wards": wards}[name]()
    chosen = {"categories": entities.categories, "held_out": 0.0} | settings
    return toy(**chosen).fit(entities.federation())
