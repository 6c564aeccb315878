"""One peer's part of a joint row: its columns, their positions, and its block.

In partition `features` a row of the joint table has coordinates for all peers' columns. A peer
reads the columns that it holds. Shared columns, intercept and counts are the same at every peer;
only the plan's first peer adds them, so that they count once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError
from sottovoce.rados.blocks import EnumeratedBlocks
from sottovoce.rados.moments import Moments
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.text.columns import Categorical
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.features import NORM_PARTS, FeatureReader, FeatureRows, FeatureSpace
from sottovoce.text.labels import label_name, unknown_label
from sottovoce.text.passes import training_examples

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class HeldSpace:
    """The part of a feature space that a peer holds, and the position of each of its columns."""

    space: FeatureSpace
    positions: Numbers = field(repr=False)
    own: NDArray[np.bool_] = field(repr=False)
    width: int

    @classmethod
    def of(cls, study: Study, space: FeatureSpace, peer: str) -> Self:
        """Return the part of the joint `space` that `peer` holds."""
        held = study.plan.arrangement.columns_of(peer)
        shared = study.plan.arrangement.shared
        size = space.dictionary.size
        positions, own = list(range(size)), [False] * size
        start = size
        for column in space.columns:
            if column.name in held:
                positions += range(start, start + column.width)
                own += [column.name not in shared] * column.width
            start += column.width
        columns = tuple(column for column in space.columns if column.name in held)
        mine = FeatureSpace(space.dictionary, space.reading, space.weighting, columns)
        return cls(mine, np.array([*positions, start]), np.array([*own, False]), space.width)

    def lifted(self, rows: Any, *, common: bool) -> sparse.csr_array:
        """Return rows of this space in joint coordinates, with or without `common` columns."""
        kept = np.ones_like(self.own) if common else self.own
        picked: Any = sparse.csr_array(rows)[:, np.flatnonzero(kept)].tocoo()
        places = self.positions[kept][picked.coords[1]]
        shape = (picked.shape[0], self.width)
        return sparse.csr_array((picked.data, (picked.coords[0], places)), shape=shape)


def read_rows(
    study: Study,
    space: FeatureSpace,
    peer: str,
    documents: Sequence[Document],
    *,
    key: DictionaryKey,
) -> FeatureRows:
    """Return a peer's documents as rows of the columns that it holds."""
    if study.plan.arrangement.by_features:
        _members(study, peer, documents)  # refuses a value that the plan does not list
        space = HeldSpace.of(study, space, peer).space
    return FeatureReader(space, key).read(documents)


def integer_rows(
    study: Study,
    space: FeatureSpace,
    peer: str,
    documents: Sequence[Document],
    *,
    key: DictionaryKey,
    common: bool = True,
) -> sparse.csr_array:
    """Return a peer's rows for scores in joint coordinates, with zeros in others' columns."""
    rows = read_rows(study, space, peer, documents, key=key).integers()
    if not study.plan.arrangement.by_features:
        return rows
    return HeldSpace.of(study, space, peer).lifted(rows, common=common)


def own_reach(study: Study, peer: str) -> int:
    """Return the largest sum of the integers of a peer's own features in one row."""
    own = next(holding.columns for holding in study.plan.arrangement.own if holding.peer == peer)
    return NORM_PARTS * sum(column.reach for column in study.plan.columns if column.name in own)


@dataclass(frozen=True, repr=False)
class PeerBlocks:
    """One peer's block columns in joint coordinates, with ±√count of every class as targets."""

    rows: Floats
    targets: Floats
    blocks: EnumeratedBlocks

    @property
    def moments(self) -> Moments:
        """Return the moments of the peer's own columns; blocks are rows of target ±√count."""
        return Moments.of(self.rows, self.targets)


def block_columns(
    study: Study,
    space: FeatureSpace,
    peer: str,
    training: Sequence[Document],
    *,
    key: DictionaryKey,
    totals: Totals,
) -> PeerBlocks:
    """At a peer: return Σ x over every block of the public enumeration, divided by √count."""
    plan = study.plan
    held = HeldSpace.of(study, space, peer)
    parts = list(
        training_examples(training, held.space, plan.labelled, fewest=plan.min_documents, key=key)
    )
    rows: Any = sparse.vstack([part.rows for part in parts], format="csr")
    targets = np.concatenate([part.targets for part in parts])
    classes = (targets[:, 0] > 0) if plan.labels.width == 1 else targets.argmax(axis=1)
    members = _members(study, peer, training) * len(plan.labels.names) + classes.astype(np.int64)
    try:
        blocks = EnumeratedBlocks.of(
            held.lifted(rows, common=peer == plan.arrangement.first),
            members,
            blocks=plan.blocks,
            minimum=plan.min_documents,
        )
    except InputError as error:
        raise InputError(f"{peer}: {error.message}", hints=error.hints) from error
    signs = plan.labels.targets(np.eye(len(plan.labels.names), dtype=np.bool_))
    of_block = np.tile(np.arange(len(plan.labels.names)), plan.blocks // len(plan.labels.names))
    weights = totals.weights(plan.class_weight)
    heavy = np.sqrt(weights)[of_block][:, np.newaxis]
    roots = blocks.roots[:, np.newaxis] * signs[of_block]
    return PeerBlocks(heavy * blocks.columns, heavy * roots, blocks)


def block_sizes(study: Study, peer: str, documents: Sequence[Document]) -> Numbers:
    """Return how many of a peer's rows with a label stand in each block."""
    plan = study.plan
    rows = labelled(study, documents)
    marks = plan.labels.membership([plan.labels.classes(row) for row in rows])
    places = _members(study, peer, rows) * len(plan.labels.names) + marks.argmax(axis=1)
    return np.bincount(places, minlength=plan.blocks)


def _members(study: Study, peer: str, documents: Iterable[Document]) -> Numbers:
    """Return for each row the number of its combination of shared values."""
    plan = study.plan
    columns = plan.arrangement.shared_columns(plan.columns)
    numbers = []
    for document in documents:
        number = 0
        for column in columns:
            number = number * column.width + _place(column, document, peer)
        numbers.append(number)
    return np.array(numbers, np.int64)


def _place(column: Categorical, document: Document, peer: str) -> int:
    value = document.columns.get(column.name)
    name = None if value is None else label_name(value)
    if name not in column.values:
        shown = "nothing" if name is None else f"one {unknown_label(name, column.values)}"
        raise InputError(
            f"{document.origin}: expected a public value of the shared column {column.name} "
            f"({', '.join(column.values)}) at {peer!r}, found {shown}",
            hints=("every value of a shared column is listed beforehand: categories={…}",),
        )
    return column.values.index(name)


@dataclass(frozen=True, repr=False)
class EntityTable:
    """One peer's rows by the name of their entity, for answers to others."""

    peer: str
    documents: Mapping[str, Document]

    @classmethod
    def of(cls, peer: str, documents: Iterable[Document]) -> Self:
        """Return every row under its group, which names its entity; refuse an entity twice."""
        by_name: dict[str, Document] = {}
        for document in documents:
            name = document.group
            if name is None:
                raise InputError(f"{document.origin}: the name of the entity is missing")
            if name in by_name:
                raise InputError(
                    f"{document.origin}: expected every entity once at {peer!r}, "
                    f"found that of {by_name[name].origin} again"
                )
            by_name[name] = document
        return cls(peer, by_name)


def labelled(study: Study, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the rows to train with; in partition `features`, rows without a label only answer."""
    if not study.plan.arrangement.by_features:
        return documents
    return [document for document in documents if document.label is not None]
