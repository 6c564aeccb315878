"""Strict bytes: one encoding per value."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    from sottovoce.wire.codec import Codec, Hook
    from sottovoce.wire.residues import Residues
    from sottovoce.wire.values import Integers, ShortWords, Value, Words

__all__ = ["Codec", "Hook", "Integers", "Residues", "ShortWords", "Value", "Words"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "codec": "Codec Hook",
        "residues": "Residues",
        "values": "Integers ShortWords Value Words",
    },
)
