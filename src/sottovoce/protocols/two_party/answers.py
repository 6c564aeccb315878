"""Checks of the key holder's answers; an error names the key holder."""

from collections.abc import Sequence
from typing import TypeVar

from sottovoce.errors import ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Layout
from sottovoce.protocols.conversation import KEY_HOLDER

T = TypeVar("T")


def agreed(received: Ciphertext, layout: Layout, scale: Scale) -> Ciphertext:
    """Return the ciphertext, after checking its layout and scale."""
    try:
        return received.expected(layout, scale)
    except ViolationError as error:
        raise error.by(KEY_HOLDER) from None


def agreed_elements(received: Ciphertext, layout: Layout, *, fraction_bits: int) -> Ciphertext:
    """Return elements of Z_N under masks, after the same check; their bound is the plaintext's."""
    return agreed(received, layout.cover(), Scale(fraction_bits, received.key.plaintext_bound))


def agreed_count(received: Sequence[T], count: int, what: str) -> Sequence[T]:
    """Return the parts of an answer, after checking their number."""
    if len(received) != count:
        raise ViolationError(
            f"{what}: expected {count} parts, found {len(received)}", party=KEY_HOLDER
        )
    return received
