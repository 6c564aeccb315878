"""What stands for the features of others in a query: the paper's rado as printed, and the rest.

UCI Ionosphere with its columns at three peers, who learnt one θ (ridge on all columns, so that
nothing but the stand-in differs). Errors are those of plaintext on all test rows; the first rows
of each asker are asked by the printed protocol on ciphertexts, too, and must get the same label.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.datasets import load_ionosphere
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, SecretKey
from sottovoce.paper.local_classify import LocalQuery, LocalTerms, run

Floats = NDArray[np.float64]

PEERS = ("alice", "bob", "carol")
PENALTY = 1.0
_ROW = Scale(6, 64)
_THETA = Scale(16, 2**18)


@dataclass(frozen=True)
class StandIn:
    """A vector in place of what the asker does not hold, or the true features."""

    name: str
    vector: Callable[[Floats, Floats, np.random.Generator], Floats | None]
    """From training rows, labels and a source of signatures; None takes the true features."""
    printed: bool = False


def _rado(rows: Floats, labels: Floats, rng: np.random.Generator) -> tuple[Floats, int]:
    agree = rng.choice([-1.0, 1.0], len(labels)) == labels
    return (labels[agree, None] * rows[agree]).sum(axis=0), int(agree.sum())


def _divided(rows: Floats, labels: Floats, rng: np.random.Generator) -> Floats:
    total, count = _rado(rows, labels, rng)
    return total / max(count, 1)


STAND_INS = (
    StandIn("their true features (full)", lambda *_: None),
    StandIn("a common rado, as printed", lambda *given: _rado(*given)[0], printed=True),
    StandIn("a common rado, divided by its documents", _divided, printed=True),
    StandIn("the mean edge vector (normalised)", lambda x, y, _: (y @ x) / len(y)),
    StandIn("nothing (zero)", lambda x, *_: np.zeros(x.shape[1])),
)


@dataclass(frozen=True)
class OwnColumns:
    """The rounded rows of both sides, θ of all columns, and who holds which of them."""

    train: Floats
    signs: Floats
    test: Floats
    truth: Floats
    theta: Floats
    held: Mapping[str, tuple[int, ...]]

    @classmethod
    def load(cls) -> Self:
        """Ionosphere, its columns dealt to the peers in their order."""
        data = load_ionosphere()
        train, test = (np.rint(64 * part.X) / 64 for part in (data.train, data.test))
        signs, truth = (part.y.astype(np.float64) for part in (data.train, data.test))
        width = train.shape[1]
        theta = np.linalg.solve(train.T @ train + PENALTY * np.eye(width), train.T @ signs)
        places = np.array_split(np.arange(width), len(PEERS))
        held = {peer: tuple(map(int, part)) for peer, part in zip(PEERS, places, strict=True)}
        return cls(train, signs, test, truth, np.rint(np.ldexp(theta, 16)) / 2**16, held)

    def labels(self, peer: str, vector: Floats | None) -> Floats:
        """The label of every test row, as this peer would find it with that stand-in."""
        rows = self.test.copy()
        if vector is not None:
            rows[:] = vector
            rows[:, self.held[peer]] = self.test[:, self.held[peer]]
        return np.where(rows @ self.theta > 0, 1.0, -1.0)

    def drawn(self, stand_in: StandIn, seed: int) -> Floats | None:
        """What stands in, on the grid of rows."""
        vector = stand_in.vector(self.train, self.signs, np.random.default_rng(seed))
        return None if vector is None else np.rint(64 * vector) / 64


def measure(key: SecretKey, *, seeds: int, sealed: int) -> Iterator[dict[str, object]]:
    """A row for every stand-in: the error of each asker, and how many labels came sealed."""
    columns = OwnColumns.load()
    for stand_in in STAND_INS:
        vectors = [columns.drawn(stand_in, seed) for seed in range(seeds)]
        row: dict[str, object] = {"in place of others' features": stand_in.name}
        for peer in PEERS:
            predicted = [columns.labels(peer, vector) for vector in vectors]
            wrong = np.mean([labels != columns.truth for labels in predicted])
            row[f"error, {peer} asks"] = f"{wrong:.3f}"
        shares = [_commonest(columns.labels(peer, vectors[0])) for peer in PEERS]
        row["rows of one label"] = ", ".join(f"{share:.0%}" for share in shares)
        row["sealed as plain"] = "—"
        if stand_in.printed and vectors[0] is not None:
            same = sum(_same(columns, peer, vectors[0], sealed, key) for peer in PEERS)
            row["sealed as plain"] = f"{same} of {sealed * len(PEERS)}"
        yield row


def _commonest(labels: Floats) -> float:
    """The share of rows that have the more frequent label: all, where the row plays no part."""
    positive = float(np.mean(labels > 0))
    return max(positive, 1 - positive)


def _same(columns: OwnColumns, peer: str, rado: Floats, count: int, key: SecretKey) -> int:
    """How many of the first rows get the same label from the protocol on ciphertexts."""
    terms = LocalTerms(columns.held, _ROW, Scale(6, 64 * len(columns.train)), _THETA)
    plain = columns.labels(peer, rado)[:count]
    written = Plain.of(rado, terms.rado_scale)
    theta = Plain.of(columns.theta, terms.theta_scale)
    same = 0
    for row, label in zip(columns.test[:count, columns.held[peer]], plain, strict=True):
        query = LocalQuery(peer, Plain.of(row, terms.row_scale), written)
        outcome = run(terms, query, theta, key=key, entropy=SystemEntropy())
        same += int(outcome.results[peer] == label)
    return same
