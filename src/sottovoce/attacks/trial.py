"""Trials of the attacks: documents exposed in one way, attacked, and compared with the truth.

Each trial ends with a control: every attack on the same numbers behind masks, as the
protocols send them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.attacks.blocks import attack_blocks
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.exposure import ExposedBlocks, ExposedMoments, ExposedRados
from sottovoce.attacks.known_signatures import attack_known_signatures
from sottovoce.attacks.recovered import Recovered, Score, score
from sottovoce.attacks.second_moments import attack_moments
from sottovoce.attacks.unknown_signatures import attack_unknown_signatures
from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.rados import BlockSums, Moments, Part, RadoMoments, RandomSignatures, rados
from sottovoce.rados.rows import Floats
from sottovoce.text.tokenizing.tokens import WordTokenizer

_FRACTION = 2.0**20
PRUNED_BELOW = 3
SMALLEST_BLOCK = 3


@dataclass(frozen=True)
class AttackTrial:
    """An observer's view, in words, and the part of the documents that was recovered."""

    seen: str
    score: Score


def word_counts(texts: Sequence[str]) -> Any:
    """Documents as counts of words (a sparse row each), read as a study reads them."""
    reader = WordTokenizer()
    places: dict[str, int] = {}
    words: list[int] = []
    ends = [0]
    for text in texts:
        for piece in reader.pieces(text):
            words += [places.setdefault(word, len(places)) for word in reader.fold(piece)]
        ends.append(len(words))
    if not words:
        raise InputError("attack: the texts have no words")
    rows = sparse.csr_array((np.ones(len(words)), words, ends), shape=(len(texts), len(places)))
    rows.sum_duplicates()
    return rows


def try_rados(
    part: Part, signatures: RandomSignatures, *, entropy: Entropy
) -> Iterator[AttackTrial]:
    """Rados in the clear: signatures unknown, then known, then rados behind masks."""
    seen = rados(part, signatures)
    known = ExposedRados.of(seen, signatures.whole())
    yield _trial("signatures unknown", part, attack_unknown_signatures(ExposedRados(seen)))
    yield _trial("signatures known", part, attack_known_signatures(known))
    hidden = attack_everything([masked(seen, entropy), known.signatures])
    yield _trial("masked rados", part, hidden.documents)


def try_moments(part: Part, *, entropy: Entropy) -> Iterator[AttackTrial]:
    """Opened moments: of all words, of the frequent ones alone, and of all behind masks."""
    rows: Any = part.rows
    frequent = np.asarray((rows != 0).sum(axis=0)).ravel() >= PRUNED_BELOW
    for seen, kept in (("all words", part), ("rare words pruned", None)):
        some = kept or Part(sparse.csr_array(rows[:, np.flatnonzero(frequent)]), part.labels)
        moments = RadoMoments.exact(Moments.of(some.rows, some.labels))
        recovered = attack_moments(ExposedMoments.of(moments.covariance, moments.mean))
        yield _trial(seen, some, recovered)
    whole = RadoMoments.exact(Moments.of(part.rows, part.labels))
    hidden = attack_everything([masked(whole.covariance, entropy), masked(whole.mean, entropy)])
    yield _trial("masked moments", part, hidden.documents)


def try_blocks(part: Part, shared: Floats, *, entropy: Entropy) -> Iterator[AttackTrial]:
    """Block sums in the clear: of blocks of any size, of larger ones alone, and behind masks."""
    sums = BlockSums.of(shared, part.rows, part.labels, minimum=1)
    exposed = ExposedBlocks.of(sums.sums, sums.counts)
    yield _trial("blocks of any size", part, attack_blocks(exposed))
    large = sums.counts >= SMALLEST_BLOCK
    fewer = ExposedBlocks.of(sums.sums[large], sums.counts[large])
    yield _trial(f"blocks of {SMALLEST_BLOCK} rows up", part, attack_blocks(fewer))
    hidden = attack_everything([masked(sums.sums, entropy), sums.counts])
    yield _trial("masked block sums", part, hidden.documents)


def masked(values: Floats, entropy: Entropy) -> NDArray[np.uint64]:
    """Fixed point mod 2^64 plus a uniform mask: as a share, or as a masked question, looks."""
    words = np.round(values * _FRACTION).astype(np.int64).view(np.uint64)
    return words + entropy.words(*values.shape)


def _trial(seen: str, part: Part, recovered: Sequence[Recovered]) -> AttackTrial:
    return AttackTrial(seen, score(recovered, part.rows, part.labels))
