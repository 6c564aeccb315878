"""Strict bytes: one encoding per value."""

from sottovoce.wire.codec import Codec, Hook
from sottovoce.wire.residues import Residues
from sottovoce.wire.values import Integers, ShortWords, Value, Words

__all__ = ["Codec", "Hook", "Integers", "Residues", "ShortWords", "Value", "Words"]
