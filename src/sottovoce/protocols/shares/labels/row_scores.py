"""Scores of rows that only the asker knows, from a model that two others hold in shares.

    dealer        first (C)                      second (E)                    asker
      |  seeds ---->|----------------------------->|                             |   (holders.py)
      |  RowSeeds: what v_C and v_E are drawn from ----------------------------->|
      |  DealtScores: ⟨u, v⟩ of every row, less the second's half                |
      |------------>|                              |                             |
      |             |   θ_C − u_C,  θ_E − u_E      |                             |
      |             |<---------------------------->|   Δ = θ − u                 |
      |             |                              |   AskedRows: e = x − v     |
      |             |<-----------------------------|<----------------------------|

⟨θ, x⟩ = ⟨Δ, e + v⟩ + ⟨u, e⟩ + ⟨u, v⟩ for every row x and every class: the first holder computes ⟨Δ,
e + v_C⟩ + ⟨u_C, e⟩ + w_C, the second ⟨Δ, v_E⟩ + ⟨u_E, e⟩ + w_E, where w is dealt. Words have 32
bits if every score fits into a ring of 32 bits, else 64.

Who learns what: the holders see Δ and every e, uniform and independent of each other and of model
and rows; u is used for one query, v for one row. The asker sees seeds, and nothing of the model.
The dealer receives nothing. Any two of first, second and dealer together could read the rows and
the model. The asker together with one of them learns no more than each alone. If nobody else deals,
the asker may deal for itself: then it and one holder together could read the model, but still
nobody else can read its rows. Assuming that everyone follows the protocol, and no two of them pool.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, Expansion
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.numbers.row_products import AnyWords, row_products
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ASKER, DEALER_POOLS_WITH_NEITHER, SECOND_HOLDERS_HALF
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.holders import Dealer, Holder, Trio, deal_seeds, take_seed
from sottovoce.protocols.shares.material import Context, Ledger
from sottovoce.protocols.shares.rings import Ring

SHORT_BITS = 32
# The most bytes of a message of rows: in a box (padded to 15 parts of 2^17) it still fits into one
# request of 2 MiB. Then the bytes of rows that are processed at a time.
_MESSAGE_BYTES = 15 * 2**17 - 2**10
_CACHE_BYTES = 2**19
# The number of a row's last columns whose shares the holders keep: thresholds multiply them.
TAIL = 2

WireWords = wire.Words | wire.ShortWords


class RowSeeds(Message, frozen=True):
    """The seeds of the masks of all rows of a query, for both holders."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="nothing: it was drawn at random, and no mask of the model follows from it",
        assuming="the dealer seals it to the asker, and pools with neither holder",
    )
    first: bytes
    second: bytes


class DealtScores(Message, frozen=True):
    """The first holder's shares of the scores of masks, which its seed cannot give."""

    discloses: ClassVar = SECOND_HOLDERS_HALF
    words: wire.Words | wire.ShortWords


class MaskedModel(Message, frozen=True):
    """A share of Δ = θ − u, the model under a mask that serves one query."""

    discloses: ClassVar = Disclosure(
        seen_by="the other of the two holders of the model's shares",
        reveals="nothing: u is uniform, used for this query only, and known to neither holder",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )
    words: wire.Words | wire.ShortWords


class AskedRows(Message, frozen=True):
    """Rows of the asker's documents, every column under a mask that serves this row only."""

    discloses: ClassVar = Disclosure(
        seen_by="coordinator and evaluator, who hold shares of the model",
        reveals="nothing: the masks are uniform, and each holder knows half of every one",
        assuming="no two of coordinator, evaluator and dealer pool",
    )
    words: wire.Words | wire.ShortWords


@dataclass(frozen=True)
class RowPlan:
    """The public numbers of a query: rows, columns, classes and the ring."""

    documents: int
    columns: int
    classes: int
    ring: Ring

    def __post_init__(self) -> None:
        if min(self.documents, self.classes) < 1 or self.columns < TAIL:
            raise InputError(
                f"rows: expected at least 1 document, {TAIL} columns and 1 class, found "
                f"{self.documents}, {self.columns} and {self.classes}"
            )

    @property
    def is_short(self) -> bool:
        """Whether words of 32 bits are large enough."""
        return self.ring.bits <= SHORT_BITS

    @property
    def word_bytes(self) -> int:
        """The number of bytes of a word in a message."""
        return 4 if self.is_short else 8

    def draw(self, entropy: Entropy, *shape: int) -> AnyWords:
        """Uniform words."""
        return entropy.short_words(*shape) if self.is_short else entropy.words(*shape)

    def narrowed(self, words: Words) -> AnyWords:
        """Return shares mod 2^64 as words of this plan."""
        return words.astype(np.uint32) if self.is_short else words

    def widened(self, words: AnyWords) -> Words:
        """Return words of this plan as shares in the ring."""
        return self.ring.reduce(words.astype(np.uint64, copy=False))

    def written(self, words: AnyWords) -> WireWords:
        """Return words in the form in which they are sent, which views them."""
        return wire.ShortWords.viewing(words) if self.is_short else wire.Words.viewing(words)  # type: ignore[arg-type]

    def read(self, words: WireWords, shape: tuple[int, ...], *, sender: str, what: str) -> AnyWords:
        """Return received words, after checking their size and shape."""
        expected = wire.ShortWords if self.is_short else wire.Words
        if not isinstance(words, expected) or words.shape != shape:
            raise ViolationError(
                f"{what}: expected {expected.__name__} of shape {shape}, found "
                f"{type(words).__name__} of shape {words.shape}",
                party=sender,
            )
        return words.array()

    def messages(self) -> Iterator[slice]:
        """Yield the rows that are sent together."""
        return self._cut(range(self.documents), _MESSAGE_BYTES)

    def pieces(self, part: slice) -> Iterator[slice]:
        """Yield the rows of a message that are processed together."""
        return self._cut(range(part.start, part.stop), _CACHE_BYTES)

    def _cut(self, rows: range, size: int) -> Iterator[slice]:
        count = max(1, size // (self.columns * self.word_bytes))
        for start in range(rows.start, rows.stop, count):
            yield slice(start, min(start + count, rows.stop))


@dataclass(frozen=True, repr=False)
class Scored:
    """A holder's shares of the scores, (documents, classes), and of every row's last columns."""

    scores: Words
    tails: Words


class _Masks:
    """One holder's half of the masks of all rows, in order."""

    def __init__(self, plan: RowPlan, seed: bytes, context: Context) -> None:
        self._plan = plan
        self._stream = Expansion(seed, "shares/rows/v1", context.encode())

    def of(self, rows: slice) -> AnyWords:
        """The masks of the next rows."""
        return self._plan.draw(self._stream, rows.stop - rows.start, self._plan.columns)


def score_shares(
    holder: Holder, plan: RowPlan, model: Words, *, asker: str, context: Context
) -> Party[Scored]:
    """At a holder: return its shares of every score, given its share of the model."""
    shape = (plan.columns, plan.classes)
    if model.shape != shape:
        raise MismatchError(f"rows: expected a model of shape {shape}, found {model.shape}")
    mask = plan.draw(holder.material.stream("model mask"), *shape)
    delta = yield from _opened_model(holder, plan, plan.narrowed(model) - mask)
    masks = _Masks(plan, holder.material.stream("row seed").seed(), context)
    scores = (yield from _dealt(holder, plan)).copy()
    tails = np.empty((plan.documents, TAIL), scores.dtype)
    factor = mask + delta if holder.first else mask
    for part in plan.messages():
        asked_rows = yield from receive(asker, AskedRows)
        rows = (part.stop - part.start, plan.columns)
        masked = plan.read(asked_rows.words, rows, sender=asker, what="AskedRows")
        for piece in plan.pieces(part):
            half = masks.of(piece)
            here = masked[piece.start - part.start : piece.stop - part.start]
            scores[piece] += row_products(half, delta) + row_products(here, factor)
            tails[piece] = half[:, -TAIL:]
            if holder.first:
                tails[piece] += here[:, -TAIL:]
    return Scored(plan.widened(scores), plan.widened(tails))


def _opened_model(holder: Holder, plan: RowPlan, share: AnyWords) -> Party[AnyWords]:
    yield Send(holder.other, MaskedModel(plan.written(share)))
    other_model = yield from receive(holder.other, MaskedModel)
    return share + plan.read(
        other_model.words, share.shape, sender=holder.other, what="MaskedModel"
    )


def _dealt(holder: Holder, plan: RowPlan) -> Party[AnyWords]:
    """Return a holder's share of ⟨u, v⟩ of every row."""
    shape = (plan.documents, plan.classes)
    if not holder.first:
        return plan.draw(holder.material.stream("scores of masks"), *shape)
    dealt = yield from receive(holder.trio.dealer, DealtScores)
    return plan.read(dealt.words, shape, sender=holder.trio.dealer, what="DealtScores")


def deal_scores(
    dealer: Dealer, plan: RowPlan, context: Context, *, asker: str = ""
) -> Party[RowSeeds]:
    """At the dealer: send the asker seeds (unless it deals for itself), then scores of masks."""
    streams = dealer.streams("model mask")
    ours, theirs = (plan.draw(stream, plan.columns, plan.classes) for stream in streams)
    model = ours + theirs
    seeds = tuple(stream.seed() for stream in dealer.streams("row seed"))
    if asker:
        yield Send(asker, RowSeeds(*seeds))
    masks = [_Masks(plan, seed, context) for seed in seeds]
    half = plan.draw(dealer.second.stream("scores of masks"), plan.documents, plan.classes)
    dealt = np.negative(half)
    for part in plan.messages():
        for piece in plan.pieces(part):
            rows = masks[0].of(piece)
            rows += masks[1].of(piece)
            dealt[piece] += row_products(rows, model)
    yield from dealer.send(DealtScores(plan.written(dealt)))
    return RowSeeds(*seeds)


def send_rows(
    trio: Trio, plan: RowPlan, rows: sparse.csr_array, seeds: RowSeeds, context: Context
) -> Party[None]:
    """At the asker: send every row under its masks to both holders.

    The second holder gets each part first, so if the first has all rows, the second has them too.
    """
    if rows.shape != (plan.documents, plan.columns):
        raise MismatchError(
            f"rows: expected shape {(plan.documents, plan.columns)}, found {rows.shape}"
        )
    for seed in (seeds.first, seeds.second):
        if len(seed) != SEED_BYTES:
            raise ViolationError(f"expected seeds of {SEED_BYTES} bytes", party=trio.dealer)
    masks = _Masks(plan, seeds.first, context), _Masks(plan, seeds.second, context)
    for part in plan.messages():
        masked = np.empty((part.stop - part.start, plan.columns), masks_type(plan))
        for piece in plan.pieces(part):
            here = slice(piece.start - part.start, piece.stop - part.start)
            masked[here] = masks[0].of(piece)
            masked[here] += masks[1].of(piece)
            np.negative(masked[here], out=masked[here])
            _add_rows(masked[here], rows, piece)
        asked_rows = AskedRows(plan.written(masked))
        yield Send(trio.second, asked_rows)
        yield Send(trio.first, asked_rows)


def masks_type(plan: RowPlan) -> Any:
    """The type of a plan's words."""
    return np.uint32 if plan.is_short else np.uint64


def _add_rows(masked: AnyWords, rows: sparse.csr_array, piece: slice) -> None:
    """Add the nonzero entries of the rows."""
    start, stop = rows.indptr[piece.start], rows.indptr[piece.stop]
    counts = np.diff(rows.indptr[piece.start : piece.stop + 1])
    places = np.repeat(np.arange(len(counts)), counts) * masked.shape[1] + rows.indices[start:stop]
    entries = rows.data[start:stop].astype(np.int64).astype(masked.dtype)
    masked.reshape(-1)[places] += entries


def run(
    plan: RowPlan,
    model: tuple[Words, Words],
    rows: sparse.csr_array,
    trio: Trio,
    context: Context,
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the protocol in memory; return both holders' shares of the scores, and all views."""
    asker = "asker"

    def holder(me: str, share: Words) -> Party[Scored]:
        taken = yield from take_seed(trio, me, context, ledger=Ledger())
        return (yield from score_shares(taken, plan, share, asker=asker, context=context))

    def dealer() -> Party[None]:
        dealt = yield from deal_seeds(trio, context, ledger=Ledger(), entropy=entropy)
        yield from deal_scores(dealt, plan, context, asker=asker)

    def asking() -> Party[None]:
        seeds = yield from receive(trio.dealer, RowSeeds)
        yield from send_rows(trio, plan, rows, seeds, context)

    programs: dict[str, Party[Any]] = {
        trio.first: holder(trio.first, model[0]),
        trio.second: holder(trio.second, model[1]),
        trio.dealer: dealer(),
        asker: asking(),
    }
    return converse(programs, session=context.encode(), meddler=meddler)
