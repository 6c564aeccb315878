"""A peer's encrypted rows, and moments built from them by a party that cannot read them.

    peer (or owner)                     who builds (an intermediary, or an evaluator)
      ── SealedRows ⟨⟨xᵢ⟩⟩, ⟨⟨yᵢxᵢ⟩⟩, in parts ──▶   b = Σ ⟨⟨yᵢxᵢ⟩⟩: no question needed
                                        draws signatures σ:  Σ σᵢ⟨⟨xᵢ⟩⟩, twice a centred rado
                                        A = Σ x xᵀ, or its mean over rados: S.MatProd
                                        with the key holder, who sees noise

A rado is π_σ = ½(Σσᵢxᵢ + Σyᵢxᵢ) (paper/encrypted_rados.py, form b). Its mean over all signatures is
half of b, which is known exactly here. So only the centred half Σσᵢxᵢ goes into the second moment:
with n signatures (1/n) Σ_σ (Σσᵢxᵢ)(Σσᵢxᵢ)ᵀ, which is Σ x xᵀ on average. Without signatures (`rados`
0) the rows themselves are multiplied, which is exact.

Who learns what. The builder: how many rows there are, filled up with zeros. The key holder: the
number of questions, which follows from public numbers, and noise. Assuming that the two do not
pool: the key and these ciphertexts together are the peer's rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Layout,
    Plain,
    PublicKey,
    SecretKey,
    Unsent,
    encrypt,
    total,
)
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import FixedFactors, matrix_product
from sottovoce.rados.signatures import draw_signs
from sottovoce.study.stages.contributions import row_weights
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.text.passes import training_examples

Floats = NDArray[np.float64]

# The number of ciphertexts of rows in one message; one question multiplies them.
_TOGETHER = 2048


class SealedRows(Message, frozen=True):
    """Some of a peer's rows, one value a ciphertext, and packed edges for every class."""

    discloses: ClassVar = Disclosure(
        seen_by="the peer's intermediary, which builds moments for it and cannot decrypt them",
        reveals="how many documents the peer has, filled up with rows of zeros",
        assuming="Paillier hides, and the intermediary does not pool with the coordinator's key",
    )
    rows: Ciphertext
    edges: tuple[Ciphertext, ...]


@dataclass(frozen=True)
class TablePlan:
    """The plan by which a table of rows is sent and multiplied, from public numbers alone."""

    rows: int
    width: int
    rados: int
    row_scale: Scale
    edge_scale: Scale
    edges: int

    def parts(self, rows: int) -> Iterator[slice]:
        """Yield the rows in parts that fit into a message."""
        step = max(1, _TOGETHER // self.width)
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    @property
    def products(self) -> int:
        """The number of products for which the key holder is asked."""
        return len(list(self.parts(self.rados or self.rows)))


@dataclass(frozen=True, repr=False)
class OwnRows:
    """A peer's rows and edges in the clear, weighted as the plan says."""

    rows: Floats
    edges: tuple[Floats, ...]


def root_bits(rados: int) -> int:
    """Return the bits of √n for n rados, where n is a power of 4; 0 without rados."""
    return max(0, rados.bit_length() - 1) // 2


def own_rows(study: Study, prepared: Prepared, training: Sequence[Document]) -> OwnRows:
    """At a peer: return √w·x and w·y·x of every row."""
    assert prepared.space is not None
    rows: list[Any] = []
    targets: list[Any] = []
    weights: list[Any] = []
    plan = study.plan
    for block in training_examples(
        training, prepared.space, plan.labelled, fewest=plan.min_documents, key=prepared.key
    ):
        rows.append(block.rows.toarray())
        targets.append(block.targets)
        weights_of_rows = row_weights(study, prepared.totals, block)
        weights.append(np.ones(len(block.targets)) if weights_of_rows is None else weights_of_rows)
    X, Y, w = np.concatenate(rows), np.concatenate(targets), np.concatenate(weights)[:, np.newaxis]
    return OwnRows(np.sqrt(w) * X, tuple(w * X * y[:, np.newaxis] for y in Y.T))


def upload_rows(
    mine: OwnRows, plan: TablePlan, *, to: str, slots: Slots, key: PublicKey, entropy: Entropy
) -> Party[None]:
    """At a peer: send its encrypted rows, padded with rows of zeros."""
    missing = plan.rows - len(mine.rows)
    filled = [
        np.vstack([array, np.zeros((missing, plan.width))]) for array in (mine.rows, *mine.edges)
    ]
    for part in plan.parts(plan.rows):
        rows = encrypt(key, Plain.of(filled[0][part], plan.row_scale), entropy=entropy)
        edges = tuple(
            encrypt(key, Plain.of(edges[part], plan.edge_scale), slots=slots, entropy=entropy)
            for edges in filled[1:]
        )
        yield Send(to, SealedRows(rows, edges))


def take_rows(sender: str, plan: TablePlan, *, slots: Slots) -> Party[list[SealedRows]]:
    """At the intermediary: receive all parts, and check their form."""
    parts = []
    for part in plan.parts(plan.rows):
        sealed = yield from receive(sender, SealedRows)
        shape = (part.stop - part.start, plan.width)
        rows = agreed_from(sender, sealed.rows, Layout(shape), plan.row_scale)
        edges = tuple(
            agreed_from(sender, edge, Layout(shape, slots), plan.edge_scale)
            for edge in sealed.edges
        )
        parts.append(SealedRows(rows, edges))
    return parts


def sealed_products(parts: Sequence[SealedRows]) -> list[Unsent]:
    """Return ⟨⟨b⟩⟩ of every class: sums of edges."""
    by_class = zip(*(part.edges for part in parts), strict=True)
    return [total([edges.sum(axis=0) for edges in column]) for column in by_class]


def sealed_second(
    parts: Sequence[SealedRows],
    plan: TablePlan,
    *,
    slots: Slots,
    masking: Masking,
    entropy: Entropy,
) -> Party[Unsent]:
    """At the intermediary: return ⟨⟨A⟩⟩ by rows, with the key holder's help."""
    blocks = []
    for block in _multiplied(parts, plan, entropy=entropy):
        product = yield from matrix_product(
            block.T, block.packed(slots), entropy=entropy, masking=masking
        )
        blocks.append(product)
    return total(blocks)


def _multiplied(parts: Sequence[SealedRows], plan: TablePlan, *, entropy: Entropy) -> Iterator[Any]:
    """Yield the factors of the product: rows, or centred rados, whose signatures are not kept."""
    if not plan.rados:
        yield from (part.rows for part in parts)
        return
    signs = draw_signs(plan.rados, plan.rows, entropy=entropy)
    for rados in plan.parts(plan.rados):
        start, sums = 0, []
        for part in parts:
            stop = start + len(part.rows)
            picked = Plain(signs[rados, start:stop].astype(object), Scale(0, 1))
            sums.append(picked @ part.rows)
            start = stop
        yield total(sums).divided(root_bits(plan.rados))


def product_stages(
    key: SecretKey, plan: TablePlan, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """Return the key holder's stages for an intermediary: one product after the other."""
    return [
        stage
        for _ in range(plan.products)
        for stage in FixedFactors(key).stages(budget=1, entropy=entropy)
    ]
