"""Additively homomorphic encryption, packed and hard to misuse.

A `Ciphertext` may be sent. Arithmetic gives an `Unsent`, which has no encoder until `fresh`
re-randomises it; `for_key_holder` re-randomises also against the key's own maker. All have key,
shape, scale and slots, and refuse operands that do not agree, and results that could overflow.

Nothing here is constant-time.
"""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    from sottovoce.paillier.arrange import outer, stack, total
    from sottovoce.paillier.crypt import decrypt, decrypt_residues, encrypt, encrypt_elements
    from sottovoce.paillier.generation import generate, generate_insecure_for_tests
    from sottovoce.paillier.keys import InsecureToyPublicKey, PublicKey
    from sottovoce.paillier.layout import Layout, check_room
    from sottovoce.paillier.plain import Plain, SparseRows
    from sottovoce.paillier.pool import Pool
    from sottovoce.paillier.profiles import Profile
    from sottovoce.paillier.proof import check_key_proof, proof_bytes, prove_key
    from sottovoce.paillier.secret import InsecureToySecretKey, SecretKey
    from sottovoce.paillier.tensors import Ciphertext, Encrypted, ForKeyHolder, Unsent

__all__ = [
    "Ciphertext",
    "Encrypted",
    "ForKeyHolder",
    "InsecureToyPublicKey",
    "InsecureToySecretKey",
    "Layout",
    "Plain",
    "Pool",
    "Profile",
    "PublicKey",
    "SecretKey",
    "SparseRows",
    "Unsent",
    "check_key_proof",
    "check_room",
    "decrypt",
    "decrypt_residues",
    "encrypt",
    "encrypt_elements",
    "generate",
    "generate_insecure_for_tests",
    "outer",
    "proof_bytes",
    "prove_key",
    "stack",
    "total",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "arrange": "outer stack total",
        "crypt": "decrypt decrypt_residues encrypt encrypt_elements",
        "generation": "generate generate_insecure_for_tests",
        "keys": "InsecureToyPublicKey PublicKey",
        "layout": "Layout check_room",
        "plain": "Plain SparseRows",
        "pool": "Pool",
        "profiles": "Profile",
        "proof": "check_key_proof proof_bytes prove_key",
        "secret": "InsecureToySecretKey SecretKey",
        "tensors": "Ciphertext Encrypted ForKeyHolder Unsent",
    },
)
