"""Ciphertexts on the wire: strict bytes, under a key that both sides know."""

from typing import Any

from sottovoce.paillier import Ciphertext, ForKeyHolder, PublicKey
from sottovoce.wire import Hook, Value


class CiphertextBytes(Value, frozen=True):
    """The bytes of a tensor of ciphertexts; only the codec's key can read them."""

    data: bytes


class KeyHolderBytes(Value, frozen=True):
    """The bytes of a tensor that was re-randomised for the key holder."""

    data: bytes


def ciphertexts_under(key: PublicKey) -> tuple[Hook[Any, Any], ...]:
    """The hooks for a codec: `Codec(ciphertexts_under(key))`.

    An `Unsent` has no hook, so an arithmetic result that was not re-randomised cannot leave; a
    field for the key holder takes a `ForKeyHolder` and nothing else; a ciphertext under another
    key is a `MalformedError`.
    """
    return (
        Hook(
            Ciphertext,
            CiphertextBytes,
            lambda ciphertext: CiphertextBytes(ciphertext.to_bytes()),
            lambda form: Ciphertext.from_bytes(form.data, key=key),
        ),
        Hook(
            ForKeyHolder,
            KeyHolderBytes,
            lambda ciphertext: KeyHolderBytes(ciphertext.to_bytes()),
            lambda form: ForKeyHolder.from_bytes(form.data, key=key),
        ),
    )
