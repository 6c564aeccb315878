"""A federation in memory: several owners of text in one process, for notebooks and trials."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from sottovoce.errors import InputError
from sottovoce.estimators.peer_parts import as_documents, read_part
from sottovoce.estimators.tables import is_table, kind_of
from sottovoce.pictures.html import table
from sottovoce.pictures.shown import notebook_html
from sottovoce.study.arrangement import Partition, one_of
from sottovoce.study.policy import Policy
from sottovoce.text.documents import Document, Label
from sottovoce.text.labels import Labels, is_label, label_name, respelt
from sottovoce.text.splits import position


class SpellingWarning(UserWarning):
    """Labels that somebody may have meant as one."""


@dataclass(frozen=True)
class LocalFederation:
    """Each peer's labelled documents, by its name.

    A peer gives (texts, labels) or (texts, labels, groups), which are lists, arrays or Series;
    a data frame with columns text and label (and group), or (frame, "note", "diagnosis"); a list
    of (text, label) pairs or of rows by name; the path of a file, or what `open_source` opened.
    In place of texts a table, that is an array or a data frame of columns.
    Groups (patients, authors) never straddle a split and count once. `of_frame` takes one frame
    with a column that says whose a row is, `dealt` deals rows out to peers, for trials.
    `evaluator_at` and `dealer_at` name the peer whose organisation also runs
    that role, in the engines that have them; by default both are organisations of their own.

    With partition "features" peers hold tables with different columns of the same
    entities, in any order; `shared` names the columns that all of them have. Groups
    then name the entities (needed to hold some out, and for remote="full"); a row
    whose label is None is not learnt from, but can be asked about.

    `intermediaries` names, for a peer, the organisation whose machine builds the peer's
    encrypted contribution; that machine sees ciphertexts and how many rows there are.

    `outsourced_to` names the organisation that works for a lone owner, who holds data and
    key: it learns on ciphertexts only.

    `policy` is what every peer consents to at most, and is asked as between machines: the
    default one refuses scores and weights, lists of features, and questions about entities.
    """

    parts: Mapping[str, Any] = field(repr=False)
    evaluator_at: str | None = None
    dealer_at: str | None = None
    partition: str = Partition.DOCUMENTS
    shared: Sequence[str] = ()
    intermediaries: Mapping[str, str] = field(default_factory=dict)
    outsourced_to: str | None = None
    policy: Policy = field(default_factory=Policy)
    documents: dict[str, list[Document]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read every peer's part once, and say whose is wrong if one is."""
        _check_parts(self.parts)
        if not isinstance(self.policy, Policy):
            raise InputError(
                f"federation: expected a Policy, found {kind_of(self.policy)}",
                hints=("from sottovoce.study import Policy",),
            )
        read = {name: read_part(name, part) for name, part in self.parts.items()}
        object.__setattr__(self, "documents", read)
        self._warn_of_spelling()
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

    def _warn_of_spelling(self) -> None:
        names = [name for name in self.labels_as_given if is_label(name)]
        for number, name in enumerate(names):
            other = respelt(name, names[:number])
            if other is not None:
                warnings.warn(
                    f"federation: labels {other!r} and {name!r} differ only in case or space, and "
                    "are two classes; if one is meant, write them alike",
                    SpellingWarning,
                    stacklevel=3,
                )

    @classmethod
    def of_frame(
        cls,
        frame: Any,
        *,
        peer: str,
        text: str = "text",
        label: str = "label",
        group: str | None = None,
        **settings: Any,
    ) -> Self:
        """The rows of one data frame, each at the peer that the column `peer` names."""
        wanted = [name for name in (text, label, group, peer) if name is not None]
        known = [str(name) for name in getattr(frame, "columns", ())]
        missing = [name for name in wanted if name not in known]
        if missing:
            raise InputError(
                f"federation: expected a data frame with the column {missing[0]!r}, "
                f"found {', '.join(known) or kind_of(frame)}"
            )
        owners = [str(name) for name in frame[peer]]
        columns = [frame[name] for name in wanted[:-1]]
        documents = as_documents(*columns, who="federation")
        parts: dict[str, list[Document]] = {}
        for owner, document in zip(owners, documents, strict=True):
            parts.setdefault(owner, []).append(document)
        return cls(parts, **settings)

    @classmethod
    def dealt(
        cls,
        texts: Any,
        labels: Any,
        *,
        peers: Sequence[str] = ("alice", "bob", "carol"),
        **settings: Any,
    ) -> Self:
        """One collection dealt out to peers, for trials; copies of a text go to the same one."""
        if not isinstance(peers, Iterable):
            raise InputError(
                f"federation: expected the names of peers, found {peers!r}",
                hints=('LocalFederation.dealt(texts, labels, peers=("alice", "bob", "carol"))',),
            )
        names = (peers,) if isinstance(peers, str) else tuple(peers)
        parts: dict[str, list[Document]] = {name: [] for name in names}
        for document in as_documents(texts, labels, who="federation"):
            place = int(len(names) * position(document, purpose="dealt/v1"))
            parts[names[place]].append(document)
        return cls(parts, **settings)

    def __repr__(self) -> str:
        """The peers with their numbers of documents, and the settings that are not the default."""
        peers = ", ".join(f"{name}: {len(mine):,}" for name, mine in self.documents.items())
        chosen = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.repr and getattr(self, field.name) not in (field.default, (), {}, Policy())
        ]
        return f"LocalFederation({', '.join([f'documents of {peers}', *chosen])})"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (name, len(mine), ", ".join(f"{label}: {count:,}" for label, count in counts.items()))
            for name, mine in self.documents.items()
            for counts in [
                Counter(label for document in mine for label in map(str, _given(document)))
            ]
        ]
        return notebook_html(table(("peer", "documents", "labels"), rows))

    @property
    def names_helpers(self) -> bool:
        """Whether it says who evaluates, deals or works for a peer."""
        return bool(self.evaluator_at or self.dealer_at or self.intermediaries)

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of the peers."""
        return tuple(self.documents)

    @property
    def names_entities(self) -> bool:
        """Whether every peer's rows have groups of their own, which name entities."""
        return all(
            len(part) == 3
            if isinstance(part, tuple) and is_table(part[0]) and not isinstance(part[1], str)
            else all(document.group is not None for document in self.documents[name])
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
        names = Labels.distinct(self.labels_as_given.values()).names
        return Labels(names, exclusive=not several)


def _check_parts(parts: Any) -> None:
    """Refuse data that do not name peers."""
    hint = 'LocalFederation({"alice": (texts, labels), "bob": (texts, labels), …})'
    if not isinstance(parts, Mapping):
        raise InputError(
            f"federation: expected every peer's part by its name, found {kind_of(parts)}",
            hints=(hint,),
        )
    if not parts:
        raise InputError("federation: it has no peers", hints=(hint,))
    wrong = next((name for name in parts if not isinstance(name, str) or not name.strip()), None)
    if wrong is not None:
        raise InputError(f"federation: expected names of peers, found {wrong!r}", hints=(hint,))


def _given(document: Document) -> tuple[Label, ...]:
    if document.label is None:
        return ()
    return document.label if isinstance(document.label, tuple) else (document.label,)
