"""Labels, each with one name, and the ±1 columns for learners."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Label
from sottovoce.text.fingerprints import fingerprint

LABEL_CHARACTERS = 40
LABEL_WORDS = 4
"""The most words of a label; more words may be a text in the wrong column."""

Classes = tuple[str, ...]
"""The names of one row's classes; none or several if labels overlap."""


def label_name(label: Label) -> str:
    """Return a label's one name: `1`, `1.0` and `"1"` have the same, so do `" a"` and `"a"`."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()


def _kind(label: Label) -> str:
    if isinstance(label, bool):
        return "truth value"
    return "text" if isinstance(label, str) else "number"


@dataclass(frozen=True, slots=True)
class Labels:
    """The classes of a study, in order; `exclusive` if a row belongs to exactly one."""

    names: tuple[str, ...]
    exclusive: bool = True

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise InputError(
                f"expected different names, found {_listed(self.names)}",
                place="labels",
                setting="labels",
            )
        fewest = 2 if self.exclusive else 1
        if len(self.names) < fewest:
            raise InputError(
                f"expected at least {fewest} different labels, "
                f"found {_listed(self.names) if self.names else 'none'}",
                hints=("a classifier needs examples of every class, and of something else",),
                place="labels",
                setting="labels",
            )

    @classmethod
    def distinct(cls, labels: Iterable[Label]) -> Self:
        """Return the labels that occur, sorted; all must be text, numbers or truth values."""
        kinds: dict[str, None] = {}
        names = set()
        for label in labels:
            kinds[_kind(label)] = None
            names.add(label_name(label))
        if len(kinds) > 1:
            raise InputError(
                f"expected labels of one kind, found {' and '.join(kinds)}",
                hints=("map them to names: --label-map 1=yes --label-map 0=no",),
                place="labels",
                setting="labels",
            )
        return cls(tuple(sorted(names)))

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name these classes in this order."""
        return fingerprint("sottovoce/labels/v1", self)

    @property
    def width(self) -> int:
        """The number of ±1 columns for the learner: one for two exclusive classes."""
        return 1 if self.exclusive and len(self.names) == 2 else len(self.names)

    def classes(self, document: Document) -> Classes:
        """Return a document's classes; refuse one that the study does not know."""
        label = document.label
        given = label if isinstance(label, tuple) else () if label is None else (label,)
        if self.exclusive and len(given) != 1:
            raise InputError(
                f"{document.origin}: expected one label, found {len(given) or 'none'}",
                hints=("leave rows without a label out",) if not given else (),
            )
        names = tuple(map(label_name, given))
        for name in names:
            if name not in self.names:
                self.require(name, where=str(document.origin))
        return names

    def require(self, name: str, *, where: str) -> None:
        """Refuse a label that the study does not have; the error names the nearest label."""
        if name in self.names:
            return
        near = get_close_matches(name, self.names, n=1)
        mapped = name if near and is_label(name) else "NAME"
        raise InputError(
            f"{where}: expected a label of the study ({_listed(self.names)}), "
            f"found one {unknown_label(name, self.names)}",
            hints=(f"map it to the study's name: --label-map {mapped}={(near or self.names)[0]}",),
        )

    def membership(self, rows: Sequence[Classes]) -> NDArray[np.bool_]:
        """Return a table of rows × names that says which row belongs to which class."""
        number = {name: index for index, name in enumerate(self.names)}
        result = np.zeros((len(rows), len(self.names)), dtype=np.bool_)
        pairs = [(row, number[name]) for row, names in enumerate(rows) for name in names]
        if pairs:
            result[tuple(np.array(pairs).T)] = True
        return result

    def targets(self, membership: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Return the learner's ±1 columns; of two exclusive classes the second is +1."""
        kept = membership[:, -1:] if self.width == 1 else membership
        return np.where(kept, 1, -1).astype(np.int8)

    def decide(self, scores: NDArray[np.float64]) -> list[Classes]:
        """Return the classes for scores (rows × width); ties go to the lower index."""
        if self.exclusive and self.width == 1:
            return [(self.names[int(score > 0)],) for score in scores[:, 0]]
        if self.exclusive:
            return [(self.names[index],) for index in scores.argmax(axis=1)]
        return [
            tuple(name for name, score in zip(self.names, row, strict=True) if score > 0)
            for row in scores
        ]


def is_label(name: str) -> bool:
    """Return whether this looks like a label, not like a text in the wrong column."""
    return len(name) <= LABEL_CHARACTERS and len(name.split()) <= LABEL_WORDS


def folded_label(name: str) -> str:
    """Return a label in one case and without extra spaces, for comparisons."""
    return " ".join(name.split()).casefold()


def respelt(name: str, known: Iterable[str]) -> str | None:
    """Return the known label that differs from `name` only in case or space, or None."""
    folded = folded_label(name)
    return next((label for label in known if label != name and folded_label(label) == folded), None)


def shown_label(label: Label) -> str:
    """Return a label for a message; one that could be a text is not quoted."""
    name = str(label)
    return repr(name) if is_label(name) else f"of {len(name.split()):,} words"


def unknown_label(label: Label, known: Iterable[str]) -> str:
    """Return an unknown label for a message, quoted only if it is similar to a known one."""
    name = str(label)
    if is_label(name) and get_close_matches(name.casefold(), map(str.casefold, known), n=1):
        return repr(name)
    count = len(name.split())
    return f"of {count:,} words" if count > 1 else f"of {len(name):,} characters"


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(name if is_label(name) else shown_label(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
