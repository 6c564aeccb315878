"""Strict bytes: one encoding per value."""

from sottovoce.wire.codec import Codec, Hook
from sottovoce.wire.values import Integers, Value, Words

__all__ = ["Codec", "Hook", "Integers", "Value", "Words"]
