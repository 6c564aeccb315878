"""The filter of buckets that too few peers have, before the coordinator sees any counts.

    peer p                               coordinator C                    evaluator E
      │ CountSeed ─────────────────────────────│────────────────────────────▶│
      │ counts − what the seed stands for ────▶│ in a blind sum              │
      │ one for each bucket that it kept ──────│── in a blind sum ──────────▶│
      │                                        │◀── KeptCounts ──────────────│

Who learns what. E learns how many peers kept each bucket, without the key that turns words into
buckets, and nothing of the counts. C learns the sums of buckets that enough peers kept. For any
other bucket it cannot tell whether one peer has it or none. Assuming that C and E do not pool, and
that no peer gives the dictionary's key to either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Expansion
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import Words, from_ring, to_ring
from sottovoce.protocols.blind_sum import SummedVector, WordSpace
from sottovoce.protocols.conversation import Party, Send, gather, receive
from sottovoce.protocols.disclosures import BY_COORDINATOR, BY_EVALUATOR_SEALED, TWO_DO_NOT_POOL
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.study.party_context import PartyContext
from sottovoce.study.study import Study
from sottovoce.text.dictionary.counts import CountLayout

_PURPOSE = "roles/counts/v1"


class CountSeed(Message, frozen=True):
    """The seed of the evaluator's share of one peer's counts."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVALUATOR_SEALED,
        reveals="nothing: a seed of random numbers, which stand for one half of the counts",
        assuming=TWO_DO_NOT_POOL,
    )
    seed: bytes


class KeptCounts(Message, frozen=True):
    """The buckets that enough peers kept, and the evaluator's share of their counts."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR,
        reveals="the sums over all peers of the counts of buckets that enough peers kept; "
        "of all others not even whether somebody has them",
        assuming="no peer gives the dictionary's key to the coordinator",
    )
    buckets: wire.Words
    shares: wire.Words


@dataclass(frozen=True)
class BucketFilter:
    """The filter that keeps the buckets of at least `fewest` peers."""

    layout: CountLayout
    fewest: int

    @classmethod
    def of(cls, study: Study, layout: CountLayout) -> Self | None:
        """Return the filter of a study; None if no buckets are left out."""
        return cls(layout, study.plan.feature_min_peers) if study.leaves_out_buckets else None

    @property
    def rows(self) -> int:
        """The number of counts of a bucket."""
        return self.layout.table_length // self.layout.buckets

    @property
    def head(self) -> int:
        """The number of row totals, which precede the counts and are not hidden from C."""
        return self.layout.length - self.layout.table_length

    @property
    def words(self) -> int:
        """The number of words that mark a peer's buckets: two buckets to a word."""
        return -(-self.layout.buckets // 2)

    def part(self, evaluator: str) -> SummedVector:
        """Return the blind sum of how many peers kept each bucket."""
        return SummedVector(evaluator, "peers", WordSpace((self.words,)))

    def kept_words(self, vector: NDArray[np.int64]) -> Words:
        """Return a 1 for each bucket that a peer kept; sums of up to 2^32 − 1 peers never carry."""
        table = vector[self.head :].reshape(-1, self.layout.buckets)
        kept = np.zeros(2 * self.words, "<u4")
        kept[: self.layout.buckets] = (table > 0).any(axis=0)
        return kept.view("<u8").astype(np.uint64, copy=False)

    def kept(self, words: Words) -> NDArray[np.int64]:
        """Return the buckets that enough peers kept, from the sum of their words."""
        peers = words.astype("<u8").view("<u4")[: self.layout.buckets]
        return np.flatnonzero(peers >= self.fewest)

    def share(self, party: PartyContext, seed: bytes) -> Words:
        """Expand a seed into its share."""
        words = Expansion(seed, _PURPOSE, party.session).words(self.layout.table_length)
        return words.reshape(-1, self.layout.buckets)

    def whole(self, vector: NDArray[np.int64], kept: Words, shares: Words) -> NDArray[np.int64]:
        """Return the sums, with zeros for buckets that were not kept."""
        table = vector[self.head :].view(np.uint64).reshape(-1, self.layout.buckets)
        opened = np.zeros(table.shape, np.int64)
        opened[:, kept] = from_ring(table[:, kept] + shares)
        return np.concatenate([vector[: self.head], opened.reshape(-1)])


def hide_counts(
    party: PartyContext, filtered: BucketFilter, vector: NDArray[np.int64]
) -> Party[list[Words]]:
    """At a peer: send the evaluator a seed; return the parts of the two blind sums."""
    seed = party.entropy.seed()
    yield Send(party.study.roster.evaluator, CountSeed(seed))
    hidden = to_ring(vector).copy()
    hidden[filtered.head :] -= filtered.share(party, seed).reshape(-1)
    return [hidden, filtered.kept_words(vector)]


def hear_seeds(party: PartyContext) -> Party[dict[str, bytes]]:
    """At the evaluator: gather the seeds of all peers that came in time."""
    messages = yield from gather(CountSeed, party.peers)
    for name, message in messages.items():
        if len(message.seed) != SEED_BYTES:
            raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=name)
    return {name: message.seed for name, message in messages.items()}


def send_kept(
    party: PartyContext, filtered: BucketFilter, seeds: Mapping[str, bytes], peers: Words
) -> Party[None]:
    """At the evaluator: send its share of the counts that enough of these peers kept."""
    kept = filtered.kept(peers)
    total = np.zeros((filtered.rows, len(kept)), np.uint64)
    for seed in seeds.values():
        total += filtered.share(party, seed)[:, kept]
    message = KeptCounts(wire.Words.of(kept.astype(np.uint64)), wire.Words.of(total))
    yield Send(party.study.roster.coordinator, message)


def take_kept(
    party: PartyContext, filtered: BucketFilter, vector: NDArray[np.int64]
) -> Party[NDArray[np.int64]]:
    """At the coordinator: return the sums of buckets that enough peers kept."""
    kept_counts = yield from receive(party.study.roster.evaluator, KeptCounts)
    kept, shares = kept_counts.buckets.array(), kept_counts.shares.array()
    rows = filtered.rows
    rising = kept.ndim == 1 and not (kept[1:] <= kept[:-1]).any()
    inside = rising and not (kept >= filtered.layout.buckets).any()
    if not inside or shares.shape != (rows, len(kept)):
        raise ViolationError(
            f"expected shares of {rows} counts for each of some of {filtered.layout.buckets} "
            "buckets, in order",
            party=party.study.roster.evaluator,
        )
    return filtered.whole(vector, kept, shares)
