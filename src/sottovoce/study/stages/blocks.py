"""Block rados of partition `features` in shares: joined by block, then multiplied.

    first peer        other peers         coordinator C            evaluator E       dealer D
      │ CountsKey ────────▶│                    │                       │                │
      │ CountsDigest ──────┼───────────────────▶│ all the same?         │                │
      │ ShareSeed ─────────┼────────────────────┼──────────────────────▶│                │
      │ block columns − PRG(seed), in a blind sum ─▶│                   │                │
      │                    │                    │─── BlockNumbers ──────────────────────▶│
      │                    │   shares/products.py: A = Σ_blocks u uᵀ    │                │
      │                    │   shares/truncation.py: A at its own scale │                │

A block is one value of every shared column and one class. The plan enumerates all blocks
beforehand, so nobody has to say which ones occur. The counts of blocks are the same at every peer:
each divides its sums by √count itself, and zeroes blocks below the minimum. b = Σ_blocks ±√count·u
is a sum of numbers that each peer can compute alone.

Who learns what. C learns whether all peers have the same counts (a keyed digest, whose key the
peers keep). C and E learn the totals and c; D learns the size of the enumeration. Nobody but the
peers learns counts, or which blocks survive. Assuming that no peer gives the key to C, and that no
two of C, E, D pool: together they would see block sums and which peer's they are, because every
feature has one holder.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sottovoce.errors import OtherEntitiesError, ViolationError
from sottovoce.numbers import ring
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ONE_PEER
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.holders import deal_to_run
from sottovoce.protocols.shares.products import Product, deal_product, multiplied
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.protocols.shares.truncation import RingTruncation, deal_truncation, truncated
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import StudyPlan
from sottovoce.study.stages.centring import ToldSpectrum
from sottovoce.study.stages.contributions import (
    Contributed,
    MomentPlan,
    end_parts,
    first_half,
    second_half,
    send_halves,
)
from sottovoce.study.stages.holdings import PeerBlocks, block_columns
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.solving import holding
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.text.documents import Document

# The round number of one-time material for joining; solves have others.
_BLOCK_ROUND = 4000
_PURPOSE = "block columns"
_HELD = "study/blocks at a holder/v1"
# The sums of squares of columns stay below 2^61, so columns have no more bits than these.
_PRODUCT_BITS = 60
_MOST_COLUMN_BITS = 22


class CountsKey(Message, frozen=True):
    """The key under which peers show that their blocks have the same counts."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_PEER,
        reveals="nothing: random bytes",
        assuming="no peer gives it to the coordinator, who could test guesses of counts with it",
    )
    key: bytes


class CountsDigest(Message, frozen=True):
    """A keyed digest of the counts of a peer's blocks."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who compares what all peers sent",
        reveals="whether this peer's blocks have the counts of the others' blocks",
        assuming="no peer gives the key of the digest to the coordinator",
    )
    digest: bytes


class BlockNumbers(Message, frozen=True):
    """The number of bits that the dealer's truncation cuts from the joined second moment."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer, who deals for the joining of blocks",
        reveals="a number of bits that follows from the rounded totals",
        assuming="the totals and the enumeration of blocks are named on the study card",
    )
    cut: int


@dataclass(frozen=True)
class BlockPlan:
    """The plan by which block columns are written, multiplied and truncated."""

    blocks: int
    moments: MomentPlan
    columns: Scale

    @classmethod
    def of(cls, plan: StudyPlan, totals: Totals) -> Self:
        """Return the plan, which is the same at every party."""
        moments = MomentPlan.of(plan, totals)
        top = moments.scales.matrix.bits - moments.scales.matrix.fraction_bits
        bits = min(_MOST_COLUMN_BITS, (_PRODUCT_BITS - top) // 2)
        # A column entry is at most √count, because every feature is at most 1.
        scale = Scale.covering(float(np.sqrt(totals.rows)), fraction_bits=bits)
        return cls(plan.blocks, moments, scale)

    @property
    def purpose(self) -> str:
        """The name of the shared values."""
        return "blocks"

    @property
    def cut(self) -> int:
        """The bits to cut between the scale of products and that of the second moment."""
        return 2 * self.columns.fraction_bits - self.moments.scales.matrix.fraction_bits

    @property
    def size(self) -> int:
        """The number of words of the block columns."""
        return self.blocks * self.moments.width

    @property
    def length(self) -> int:
        """The number of words of a peer's contribution."""
        return self.size + self.moments.width * self.moments.classes

    def write(self, mine: PeerBlocks) -> Words:
        """Return a peer's block columns and products as one array of words."""
        columns = ring.encode(mine.rows, self.columns)
        products = ring.encode(mine.moments.products, self.moments.scales.vectors)
        return np.concatenate([columns.ravel(), products.ravel()])


def gram(blocks: int, width: int) -> Product:
    """Return the product Σ_blocks u uᵀ of shared columns u, as a triangle."""
    triangle = Triangle(width)

    def form(left: Words, right: Words) -> Words:
        return triangle.pack(ring.matmul(np.ascontiguousarray(left.T), right))

    return Product(form, (blocks, width))


def contribute_blocks(
    party: PartyContext, prepared: Prepared, training: Sequence[Document]
) -> Party[Contributed | None]:
    """At a peer: send its block columns in two shares; None if they came too late."""
    study = party.study
    mine = own_blocks(party, prepared, training)
    yield from show_counts(party, mine)
    layout = BlockPlan.of(study.plan, prepared.totals)
    end = end_parts(mine.moments, fraction_bits=layout.moments.scales.matrix.fraction_bits)
    return (yield from send_halves(party, layout, layout.write(mine), spectrum=ToldSpectrum(end)))


def collect_blocks(party: PartyContext, prepared: Prepared) -> Party[Contributed]:
    """At the coordinator: return the first share of the joined second moment, and c."""
    study = party.study
    yield from compare_counts(study)
    layout = BlockPlan.of(study.plan, prepared.totals)
    half = yield from first_half(party, layout)
    yield Send(study.trio.dealer, BlockNumbers(layout.cut))
    return (yield from _joined(party, layout, half))


def expand_blocks(party: PartyContext, prepared: Prepared) -> Party[Contributed]:
    """At the evaluator: return the second share of the joined second moment, and c."""
    layout = BlockPlan.of(party.study.plan, prepared.totals)
    return (yield from _joined(party, layout, (yield from second_half(party, layout))))


def deal_blocks(party: PartyContext) -> Party[None]:
    """At the dealer: deal for the product and the truncation."""
    study = party.study
    numbers_of_blocks = yield from receive(study.roster.coordinator, BlockNumbers)
    if not 1 <= numbers_of_blocks.cut < _PRODUCT_BITS:
        raise ViolationError(
            f"expected a truncation of 1 to {_PRODUCT_BITS} bits, found {numbers_of_blocks.cut}",
            party=study.roster.coordinator,
        )
    context = party.context(party.peers, round=_BLOCK_ROUND)
    dealer = yield from deal_to_run(study.trio, context, ledger=party.ledger, entropy=party.entropy)
    product = gram(study.plan.blocks, study.plan.width)
    yield from deal_product(dealer, product, purpose=_PURPOSE)
    yield from deal_truncation(
        dealer, RingTruncation(numbers_of_blocks.cut), product.shape(), purpose=_PURPOSE
    )


def _joined(party: PartyContext, layout: BlockPlan, half: Contributed) -> Party[Contributed]:
    """At a holder: return its share of the triangle of A and of b, from that of block columns."""
    width, words = layout.moments.width, half.words
    assert words is not None
    context = party.context(party.peers, round=_BLOCK_ROUND)
    holder = yield from holding(party, context, _HELD, words)
    columns = words[: layout.size].reshape(layout.blocks, width)
    product = gram(layout.blocks, width)
    fine = yield from multiplied(holder, columns, None, product, purpose=_PURPOSE)
    matrix = yield from truncated(holder, fine, RingTruncation(layout.cut), purpose=_PURPOSE)
    return replace(half, words=np.concatenate([matrix, words[layout.size :]]))


def own_blocks(party: PartyContext, prepared: Prepared, training: Sequence[Document]) -> PeerBlocks:
    """At a peer: return its own block columns."""
    assert prepared.space is not None
    return block_columns(
        party.study,
        prepared.space,
        party.name,
        training,
        key=prepared.key,
        totals=prepared.totals,
    )


def show_counts(party: PartyContext, mine: PeerBlocks) -> Party[None]:
    """At a peer: send a digest of its counts, under a key that the coordinator does not have."""
    study = party.study
    first, *others = study.roster.peers
    if party.name == first:
        key = party.entropy.seed()
        for name in others:
            yield Send(name, CountsKey(key))
    else:
        counts_key = yield from receive(first, CountsKey)
        key = counts_key.key
    counts = np.rint(mine.blocks.roots**2).astype(np.uint64)
    numbers = np.concatenate([counts, [mine.blocks.dropped_blocks, mine.blocks.dropped_rows]])
    shown = digest("roles/block-counts/v1", key, study.digest, numbers.astype("<u8").tobytes())
    yield Send(study.roster.coordinator, CountsDigest(shown))


def compare_counts(study: Study) -> Party[None]:
    """At the coordinator: refuse peers that do not hold the same entities."""
    digests = {}
    for name in study.roster.peers:
        digests[name] = (yield from receive(name, CountsDigest)).digest
    ((usual, holders),) = Counter(digests.values()).most_common(1)
    # Where no two agree, nobody can tell who is right.
    odd = [name for name, digest in digests.items() if digest != usual or holders == 1]
    if odd:
        raise OtherEntitiesError(
            "expected the same blocks and counts at all peers, found others: peers must hold the "
            "same entities with the same labels",
            party=", ".join(odd),
            hints=("leave out entities that not every peer has",),
        )
