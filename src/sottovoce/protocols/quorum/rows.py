"""Rows of one party in shares among the members, with numbers that belong to each row.

    owner of the rows                      member i
      │ RowSeed (t members) ──────────────────▶│
      │ RowShares (the others) ───────────────▶│   some rows at a time

Rows and the numbers beside them are shared with degree t. Who learns what: a member sees uniform
residues, and how many rows there are. Assuming that at most t members pool.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, Expansion
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.residues import FAST, Base, Planes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ONE_MEMBER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import read_planes
from sottovoce.protocols.quorum.sharing import shares_beside
from sottovoce.protocols.shares.material import Context

T = TypeVar("T")
# Rows that are shared in one message: some 20 MB at 2,048 features.
ROWS_SENT = 256


class RowSeed(Message, frozen=True):
    """The seed of one member's shares of somebody's rows."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: random bytes, and how many rows are asked for",
        assuming=THRESHOLD_HOLDS,
    )
    seed: bytes
    context: bytes


class RowShares(Message, frozen=True):
    """One member's shares of some of somebody's rows, and of what belongs to each of them."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_MEMBER,
        reveals="nothing: as many shares as the threshold are uniform, whatever the rows are",
        assuming=THRESHOLD_HOLDS,
    )
    context: bytes
    rows: wire.Residues
    beside: wire.Residues


@dataclass(frozen=True)
class RowShape:
    """The shape of rows: their number, their columns, and the numbers beside each row."""

    rows: int
    width: int
    beside: int

    def check(self, rows: NDArray[np.int64], beside: NDArray[np.int64]) -> None:
        """Refuse rows of another shape, and another shape of the numbers beside them."""
        if rows.shape != (self.rows, self.width):
            raise InputError(
                f"rows: expected {self.rows} rows of {self.width} columns, "
                f"found shape {rows.shape}",
                hints=("rows are made with the dictionary of the study",),
            )
        if beside.shape != (self.rows, self.beside):
            raise InputError(
                f"rows: expected numbers of shape {(self.rows, self.beside)} beside the rows, "
                f"found {beside.shape}"
            )


@dataclass(frozen=True)
class RowSharing:
    """One party's rows on their way to the members: their shape, fields and purpose."""

    shape: RowShape
    base: Base
    quorum: Quorum
    context: Context

    def drawn(self, seed: bytes, start: int) -> list[Planes]:
        """Draw a member's shares of the rows from `start` on, and of the values beside them."""
        count, encoded = min(ROWS_SENT, self.shape.rows - start), self.context.encode()
        return [
            self.base.draw(
                Expansion(seed, f"quorum/rows/{start}/{index}/v1", encoded), count, columns
            )
            for index, columns in enumerate((self.shape.width, self.shape.beside))
        ]

    def check(self, received: bytes, owner: str) -> None:
        """Refuse shares that were made for another query."""
        if received != self.context.encode():
            raise ViolationError("the rows were shared for another query", party=owner)


def share_rows(
    sharing: RowSharing,
    rows: NDArray[np.int64],
    beside: NDArray[np.int64],
    *,
    entropy: Entropy,
) -> Party[None]:
    """At the owner: send every member its shares of the rows."""
    sharing.shape.check(rows, beside)
    quorum, degree = sharing.quorum, sharing.quorum.threshold
    seeds = {member: entropy.seed() for member in quorum.seeded(degree)}
    for member, seed in seeds.items():
        yield Send(member, RowSeed(seed, sharing.context.encode()))
    for start in range(0, sharing.shape.rows, ROWS_SENT):
        drawn = [sharing.drawn(seed, start) for seed in seeds.values()]
        shared = [
            shares_beside(
                sharing.base.of(values[start : start + ROWS_SENT]),
                [parts[index] for parts in drawn],
                degree=degree,
                quorum=quorum,
            )
            for index, values in enumerate((rows, beside))
        ]
        for member in quorum.members[degree:]:
            residues = (wire.Residues.of(shares[member]) for shares in shared)
            yield Send(member, RowShares(sharing.context.encode(), *residues))


def take_rows(
    sharing: RowSharing, use: Callable[[Planes, Planes], T], *, owner: str, name: str
) -> Party[list[T]]:
    """At a member: return the results of `use` on its shares of rows and numbers, in parts."""
    seed = b""
    if name in sharing.quorum.seeded(sharing.quorum.threshold):
        message = yield from receive(owner, RowSeed)
        sharing.check(message.context, owner)
        if len(message.seed) != SEED_BYTES:
            raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=owner)
        seed = message.seed
    results = []
    for start in range(0, sharing.shape.rows, ROWS_SENT):
        if seed:
            parts = sharing.drawn(seed, start)
        else:
            parts = yield from _received(sharing, start, owner)
        results.append(use(*parts))
    return results


def take_scores(sharing: RowSharing, model: Planes, *, owner: str, name: str) -> Party[Planes]:
    """At a member: return its shares of degree 2t of every score, less the numbers beside it."""
    base = sharing.base

    def scores_of(rows: Planes, offsets: Planes) -> Planes:
        return base.subtract(FAST.matvec(rows, model[: base.count]), offsets)

    parts = yield from take_rows(sharing, scores_of, owner=owner, name=name)
    return np.concatenate(parts, axis=1)


def _received(sharing: RowSharing, start: int, owner: str) -> Party[list[Planes]]:
    message = yield from receive(owner, RowShares)
    sharing.check(message.context, owner)
    count = min(ROWS_SENT, sharing.shape.rows - start)
    return [
        read_planes(residues, (sharing.base.count, count, columns), sender=owner, what="RowShares")
        for residues, columns in (
            (message.rows, sharing.shape.width),
            (message.beside, sharing.shape.beside),
        )
    ]
