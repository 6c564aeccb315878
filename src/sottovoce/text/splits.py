"""The split into training and validation, decided by a document's text or its group.

Copies of a text, and all documents of one group, are on the same side, whatever the order of
reading and at every site.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sottovoce.errors import InputError
from sottovoce.text.documents import Document
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.streams import refined


class Side(StrEnum):
    """The two sides of a split."""

    TRAIN = "train"
    VALIDATION = "validation"


@dataclass(frozen=True, slots=True)
class Split:
    """A split: about `validation` of all documents (or groups) are held out; `name` varies it."""

    validation: float = 0.2
    name: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.validation <= 1:
            raise InputError(
                f"split: expected a share from 0 to 1, found {self.validation:g}",
                setting="held_out",
            )

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this split."""
        return fingerprint("sottovoce/split/v1", self)

    def side(self, document: Document) -> Side:
        """Return the side of a document."""
        if not self.validation:
            return Side.TRAIN
        share = position(document, purpose=f"split/v1 {self.name}")
        return Side.VALIDATION if share < self.validation else Side.TRAIN

    def part(self, documents: Sequence[Document], side: Side) -> Sequence[Document]:
        """Return the documents on one side."""
        if not self.validation and side is Side.TRAIN:
            # All of them: documents in parts keep what was counted.
            return documents
        return refined(documents, _SideRule(self, side))


@dataclass(frozen=True, slots=True)
class _SideRule:
    """Selects the documents of one side; a plain value that can be sent to workers."""

    split: Split
    side: Side

    def __call__(self, document: Document) -> Document | None:
        return document if self.split.side(document) is self.side else None


def position(document: Document, *, purpose: str) -> float:
    """Return a number in [0, 1) derived from the document's group, else from its words.

    White space is ignored, so a copy with other line breaks has the same number.
    """
    if document.group is not None:
        identity = f"group\0{document.group}"
    else:
        identity = f"text\0{' '.join(document.text.split())}"
    framed = f"{len(purpose)}\0{purpose}\0{identity}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(framed, digest_size=6, person=b"sottovoce/place1").digest()
    return int.from_bytes(digest, "little") / 2**48
