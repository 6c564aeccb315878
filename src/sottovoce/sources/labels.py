"""Maps the labels of a source to the labels of a study."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import msgspec

from sottovoce.errors import InputError
from sottovoce.sources.problems import shown
from sottovoce.text.documents import Label, Span
from sottovoce.text.labels import label_name

OTHERWISE = "*"
"""The name that stands for every label that a map does not name."""

_FILE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class LabelMap:
    """The labels of a source and their labels in the study; `*` names all others.

    A label of the study stands for itself, unless `*` takes it.
    """

    names: Mapping[str, str] = field(hash=False)

    def __post_init__(self) -> None:
        for name, target in self.names.items():
            if not name or not target:
                raise InputError(
                    "label map: expected a label on both sides, and one side is empty",
                    hints=("--label-map spam=1,ham=0",),
                )

    @classmethod
    def parse(cls, words: str) -> Self:
        """Read `spam=1,ham=0`."""
        names: dict[str, str] = {}
        for pair in words.split(","):
            name, equals, target = (part.strip() for part in pair.partition("="))
            if not equals:
                raise InputError(
                    f"label map: expected name=label, found {shown(pair)}",
                    hints=("--label-map spam=1,ham=0", "--label-map labels.json"),
                )
            if names.setdefault(name, target) != target:
                raise InputError(
                    f"label map: expected one label for {shown(name)}, "
                    f"found {shown(names[name])} and {shown(target)}"
                )
        return cls(names)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a map from a file: a JSON object, or two columns of CSV or TSV."""
        try:
            with path.open("rb") as file:
                content = file.read(_FILE_BYTES + 1)
            if len(content) > _FILE_BYTES:
                raise InputError(
                    f"label map {path}: expected at most {_FILE_BYTES:,} bytes, found more"
                )
            words = content.decode("utf-8-sig")
        except OSError as error:
            raise InputError(f"label map {path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"label map {path}: expected UTF-8, found byte 0x{content[error.start]:02x} "
                f"at byte {error.start}"
            ) from error
        if words.lstrip().startswith("{"):
            return cls(_from_json(content, path))
        return cls(_from_table(words, path))

    @classmethod
    def of(cls, given: str) -> Self:
        """Read what a user gave: pairs, or the name of a file that holds them."""
        if "=" in given:
            return cls.parse(given)
        return cls.load(Path(given))

    def __getitem__(self, label: Label) -> str | None:
        """Return the study's label for the source's `label`; None if the map has none."""
        name = label_name(label)
        itself = name if name in self.names.values() else None
        return self.names.get(name, self.names.get(OTHERWISE, itself))

    def spans(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Return spans under the study's names, without types that the map lacks."""
        named = ((self[span.type], span) for span in spans)
        return tuple(replace(span, type=name) for name, span in named if name is not None)


def _from_json(content: bytes, path: Path) -> dict[str, str]:
    try:
        mapping = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Label])
    except msgspec.DecodeError as error:
        raise InputError(
            f"label map {path}: expected a JSON object of labels",
            hints=('{"spam": 1, "ham": 0}',),
        ) from error
    return {name: label_name(label) for name, label in mapping.items()}


def _from_table(words: str, path: Path) -> dict[str, str]:
    delimiter = "\t" if path.suffix.lower() in {".tsv", ".tab"} else ","
    names: dict[str, str] = {}
    for number, row in enumerate(csv.reader(words.splitlines(), delimiter=delimiter), 1):
        if not row:
            continue
        if len(row) != 2:
            raise InputError(
                f"label map {path} line {number}: expected two fields, found {len(row)}",
                hints=("spam,1",),
            )
        name, target = (field.strip() for field in row)
        if names.setdefault(name, target) != target:
            # Not quoted, because the file may be a table of texts, given by mistake.
            raise InputError(
                f"label map {path} line {number}: expected one label for each name, "
                "found another for a name that stands above"
            )
    if not names:
        raise InputError(f"label map {path}: there is no pair in it")
    return names
