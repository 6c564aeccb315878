"""Encrypted rados (the paper's Protocol 1), in three forms that give the same numbers.

(a) The peer owns the data and makes its rados in plaintext:

    peer                                     evaluator
      ── RadoRows ⟨⟨π_σ⟩⟩ ──────────────────▶

(b) An intermediary makes them, without interaction and without seeing anything:

    peer                        intermediary                     evaluator
      ── SealedDocuments ──▶    draws σ, ½(Σσᵢ⟨⟨xᵢ⟩⟩ + Σ⟨⟨yᵢxᵢ⟩⟩)
         ⟨⟨xᵢ⟩⟩, ⟨⟨yᵢxᵢ⟩⟩         ── RadoRows ⟨⟨π_σ⟩⟩ ──────────▶    forgets σ

(c) As the paper prints it, with encrypted signatures: φ = ½ ⊗ (⟨⟨σ⟩⟩ ⊕ ⟨⟨y⟩⟩), then
S.MatProd of φ and ⟨⟨x⟩⟩ between the party that works and the key holder.

The intermediary learns how many documents the peer has. A holder of the rados
learns nothing: they are ciphertexts under the coordinator's key. The key holder
sees nothing of (a) and (b), and noise in (c). Half of σ + y is exact: the sum is
even, so it is multiplied by 2⁻¹ mod N.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    Plain,
    PublicKey,
    Unsent,
    encrypt,
    stack,
)
from sottovoce.protocols.conversation import EVALUATOR, Party, receive, send
from sottovoce.protocols.disclosures import BY_EVALUATOR_ALONE, PAILLIER_HIDES_FROM_EVALUATOR
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import matrix_product
from sottovoce.rados.signatures import draw_signs

Signs = NDArray[np.int64]


class SealedDocuments(Message, frozen=True):
    """⟨⟨xᵢ⟩⟩ and ⟨⟨yᵢxᵢ⟩⟩, a packed row for every document."""

    discloses: ClassVar = Disclosure(
        seen_by="the peer's intermediary, who cannot decrypt it",
        reveals="how many documents the peer has",
        assuming="Paillier encryption hides, and the intermediary and the key holder do not pool",
    )
    documents: Ciphertext
    edges: Ciphertext


class RadoRows(Message, frozen=True):
    """⟨⟨π_σ⟩⟩, a packed row for every signature."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVALUATOR_ALONE,
        reveals="how many rados were made, which is public",
        assuming=PAILLIER_HIDES_FROM_EVALUATOR,
    )
    rados: Ciphertext


@dataclass(frozen=True)
class Documents:
    """A peer's documents on the grid of a scale, with labels −1 and +1."""

    rows: Plain
    labels: Signs = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.rows.shape) != 2 or self.labels.shape != self.rows.shape[:1]:
            raise MismatchError(
                f"documents: expected one label a row, found {self.rows.shape} and "
                f"{self.labels.shape}"
            )
        if not np.isin(self.labels, (-1, 1)).all():
            raise InputError("documents: expected labels -1 and 1 alone")

    @property
    def edges(self) -> Plain:
        """yᵢxᵢ for every document."""
        return Plain(_wide(self.rows) * self.labels[:, None].astype(object), self.rows.scale)

    def rado_scale(self) -> Scale:
        """The scale of a rado: at most all documents add up in it."""
        return self.rows.scale.sum_of(len(self.labels))

    def slots(self, key: PublicKey) -> Slots:
        """Slots that hold twice a rado, which form (b) halves."""
        bound = 2 * self.rado_scale().bound
        return Slots.fit(bound, plaintext_bits=key.plaintext_bits)


def plain_rados(documents: Documents, signatures: Signs) -> Plain:
    """The ideal: ½ Σ (σᵢ + yᵢ) xᵢ in integers, a row for every signature."""
    picked = (_signs(signatures, documents) + documents.labels.astype(object)) // 2
    return Plain(picked @ _wide(documents.rows), documents.rado_scale())


def by_owner(
    documents: Documents, signatures: Signs, *, key: PublicKey, entropy: Entropy
) -> Ciphertext:
    """Form (a): the peer makes its rados and encrypts them."""
    slots = documents.slots(key)
    return encrypt(key, plain_rados(documents, signatures), slots=slots, entropy=entropy)


def upload(
    documents: Documents, *, intermediary: str, key: PublicKey, entropy: Entropy
) -> Party[None]:
    """Form (b) at the peer: its documents, encrypted, to its intermediary."""
    slots = documents.slots(key)
    sealed = [
        encrypt(key, plain, slots=slots, entropy=entropy)
        for plain in (documents.rows, documents.edges)
    ]
    yield from send(intermediary, SealedDocuments(*sealed))


def intermediate(
    peer: str, *, count: int, entropy: Entropy, evaluator: str = EVALUATOR
) -> Party[None]:
    """Form (b) at the intermediary: `count` rados of signatures that it draws and forgets."""
    sealed = yield from receive(peer, SealedDocuments)
    made = from_sealed(sealed, draw_signs(count, len(sealed.documents), entropy=entropy))
    yield from send(evaluator, RadoRows(made.fresh(entropy=entropy)))


def from_sealed(sealed: SealedDocuments, signatures: Signs) -> Unsent:
    """½(Σ σᵢ⟨⟨xᵢ⟩⟩ + Σ ⟨⟨yᵢxᵢ⟩⟩) for every signature."""
    documents, edges = sealed.documents, sealed.edges
    documents.layout.check_same(edges.layout, "sealed documents")
    if signatures.ndim != 2 or signatures.shape[1] != len(documents):
        raise MismatchError(
            f"signatures: expected signs for {len(documents)} documents, found {signatures.shape}"
        )
    signed = Plain(signatures.astype(object), Scale(0, 1)) @ documents
    common = edges.sum(axis=0)
    return (signed + stack([common] * len(signatures))).halved()


def as_printed(
    documents: Encrypted,
    labels: Encrypted,
    signatures: Encrypted,
    *,
    entropy: Entropy,
    masking: Masking | None = None,
) -> Party[Unsent]:
    """Form (c) at the party that works: rados of encrypted signatures, with the key holder.

    ⟨⟨x⟩⟩ by packed rows, ⟨⟨y⟩⟩ a vector, ⟨⟨σ⟩⟩ a matrix with a row for every rado.
    """
    phi = (signatures + stack([labels] * len(signatures))).halved()
    return (yield from matrix_product(phi, documents, entropy=entropy, masking=masking))


def lifted(
    sums: Plain,
    positions: tuple[int, ...],
    *,
    features: int,
    key: PublicKey,
    slots: Slots,
    entropy: Entropy,
) -> Ciphertext:
    """A peer's block sums in the joint coordinates: all others are fresh encrypted zeros."""
    if len(sums.shape) != 2 or sums.shape[1] != len(positions):
        raise MismatchError(f"lift: {len(positions)} positions for block sums of {sums.shape}")
    if sorted(set(positions) & set(range(features))) != sorted(positions):
        raise InputError(f"lift: expected distinct positions below {features}")
    whole = np.zeros((sums.shape[0], features), dtype=object)
    whole[:, list(positions)] = _wide(sums)
    return encrypt(key, Plain(whole, sums.scale), slots=slots, entropy=entropy)


def _signs(signatures: Signs, documents: Documents) -> NDArray[Any]:
    if signatures.ndim != 2 or signatures.shape[1] != len(documents.labels):
        raise MismatchError(
            f"signatures: expected signs for {len(documents.labels)} documents, "
            f"found shape {signatures.shape}"
        )
    if not np.isin(signatures, (-1, 1)).all():
        raise InputError("signatures: expected signs -1 and 1 alone")
    return signatures.astype(object)


def _wide(plain: Plain) -> NDArray[Any]:
    return plain.integers.astype(object)
