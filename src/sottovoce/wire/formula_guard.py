"""Cells of a CSV that a spreadsheet would run as a formula: a quote before them keeps them text.

The quote is taken off again when such a table is read, so that text comes back as it was written.
"""

import re

_FORMULAS = ("=", "+", "-", "@")
_BEFORE = "' \t\r\n"
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?")


def guarded(cell: object) -> object:
    """The cell as it is written: text that begins as a formula does has a quote before it."""
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell) or not _begins_formula(cell):
        return cell
    return "'" + cell


def unguarded(cell: str) -> str:
    """The cell as it was before `guarded`."""
    return cell[1:] if cell.startswith("'") and _begins_formula(cell) else cell


def _begins_formula(cell: str) -> bool:
    return cell.lstrip(_BEFORE).startswith(_FORMULAS)
