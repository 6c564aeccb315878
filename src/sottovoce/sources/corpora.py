"""Writes documents as folders of files: labelled subfolders of texts, or BRAT pairs."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from sottovoce.errors import InputError
from sottovoce.sources.drafts import draft_folder, write_settled
from sottovoce.sources.problems import shown
from sottovoce.text.documents import Document, Span
from sottovoce.text.labels import label_name

_MARK = "\ufeff"
_BREAKS = str.maketrans("\r\n", "  ")


class _Names:
    """File names of documents: a document's own if it had one, else its number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._number = 0

    def of(self, document: Document, *, below: str = "") -> str:
        """The path of a document below the root, without a suffix."""
        self._number += 1
        own = PurePosixPath(document.origin.source).with_suffix("")
        usable = document.origin.position is None and document.origin.source.endswith(".txt")
        if not usable or own.is_absolute() or ".." in own.parts:
            own = PurePosixPath(f"{self._number:06d}")
        name = str(PurePosixPath(below, own.name)) if below else str(own)
        if name in self._taken:
            name = f"{name}-{self._number:06d}"
        self._taken.add(name)
        return name


def write_folder(documents: Iterable[Document], path: Path) -> int:
    """Write one `.txt` file a document, in a subfolder that is named like its label."""
    names, written = _Names(), 0
    with draft_folder(path) as root:
        for document in documents:
            name = names.of(document, below=_subfolder(document))
            write_settled(root / f"{name}.txt", _encoded(document))
            written += 1
    return written


def write_brat(documents: Iterable[Document], path: Path) -> int:
    """Write a `.txt` and an `.ann` file a document, with a T line for each of its spans."""
    names, written = _Names(), 0
    with draft_folder(path) as root:
        for document in documents:
            name = names.of(document)
            lines = annotation_lines(document)
            write_settled(root / f"{name}.txt", _encoded(document))
            write_settled(root / f"{name}.ann", "".join(lines).encode())
            written += 1
    return written


def annotation_lines(document: Document) -> list[str]:
    """Return the lines of an `.ann` file with the spans of `document`."""
    own = [span.name for span in document.spans]
    keep = len(set(own)) == len(own) and all(n[:1] == "T" and n[1:].isdecimal() for n in own)
    return [
        _line(span.name if keep else f"T{number}", span, document)
        for number, span in enumerate(document.spans, 1)
    ]


def _line(name: str, span: Span, document: Document) -> str:
    if not span.type or any(character.isspace() for character in span.type):
        raise InputError(
            f"{document.origin}: expected a type without spaces, found {shown(span.type)}"
        )
    for fragment in span.fragments:
        if not fragment.start < fragment.end <= len(document.text):
            raise InputError(
                f"{document.origin}: expected a fragment inside the text of "
                f"{len(document.text):,} characters, found {fragment.start} {fragment.end}"
            )
    places = ";".join(f"{fragment.start} {fragment.end}" for fragment in span.fragments)
    pieces = (document.text[fragment.start : fragment.end] for fragment in span.fragments)
    return f"{name}\t{span.type} {places}\t{' '.join(pieces).translate(_BREAKS)}\n"


def _encoded(document: Document) -> bytes:
    """Return the text in UTF-8; if it begins with U+FEFF, a byte order mark is put before it."""
    mark = _MARK if document.text.startswith(_MARK) else ""
    try:
        return (mark + document.text).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{document.origin}: expected text that UTF-8 can hold, "
            f"found half of a surrogate pair at character {error.start}"
        ) from error


def _subfolder(document: Document) -> str:
    label = document.label
    if label is None:
        return ""
    if isinstance(label, tuple):
        raise InputError(
            f"{document.origin}: a folder holds one label a document, found {len(label)}",
            hints=("write JSON Lines instead",),
        )
    name = label_name(label)
    if name in {".", ".."} or "/" in name or "\\" in name or "\0" in name:
        raise InputError(
            f"{document.origin}: label {shown(name)} cannot be the name of a folder",
            hints=("--label-map gives it another name",),
        )
    return name
