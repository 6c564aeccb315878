"""How many bytes a peer sends in each stage of a study, from public numbers alone.

What goes to the evaluator or to another peer travels in boxes that are padded (relay.py); the
sizes are those of the boxes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sottovoce import wire
from sottovoce.protocols.blind_sum.messages import MaskedParts
from sottovoce.protocols.identities import SIGNATURE_BYTES
from sottovoce.protocols.messages import Message
from sottovoce.protocols.sealing import KEY_BYTES, OVERHEAD
from sottovoce.roles.agreement import Consent, SignedConsent
from sottovoce.roles.blocks import CountsDigest, CountsKey
from sottovoce.roles.contributions import ShareSeed
from sottovoce.roles.encrypted_numbers import Numbers
from sottovoce.roles.plan import DictionaryKind, Engine
from sottovoce.roles.preparation import DictionaryKeyBox, Prepared, counts_layout
from sottovoce.roles.reference import END_PARTS
from sottovoce.roles.relay import padded_size
from sottovoce.roles.roster import Role
from sottovoce.roles.scoring import row_norm
from sottovoce.roles.study import Study
from sottovoce.roles.totals import Totals
from sottovoce.roles.uploads import SealedRows
from sottovoce.wire.values import kebab

# Ciphertexts of moments hold fewer values the more documents there are; sizes are told for this.
ASSUMED_DOCUMENTS = 10_000
# For each blind sum: new keys, shares of two seeds for each other peer, and what is revealed.
_ROUND_BYTES = 450
_SHARE_BYTES = 190


@dataclass(frozen=True)
class Size:
    """A kind of message that a seat sends in a stage: to whom, how often, of how many bytes.

    Where its `way` is "receives", `to` names whom it comes from; with `each` "step" it is sent
    in every step of the solve.
    """

    stage: str
    kind: str
    to: str
    times: int
    bytes: int
    exact: bool = True
    seat: str = "peer"
    way: str = "sends"
    each: str = ""

    @property
    def total(self) -> int:
        """Bytes of all of them; of one step, where it is sent in each."""
        return self.times * self.bytes

    @property
    def received(self) -> "Size":
        """The same, as it comes."""
        return replace(self, way="receives")


def peer_sizes(study: Study) -> tuple[Size, ...]:
    """What one peer sends until it has the model."""
    rows = (*_agreement(study), *_dictionary(study), *_contributions(study))
    return tuple(row for row in rows if row.times)


def _agreement(study: Study) -> Iterator[Size]:
    signed = SignedConsent("peer", bytes(32), bytes(KEY_BYTES), bytes(SIGNATURE_BYTES))
    consent = _plain(Consent(signed, study.settings))
    yield Size("agreement", kebab(Consent.__name__), "coordinator", 1, consent, exact=False)


def _dictionary(study: Study) -> Iterator[Size]:
    stage = "dictionary and totals"
    if study.plan.dictionary is not DictionaryKind.GIVEN:
        others = len(study.roster.peers) - 1
        box = _boxed(DictionaryKeyBox(bytes(100)))
        yield Size(stage, kebab(DictionaryKeyBox.__name__) + " (first peer)", "peers", others, box)
    yield from _masking(stage, study)
    yield _masked(stage, "coordinator", counts_layout(study).length)


def _contributions(study: Study) -> Iterator[Size]:
    stage = "contributions"
    width = study.plan.width
    classes = study.plan.labels.width
    if study.plan.arrangement.by_features:
        yield from _counts(stage, study)
    yield from _masking(stage, study)
    if study.engine is Engine.SHARES:
        seed = _boxed(ShareSeed(bytes(32)))
        yield Size(stage, kebab(ShareSeed.__name__), "evaluator", 1, seed)
        matrix = width * study.plan.blocks or width * (width + 1) // 2
        yield _masked(stage, "coordinator", matrix + width * classes, 1)
        yield from _small(stage, 1)
        return
    yield from _masking(stage, study)
    yield _masked(stage, "coordinator", 1)
    yield from _small(stage, 2)
    if study.roster.having(Role.INTERMEDIARY):
        yield _uploaded(stage, study, width, classes)
    size = padded_size(_encrypted(study, width, classes)) + OVERHEAD
    yield Size(stage, "masked-parts", "evaluator", 1, size, exact=False)


def _uploaded(stage: str, study: Study, width: int, classes: int) -> Size:
    """A peer's rows on their way to its intermediary, where it has one."""
    numbers = _numbers(study)
    packed = numbers.solve.slots(study.plan.key_bits - 1).plaintexts_for(width)
    size = ASSUMED_DOCUMENTS * (width + classes * packed) * study.plan.key_bits // 4
    return Size(stage, kebab(SealedRows.__name__), "intermediary", 1, size, exact=False)


def _counts(stage: str, study: Study) -> Iterator[Size]:
    """What shows that all peers of partition `features` hold the same blocks."""
    others = len(study.roster.peers) - 1
    box = _boxed(CountsKey(bytes(32)))
    yield Size(stage, kebab(CountsKey.__name__) + " (first peer)", "peers", others, box)
    shown = _plain(CountsDigest(bytes(32)))
    yield Size(stage, kebab(CountsDigest.__name__), "coordinator", 1, shown)


def _small(stage: str, sums: int) -> Iterator[Size]:
    """The end of the spectrum to the evaluator, and what is revealed to it after each sum."""
    size = padded_size(1) + OVERHEAD
    yield Size(stage, kebab(MaskedParts.__name__), "evaluator", 1, size)
    yield Size(stage, "revealed-shares", "evaluator", sums, size)


def _encrypted(study: Study, width: int, classes: int) -> int:
    """Bytes of the ciphertexts that hold one peer's moments."""
    plan, numbers = study.plan, _numbers(study)
    slots = numbers.solve.slots(plan.key_bits - 1)
    packed = slots.plaintexts_for(width)
    matrix = plan.blocks * width or width * packed
    return (matrix + classes * packed) * plan.key_bits // 4


def _numbers(study: Study) -> Numbers:
    plan, rows = study.plan, ASSUMED_DOCUMENTS
    totals = Totals(rows, (rows,) * len(plan.labels.names), study.roster.peers)
    parts = int(END_PARTS * rows * row_norm(plan) ** 2)
    return Numbers.of(study, Prepared(totals, (4,) * plan.features), parts)


def _masking(stage: str, study: Study) -> Iterator[Size]:
    """The keys of a blind sum, and the shares by which others finish it for one that left."""
    others = len(study.roster.peers) - 1
    size = _ROUND_BYTES + _SHARE_BYTES * others
    kinds = "round-keys, dealt-shares, revealed-shares"
    yield Size(stage, kinds, "coordinator", 1, size, exact=False)


def _masked(stage: str, to: str, *lengths: int) -> Size:
    parts = tuple(wire.Words((length,), bytes(8 * length)) for length in lengths)
    return Size(stage, kebab(MaskedParts.__name__), to, 1, _plain(MaskedParts(bytes(32), parts)))


def _plain(message: Message) -> int:
    return len(wire.Codec(limit=2**32).encode(message))


def _boxed(message: Message) -> int:
    return padded_size(_plain(message)) + OVERHEAD
