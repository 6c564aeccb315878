"""The proof of the coordinator's key for an asker, in studies that find labels on shares.

    asker                              coordinator
      │◀──────────── KeyProof ─────────────│   then shares/labels/undealt.py

In such a study only an asker without a dealer encrypts under the study's Paillier key. So the proof
that the key is fit (paillier/proof.py) comes with that asker's query, and nobody checks it while
the study trains. The asker sends nothing under the key before it has checked the proof.

Who learns what: the asker learns that gcd(N, φ(N)) = 1 and that N has few prime factors; the
coordinator nothing.
"""

from typing import ClassVar

from sottovoce.errors import MalformedError
from sottovoce.paillier import PublicKey, SecretKey, check_key_proof, prove_key
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message


class KeyProof(Message, frozen=True):
    """Roots of numbers that a hash of the study's key determines (paillier/proof.py)."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of a query without a dealer",
        reveals="that the study's Paillier key is fit for use, and nothing about its factors",
        assuming="a hash of the key chooses numbers as a random function would",
    )
    roots: bytes


def show_proof(key: SecretKey, *, asker: str) -> Party[None]:
    """At the coordinator: send the proof, before the asker's first ciphertext."""
    yield Send(asker, KeyProof(prove_key(key)))


def check_proof(key: PublicKey, *, holder: str) -> Party[None]:
    """At the asker: refuse an unfit key; the error names its holder."""
    proof = yield from receive(holder, KeyProof)
    try:
        check_key_proof(key, proof.roots)
    except MalformedError as error:
        raise error.by(holder) from error
