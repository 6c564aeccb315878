"""A user's options for a source: its columns, its labels, its encoding, its limits."""

import codecs
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sottovoce.errors import InputError
from sottovoce.sources.labels import LabelMap


class Format(StrEnum):
    """The kinds of source that can be read."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    ARROW = "arrow"
    XLSX = "xlsx"
    FOLDER = "folder"
    BRAT = "brat"
    LABEL_STUDIO = "label-studio"
    PRODIGY = "prodigy"
    DOCCANO = "doccano"
    MEMORY = "memory"


class Empty(StrEnum):
    """The rule for a document without text: learning skips it, classifying keeps it."""

    SKIP = "skip"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLimits:
    """Limits of the memory that reading a source may take."""

    document_bytes: int = 16 * 2**20
    """The longest line, record or file that is read as one document."""
    problems: int = 100
    """The number of problems of each kind that are kept to be shown (all are counted)."""
    batch_rows: int = 512
    """The rows of a columnar file that are turned into documents at a time."""

    def __post_init__(self) -> None:
        for name in ("document_bytes", "problems", "batch_rows"):
            if getattr(self, name) < 1:
                raise InputError(f"limit {name}: expected at least 1, found {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelimitedFormat:
    """The format of a delimited file, if its name and its first line do not show it."""

    delimiter: str | None = None
    quoted: bool = True
    header: bool = True

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '\r\n"\0 '
        ):
            raise InputError(
                f"delimiter: expected one character such as ',' or ';', found {self.delimiter!r}",
                hints=("--delimiter ';'",),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options with which a source is read.

    If `text` or `label` is None, the column of that name is used, if there is one. `text` () means
    no text, only the further columns; `label` () means that labels are not read. Several `text`
    columns are joined by a line break. Several `label` columns are yes/no marks, and a document's
    labels are the names of the columns that say yes. `kept` columns are copied unchanged, whatever
    else they are used for. `categorical` and `numeric` may hold patterns with `*`, which match
    every column that has no other use.

    In a folder of texts subfolders are labels; BRAT has spans (`label="label"` also uses the
    subfolder). A `labels_file` gives both of them all of these columns. For BRAT a `label_map`
    renames entity types; types that are not in it are left out. With `qualified`, other facts about
    entities become spans, too: attributes (`Disease:Negated`), and participants of relations and
    events (`Treats:Drug`). With `agreed`, further columns belong to a study and have its names.
    """

    text: str | tuple[str, ...] | None = None
    label: str | tuple[str, ...] | None = None
    label_map: LabelMap | None = None
    label_separator: str | None = None
    labels: tuple[str, ...] = ()
    group: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    format: Format | None = None
    encoding: str | None = None
    table: DelimitedFormat = field(default_factory=DelimitedFormat)
    pattern: str = "*.txt"
    labels_file: Path | None = None
    qualified: bool = False
    agreed: bool = False
    empty: Empty = Empty.SKIP
    limits: SourceLimits = field(default_factory=SourceLimits)

    def __post_init__(self) -> None:
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.label_separator == "":
            raise InputError("label separator: it is empty, expected at least one character")

    @property
    def unlabelled(self) -> bool:
        """Whether the user wants labels not to be read."""
        return self.label == ()


def named(columns: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the named columns as a tuple: one, several or none."""
    if columns is None:
        return ()
    return (columns,) if isinstance(columns, str) else columns


def check_encoding(name: str) -> None:
    """Refuse an encoding that Python does not have, or that does not decode bytes to text."""
    try:
        b"a".decode(name)
        codecs.lookup(name)
    except (LookupError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            return
        raise InputError(
            f"encoding {name!r}: there is no text encoding of that name",
            hints=("--encoding utf-8", "--encoding cp1252", "--encoding utf-16"),
        ) from None
