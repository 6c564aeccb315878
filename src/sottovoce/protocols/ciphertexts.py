"""How ciphertexts travel: as their strict bytes, under a key that both sides know."""

from sottovoce.paillier import Ciphertext, PublicKey
from sottovoce.wire import Hook, Value


class CiphertextBytes(Value, frozen=True):
    """The bytes of a tensor of ciphertexts; only the codec's key can read them."""

    data: bytes


def ciphertexts_under(key: PublicKey) -> Hook[Ciphertext, CiphertextBytes]:
    """The hook for a codec: `Codec([ciphertexts_under(key)])`.

    An `Unsent` has no hook, so an arithmetic result that was not re-randomised
    cannot leave; a ciphertext under another key is a `MalformedError`.
    """
    return Hook(
        Ciphertext,
        CiphertextBytes,
        lambda ciphertext: CiphertextBytes(ciphertext.to_bytes()),
        lambda form: Ciphertext.from_bytes(form.data, key=key),
    )
