"""Several owners of text at one table: a federation in memory, for notebooks and trials."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any

from sottovoce.errors import InputError
from sottovoce.estimators.tables import NamedColumns, is_table, kind_of
from sottovoce.pictures.html import table
from sottovoce.pictures.shown import notebook_html
from sottovoce.study.arrangement import Partition, one_of
from sottovoce.text.documents import Document, Label, Origin
from sottovoce.text.labels import Labels, label_name


@dataclass(frozen=True)
class LocalFederation:
    """Each peer's labelled documents, by its name.

    A peer gives (texts, labels), (texts, labels, groups), a data frame with columns text and
    label (and group), or documents as a source reads them; texts and labels are lists, arrays
    or Series. In place of texts a table, that is an array or a data frame of columns.
    Groups (patients, authors) never straddle a split and count once.
    `evaluator_at` and `dealer_at` name the peer whose organisation also runs
    that role; by default both are organisations of their own.

    With partition "features" peers hold tables with different columns of the same
    entities, in any order; `shared` names the columns that all of them have. Groups
    then name the entities (needed to hold some out, and for remote="full"); a row
    whose label is None is not learnt from, but can be asked about.

    `intermediaries` names, for a peer, the organisation whose machine builds the peer's
    encrypted contribution; that machine sees ciphertexts and how many rows there are.

    `outsourced_to` names the organisation that works for a lone owner, who holds data and
    key: it learns on ciphertexts only.
    """

    parts: Mapping[str, Any] = field(repr=False)
    evaluator_at: str | None = None
    dealer_at: str | None = None
    partition: str = Partition.DOCUMENTS
    shared: Sequence[str] = ()
    intermediaries: Mapping[str, str] = field(default_factory=dict)
    outsourced_to: str | None = None
    documents: dict[str, list[Document]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read every peer's part once, and say whose is wrong if one is."""
        _check_parts(self.parts)
        read = {name: _documents(name, part) for name, part in self.parts.items()}
        object.__setattr__(self, "documents", read)
        object.__setattr__(self, "shared", tuple(self.shared))
        object.__setattr__(self, "partition", one_of(Partition, self.partition, "partition"))
        if self.shared and self.partition is not Partition.FEATURES:
            raise InputError(
                f"federation: shared columns are for partition features, found {self.partition}",
                hints=('LocalFederation(…, partition="features", shared=[…])',),
            )
        if self.outsourced_to is not None and len(read) != 1:
            raise InputError(
                f"federation: expected one owner whose work {self.outsourced_to!r} does, "
                f"found {', '.join(read) or 'nobody'}",
                hints=("peers that learn together need no outsourced_to",),
            )
        stranger = next((name for name in self.intermediaries if name not in read), None)
        if stranger is not None:
            raise InputError(
                f"federation: expected intermediaries of {', '.join(read)}, found one of "
                f"{stranger!r}"
            )
        for role, name in (("evaluator", self.evaluator_at), ("dealer", self.dealer_at)):
            if name is not None and name not in read:
                raise InputError(
                    f"federation: expected the {role} at one of {', '.join(read)}, found {name!r}"
                )

    def __repr__(self) -> str:
        """Who takes part with how many documents, and what is not as by default."""
        peers = ", ".join(f"{name}: {len(mine):,}" for name, mine in self.documents.items())
        chosen = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)
            if one.repr and getattr(self, one.name) not in (one.default, (), {})
        ]
        return f"LocalFederation({', '.join([f'documents of {peers}', *chosen])})"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (name, len(mine), ", ".join(f"{label}: {count:,}" for label, count in found.items()))
            for name, mine in self.documents.items()
            for found in [Counter(label for one in mine for label in map(str, _given(one)))]
        ]
        return notebook_html(table(("peer", "documents", "labels"), rows))

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of the peers."""
        return tuple(self.documents)

    @property
    def names_entities(self) -> bool:
        """Whether every peer's rows have groups of their own, which name entities."""
        return all(
            len(part) == 3
            if isinstance(part, tuple) and not isinstance(part[0], Document)
            else all(one.group is not None for one in self.documents[name])
            for name, part in self.parts.items()
        )

    @property
    def labels_as_given(self) -> dict[str, Label]:
        """Every label by its one name, as the first peer that has it wrote it."""
        return {
            label_name(label): label
            for documents in reversed(self.documents.values())
            for document in documents
            for label in _given(document)
        }

    @property
    def labels(self) -> Labels:
        """The classes of all peers together; they overlap where a document may have several."""
        several = any(
            isinstance(document.label, tuple)
            for documents in self.documents.values()
            for document in documents
        )
        names = Labels.found(self.labels_as_given.values()).names
        return Labels(names, exclusive=not several)


def _check_parts(parts: Any) -> None:
    """Refuse what names no peers."""
    hint = 'LocalFederation({"alice": (texts, labels), "bob": (texts, labels), …})'
    if not isinstance(parts, Mapping):
        raise InputError(
            f"federation: expected every peer's part by its name, found {kind_of(parts)}",
            hints=(hint,),
        )
    if not parts:
        raise InputError("federation: expected parts of several peers, found none", hints=(hint,))
    wrong = next((name for name in parts if not isinstance(name, str) or not name.strip()), None)
    if wrong is not None:
        raise InputError(f"federation: expected names of peers, found {wrong!r}", hints=(hint,))


def _given(document: Document) -> tuple[Label, ...]:
    if document.label is None:
        return ()
    return document.label if isinstance(document.label, tuple) else (document.label,)


def _documents(peer: str, part: Any) -> list[Document]:
    if hasattr(part, "documents"):
        part = part.documents() if callable(part.documents) else part.documents
    if isinstance(part, tuple) and len(part) in {2, 3} and not isinstance(part[0], Document):
        if is_table(part[0]):
            return as_rows(part[0], *part[1:], who=peer)
        return as_documents(part[0], *part[1:], who=peer)
    if hasattr(part, "columns") and not isinstance(part, tuple):
        return _of_frame(peer, part)
    if isinstance(part, str | PathLike):
        source = 'open_source("notes.csv", text="note", label="label")'
        raise InputError(
            f"federation: expected (texts, labels) or documents of {peer!r}, found a bare path",
            hints=(
                f'LocalFederation({{"{peer}": {source}, …}})',
                "from sottovoce.sources import open_source",
            ),
        )
    documents = list(part) if isinstance(part, Iterable) else [part]
    strangers = [one for one in documents if not isinstance(one, Document)]
    if strangers or not documents:
        found = kind_of(strangers[0]) if strangers else "nothing"
        raise InputError(
            f"federation: expected (texts, labels) or documents of {peer!r}, found {found}",
            hints=(f'LocalFederation({{"{peer}": (texts, labels), …}})',),
        )
    return documents


def _of_frame(peer: str, frame: Any) -> list[Document]:
    """The documents of a data frame with columns text and label, and perhaps group."""
    names = [str(name) for name in frame.columns]
    missing = [name for name in ("text", "label") if name not in names]
    if missing:
        raise InputError(
            f"federation: expected columns text and label in the frame of {peer!r}, "
            f"found {', '.join(names) or 'none'}",
            hints=(f'LocalFederation({{"{peer}": (frame["note"], frame["diagnosis"]), …}})',),
        )
    groups = frame["group"] if "group" in names else None
    return as_documents(frame["text"], frame["label"], groups, who=peer)


def as_documents(
    texts: Any,
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    *,
    who: str = "predict",
) -> list[Document]:
    """Texts (or documents) with their labels and groups, each as long as the texts."""
    if isinstance(texts, str):
        raise InputError(
            f"{who}: expected a list of texts, found one text", hints=("predict([text])",)
        )
    items = _listed(texts, who)
    columns = [_column(values, len(items), what, who) for values, what in _named(labels, groups)]
    return [
        _document(item, label, group, Origin(who, number))
        for number, (item, label, group) in enumerate(zip(items, *columns, strict=True), start=1)
    ]


def _listed(texts: Any, who: str) -> list[Any]:
    """The texts in their order; what has none, or would give names in their place, is refused."""
    if hasattr(texts, "columns"):
        raise InputError(
            f"{who}: expected a list of texts, found a table",
            hints=('its column of texts: frame["text"]',),
        )
    if isinstance(texts, Mapping | AbstractSet) or not isinstance(texts, Iterable):
        raise InputError(f"{who}: expected a list of texts, found {kind_of(texts)}")
    return list(texts)


def as_rows(
    table: Any,
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    *,
    who: str = "predict",
    names: Sequence[str] | None = None,
) -> list[Document]:
    """The rows of a table (with the columns `names`, if told) with their labels and groups."""
    read = NamedColumns.of(table, who=who, names=names)
    count = len(read.rows)
    columns = [_column(values, count, what, who) for values, what in _named(labels, groups)]
    return read.documents(*columns, who=who)


def _named(
    labels: Iterable[Any] | None, groups: Iterable[Any] | None
) -> tuple[tuple[Iterable[Any] | None, str], ...]:
    return (labels, "labels"), (groups, "groups")


def _column(values: Iterable[Any] | None, length: int, what: str, who: str) -> list[Any]:
    if values is None:
        return [None] * length
    column = [_plain(value) for value in values]
    if len(column) != length:
        raise InputError(f"{who}: expected {length} {what}, one a text, found {len(column)}")
    return column


def _plain(value: Any) -> Any:
    """Python's own type of a numpy scalar; several labels at once as a tuple."""
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(_plain(one) for one in sorted(value, key=str))
    return value.item() if hasattr(value, "item") else value


def _document(item: Any, label: Any, group: Any, origin: Origin) -> Document:
    if isinstance(item, Document):
        return item
    if not isinstance(item, str):
        raise InputError(f"{origin}: expected a text, found {kind_of(item)}")
    return Document(item, label, None if group is None else str(group), origin=origin)
