"""The arrangement of a study: which peer holds which data, and who computes for whom.

Most studies have peers with documents of their own (partition `documents`). Peers may also
hold different features of the same entities (partition `features`), let an intermediary build
their contributions, or ask for the weights of their own features alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any, TypeVar

from sottovoce.errors import InputError, SettingFault
from sottovoce.hints import Hint, PlanSetting
from sottovoce.text.columns import Categorical, Column
from sottovoce.text.labels import Labels

# Each block is a row of the joined table in every message of a contribution.
MOST_BLOCKS = 4096


class Partition(StrEnum):
    """The partition of the data: each peer has its own `documents`, or its own `features`."""

    DOCUMENTS = "documents"
    FEATURES = "features"


class Remote(StrEnum):
    """What stands for the features of other peers in a query of partition `features`.

    `full`: the other peers add their part, and learn which entity is asked about. `zero`: nothing.
    `normalised`: the mean edge vector of the other peers, which is the paper's common extra rado
    divided by the number of its documents. The latter two reveal nothing.
    """

    FULL = "full"
    ZERO = "zero"
    NORMALISED = "normalised"


class Weights(StrEnum):
    """The weights that a peer receives: the `whole` model, or those of the features that it lists.

    The paper's f_p is that list: it tells the coordinator which words a peer's documents have.
    """

    WHOLE = "whole"
    LISTED = "reveal_feature_lists_to_coordinator"


E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True)
class Holding:
    """The columns that one peer alone holds."""

    peer: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Arrangement:
    """The holders of columns, what stands for others' columns, and the weights sent to a peer.

    Every peer has the `shared` columns. Their values, which the plan lists, combined with the
    classes give the blocks. `answering` are the peers that add a remote part, by default all
    others.
    """

    partition: Partition = Partition.DOCUMENTS
    shared: tuple[str, ...] = ()
    own: tuple[Holding, ...] = ()
    remote: Remote = Remote.NORMALISED
    answering: tuple[str, ...] = ()
    weights: Weights = Weights.WHOLE

    def __post_init__(self) -> None:
        for name, kind in (("partition", Partition), ("remote", Remote), ("weights", Weights)):
            object.__setattr__(self, name, one_of(kind, getattr(self, name), name))

    @property
    def by_features(self) -> bool:
        """Whether peers hold different features of the same entities."""
        return self.partition is Partition.FEATURES

    @property
    def brings_rados(self) -> bool:
        """Whether peers exchange mean edge vectors, encrypted, at the end of the training."""
        return self.by_features and self.remote is Remote.NORMALISED

    @property
    def asks_holders(self) -> bool:
        """Whether other peers look up the entities of a query."""
        return self.by_features and self.remote is Remote.FULL

    @property
    def answerers(self) -> tuple[str, ...]:
        """The peers that look up entities for others, in the plan's order."""
        peers = tuple(holding.peer for holding in self.own) if self.asks_holders else ()
        return tuple(peer for peer in peers if not self.answering or peer in self.answering)

    @property
    def first(self) -> str:
        """The peer that adds what all peers have in common: shared features, intercept, counts."""
        return self.own[0].peer

    def answering_to(self, asker: str) -> tuple[str, ...]:
        """Return the peers that add a remote part for this asker, in the plan's order."""
        peers = tuple(holding.peer for holding in self.own)
        chosen = self.answering or peers
        return tuple(peer for peer in peers if peer in chosen and peer != asker)

    def columns_of(self, peer: str) -> tuple[str, ...]:
        """Return the columns of a peer: the shared ones, and its own."""
        own = next((holding.columns for holding in self.own if holding.peer == peer), ())
        return (*self.shared, *own)

    def faults(self, columns: Sequence[Column], labels: Labels) -> Iterator[SettingFault]:
        """Yield the faults of the arrangement."""
        if not self.by_features:
            stray = bool(self.shared or self.own or self.answering)
            found_partition = f"found {self.partition}"
            yield SettingFault(
                stray,
                "partition",
                f"shared columns, holdings and answers need partition features, {found_partition}",
                'partition="features"',
            )
            return
        yield from self._column_faults(columns)
        peers = {holding.peer for holding in self.own}
        stranger = next((peer for peer in self.answering if peer not in peers), None)
        known = ", ".join(sorted(peers))
        yield SettingFault(
            stranger is not None,
            "answering",
            f"expected answering peers among {known}, found {stranger!r}",
        )
        yield SettingFault(
            self.remote is not Remote.ZERO and len(self.own) == 2,
            "remote",
            f"a remote part hides in the sum of several: expected three peers or more with remote "
            f"{self.remote}, found two, of which one alone would answer",
            PlanSetting("remote", "zero"),
        )
        yield SettingFault(
            not labels.exclusive,
            "partition",
            "partition features needs exclusive labels",
        )
        yield SettingFault(
            self.remote is Remote.NORMALISED and labels.width > 1,
            "remote",
            f"a normalised remote part is for two classes, found {len(labels.names)}",
            Hint(PlanSetting("remote", "zero"), " or ", PlanSetting("remote", "full")),
        )

    def _column_faults(self, columns: Sequence[Column]) -> Iterator[SettingFault]:
        by_name = {column.name: column for column in columns}
        held = Counter([*self.shared, *(name for holding in self.own for name in holding.columns)])
        twice = next((name for name, count in held.items() if count > 1), None)
        yield SettingFault(
            twice is not None,
            "shared",
            f"expected every column at one peer or shared by all, found {twice!r} at several",
            Hint("share it: ", PlanSetting("shared", (twice,))),
        )
        empty = next((holding.peer for holding in self.own if not holding.columns), None)
        yield SettingFault(empty is not None, "own", f"{empty!r} has no column of its own")
        lost = next((name for name in by_name if name not in held), None)
        yield SettingFault(
            lost is not None,
            "columns",
            f"nobody holds column {lost!r}",
            "add it to its peer's own columns, or leave it out",
        )
        stranger = next((name for name in held if name not in by_name), None)
        yield SettingFault(
            stranger is not None, "shared", f"expected a column of the plan, found {stranger!r}"
        )
        open_ended = next(
            (
                name
                for name in self.shared
                if name in by_name and not isinstance(by_name[name], Categorical)
            ),
            None,
        )
        yield SettingFault(
            open_ended is not None,
            "shared",
            f"the shared column {open_ended!r} has no public list of values",
            f"list the values of {open_ended!r}, or let one peer hold it",
        )

    def shared_columns(self, columns: Sequence[Column]) -> tuple[Categorical, ...]:
        """The shared columns of the plan, in the plan's order."""
        return tuple(
            column
            for column in columns
            if column.name in self.shared and isinstance(column, Categorical)
        )

    def blocks(self, columns: Sequence[Column], labels: Labels) -> int:
        """Return the number of blocks: each combination of shared values with each class."""
        values = [column.width for column in self.shared_columns(columns)]
        count = prod(values) * len(labels.names)
        if count > MOST_BLOCKS:
            raise InputError(
                f"expected at most {MOST_BLOCKS} blocks, found {count}: "
                f"{' × '.join(map(str, values))} shared values with {len(labels.names)} classes",
                hints=("share fewer or coarser features",),
                place="plan",
                setting="shared",
            )
        return count


def one_of(kind: type[E], value: Any, name: str) -> E:
    """Return the choice of this name; raise an error that lists all choices if there is none."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InputError(
            f"expected {name} to be one of {known}, found {value!r}", place="plan", setting=name
        ) from None
