"""A ledger for people and their tools: CSV, JSON or Markdown, from the lines as they stand."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import msgspec

from sottovoce.ledger.chain import LedgerLine
from sottovoce.wire.formula_guard import guarded

COLUMNS = (
    ("line", "line"),
    ("when", "when (UTC)"),
    ("seat", "seat"),
    ("study", "study"),
    ("what", "what"),
    ("stage", "stage"),
    ("kind", "message"),
    ("party", "to or from"),
    ("bytes", "bytes"),
    ("digest", "SHA-256 of the bytes"),
    ("reveals", "what it reveals"),
    ("note", "note"),
)


def to_json(lines: Iterable[LedgerLine]) -> str:
    """All fields of every line, as a JSON array."""
    return msgspec.json.format(msgspec.json.encode(list(lines)), indent=1).decode() + "\n"


def to_csv(lines: Iterable[LedgerLine]) -> str:
    """A table with one row a line; no cell begins as a formula would."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(title for _, title in COLUMNS)
    for line in lines:
        writer.writerow(guarded(getattr(line, name)) for name, _ in COLUMNS)
    return buffer.getvalue()


def to_markdown(lines: Iterable[LedgerLine]) -> str:
    """A table to read; the digest shortened to what the eye compares."""
    rows = [
        "| " + " | ".join(title for _, title in COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    for line in lines:
        cells = (getattr(line, name) for name, _ in COLUMNS)
        rows.append("| " + " | ".join(_plain(str(cell)) for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def to_jsonl(lines: Iterable[LedgerLine]) -> str:
    """The signed lines as they stand: what `ledger verify --beside` compares with."""
    return b"".join(line.encoded() for line in lines).decode()


FORMATS: Mapping[str, Callable[[Iterable[LedgerLine]], str]] = MappingProxyType(
    {"csv": to_csv, "json": to_json, "jsonl": to_jsonl, "markdown": to_markdown}
)


def _plain(text: str) -> str:
    """Text that stays in its cell, and is no markup."""
    shortened = text[:16] + "…" if len(text) == 64 and text.isalnum() else text
    for sign, plain in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("\n", " "), ("`", "\\`")):
        shortened = shortened.replace(sign, plain)
    return shortened
