"""The bytes that a peer sends in each stage of a study, computed from public numbers.

Messages to the evaluator or to another peer are sent in padded boxes (relay.py); the sizes are
those of the boxes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sottovoce import wire
from sottovoce.protocols.blind_sum.messages import MaskedParts
from sottovoce.protocols.identities import SIGNATURE_BYTES
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum.sums import ContributionPlane, ContributionSeed
from sottovoce.protocols.sealing import KEY_BYTES, OVERHEAD
from sottovoce.study.choices import Contribution, DictionaryKind, Engine
from sottovoce.study.queries.scoring import row_norm
from sottovoce.study.relay import padded_size
from sottovoce.study.roster import Role
from sottovoce.study.stages.agreement import Consent, SignedConsent
from sottovoce.study.stages.blocks import CountsDigest, CountsKey
from sottovoce.study.stages.centring import END_PARTS, is_corrected
from sottovoce.study.stages.contributions import ShareSeed
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.encrypted_numbers import LearnerNumbers, numbers_of
from sottovoce.study.stages.encrypted.uploads import SealedRows
from sottovoce.study.stages.kept_buckets import BucketFilter, CountSeed
from sottovoce.study.stages.listing import FeatureList, is_listed
from sottovoce.study.stages.preparation import (
    DictionaryKeyBox,
    Prepared,
    claims_of,
    counts_layout,
    masked_words,
)
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.wire.tags import kebab

# The number of documents for which sizes are given; more documents take more ciphertexts.
ASSUMED_DOCUMENTS = 10_000
# For each blind sum: new keys, shares of two seeds for each other peer, and revealed shares.
_ROUND_BYTES = 450
_SHARE_BYTES = 190
# The content of a peer's messages, in plain words.
AGREES = "your signed consent"
COUNTS = "in how many of your documents each word stands, by class"
PRESENCE = "which words stand in enough of your documents"
TOTALS = "how many documents of each class you have"
SUMS = "how words stand together in them (sums over all)"
RADOS = "sums of random halves of them"
SPREAD = "how much they vary (one rounded number)"
PARTS = "your part of the sums over all sites"
LISTED = "which of the chosen words your documents have"
MEAN = "how often words occur (rounded)"
DRAWN = "numbers that look random"
ROWS = "your documents as encrypted numbers, one row a document"
_DICTIONARY = "dictionary and totals"
MEMBERS = "members"
INTERMEDIARY = "intermediary"
BUILT = "what you made of its documents, encrypted"
SAME = "a code that shows whether all peers hold the same groups"


@dataclass(frozen=True)
class Size:
    """A kind of message that a seat sends in a stage: to whom, how often, of how many bytes.

    If its `way` is "receives", `to` names the sender. With `each` "step" it is sent in every step
    of the solve. `holds` says in plain words what its content is.
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
    holds: str = ""

    @property
    def total(self) -> int:
        """The bytes of all these messages, or of one step where they are sent in each step."""
        return self.times * self.bytes

    @property
    def received(self) -> "Size":
        """The same messages, as their recipient sees them."""
        return replace(self, way="receives")


def peer_sizes(study: Study) -> tuple[Size, ...]:
    """Return the bytes that one peer sends until it has the model."""
    if study.engine is Engine.QUORUM:
        rows = (*_agreement(study), *_key_boxes(study), *_shared(study))
        return tuple(row for row in rows if row.times)
    rows = (*_agreement(study), *_dictionary(study), *_contributions(study))
    return tuple(row for row in rows if row.times)


def _agreement(study: Study) -> Iterator[Size]:
    signed = SignedConsent("peer", bytes(32), bytes(KEY_BYTES), bytes(SIGNATURE_BYTES))
    consent = _plain(Consent(signed, study.settings))
    kind = kebab(Consent.__name__)
    yield Size("agreement", kind, "coordinator", 1, consent, exact=False, holds=AGREES)


def _shared(study: Study) -> Iterator[Size]:
    """Yield shares of counts and of moments: a seed or residues to every member."""
    quorum, plan = study.quorum, study.plan
    others = len(quorum.members) - quorum.threshold
    counts = counts_layout(study).length
    moments = plan.width * (plan.width + 1) // 2 + plan.width * plan.labels.width
    moments += claims_of(study) if plan.contribution is Contribution.EXACT else 0
    content = f"{COUNTS}; {TOTALS}" if study.has_counts else TOTALS
    mean = ("contributions", plan.width, 2, MEAN)
    for stage, length, planes, holds in (
        (_DICTIONARY, counts, 2, content),
        *([mean] if is_corrected(plan) else ()),
        ("contributions", moments, 7, f"{SUMS}; {SPREAD}; {TOTALS}"),
    ):
        seed = _boxed(ContributionSeed(bytes(32), bytes(200)))
        kind = kebab(ContributionSeed.__name__)
        yield Size(stage, kind, MEMBERS, quorum.threshold, seed, exact=False, holds=DRAWN)
        plane = padded_size(_residue_bytes(length)) + OVERHEAD
        kind = kebab(ContributionPlane.__name__)
        yield Size(stage, kind, MEMBERS, others * planes, plane, exact=False, holds=holds)


def _residue_bytes(count: int) -> int:
    return 8 * -(-count // 3)


def step_bytes(study: Study) -> int:
    """Return the bytes that a dealing member sends in one step of a solve, in engine quorum."""
    cells, quorum = study.plan.width * study.plan.labels.width, study.quorum
    explicit = 2 * len(quorum.members) - 3 * quorum.threshold
    return 7 * _residue_bytes(cells) * (explicit + 1)


def member_sizes(study: Study) -> tuple[Size, ...]:
    """Return the bytes that a member sends in addition to its peer: for counts, and the solve."""
    counts = 2 * _residue_bytes(counts_layout(study).length)
    cells = 7 * _residue_bytes(study.plan.width * study.plan.labels.width)
    step = Size("sealed solve", "masked-dividend", "coordinator", 1, cells, exact=False)
    step = replace(step, seat="member", each="step", holds=DRAWN)
    return (
        replace(step, stage=_DICTIONARY, kind="sum-share", bytes=counts, each="", holds=PARTS),
        step,
        replace(step, kind="quorum-numbers", to=MEMBERS, bytes=step_bytes(study)),
    )


def _key_boxes(study: Study) -> Iterator[Size]:
    """Yield the key under which words are hashed, which the first peer sends."""
    if study.plan.dictionary is not DictionaryKind.GIVEN:
        others = len(study.roster.peers) - 1
        box = _boxed(DictionaryKeyBox(bytes(100)))
        kind = kebab(DictionaryKeyBox.__name__) + " (first peer)"
        yield Size(_DICTIONARY, kind, "peers", others, box, holds=DRAWN)


def _dictionary(study: Study) -> Iterator[Size]:
    stage = _DICTIONARY
    yield from _key_boxes(study)
    yield from _masking(stage, study)
    holds = f"{COUNTS}; {TOTALS}" if study.has_counts else TOTALS
    yield replace(_masked(stage, "coordinator", masked_words(study)), holds=holds)
    filtered = BucketFilter.of(study, counts_layout(study))
    if filtered is not None:
        yield from _filtered(stage, filtered)


def _filtered(stage: str, filtered: BucketFilter) -> Iterator[Size]:
    """Yield the bytes with which the evaluator leaves out buckets that too few peers have."""
    seed = _boxed(CountSeed(bytes(32)))
    yield Size(stage, kebab(CountSeed.__name__), "evaluator", 1, seed, holds=DRAWN)
    parts = (wire.Words((filtered.words,), bytes(8 * filtered.words)),)
    size = _boxed(MaskedParts(bytes(32), parts))
    yield Size(stage, kebab(MaskedParts.__name__), "evaluator", 1, size, holds=PRESENCE)
    small = padded_size(1) + OVERHEAD
    yield Size(stage, "revealed-shares", "evaluator", 1, small, holds=DRAWN)


def _contributions(study: Study) -> Iterator[Size]:
    stage = "contributions"
    width = study.plan.width
    classes = study.plan.labels.width
    if study.plan.arrangement.by_features:
        yield from _counts(stage, study)
    if is_listed(study):
        listed = _plain(FeatureList(wire.Words((width,), bytes(8 * width))))
        kind = kebab(FeatureList.__name__)
        yield Size(stage, kind, "coordinator", 1, listed, exact=False, holds=LISTED)
    yield from _masking(stage, study)
    if study.engine is Engine.SHARES:
        if is_corrected(study.plan):
            yield from _masking(stage, study)
            mean = _masked(stage, "coordinator", study.plan.features + study.plan.beside.tail + 1)
            yield replace(mean, exact=False, holds=MEAN)
        seed = _boxed(ShareSeed(bytes(32)))
        yield Size(stage, kebab(ShareSeed.__name__), "evaluator", 1, seed, holds=DRAWN)
        matrix = width * study.plan.blocks or width * (width + 1) // 2
        sums = _masked(stage, "coordinator", matrix + width * classes, 1)
        yield replace(sums, holds=f"{SUMS}; {SPREAD}")
        yield from _small(stage, 1)
        return
    yield from _masking(stage, study)
    yield replace(_masked(stage, "coordinator", 1), holds=SPREAD)
    yield from _small(stage, 2)
    if study.roster.having(Role.INTERMEDIARY):
        yield _uploaded(stage, study, width, classes)
    size = padded_size(_encrypted(study, width, classes)) + OVERHEAD
    holds = RADOS if study.plan.descends else SUMS
    yield Size(stage, "masked-parts", "evaluator", 1, size, exact=False, holds=holds)


def _uploaded(stage: str, study: Study, width: int, classes: int) -> Size:
    """Return a peer's encrypted rows, sent to its intermediary."""
    numbers = _numbers(study)
    values = classes * width
    if not isinstance(numbers, DescentNumbers):
        packed = numbers.solve.slots(study.plan.key_bits - 1).plaintexts_for(width)
        values = width + classes * packed
    size = ASSUMED_DOCUMENTS * values * study.plan.key_bits // 4
    kind = kebab(SealedRows.__name__)
    return Size(stage, kind, INTERMEDIARY, 1, size, exact=False, holds=ROWS)


def _counts(stage: str, study: Study) -> Iterator[Size]:
    """Yield the bytes that show whether all peers of partition `features` hold the same blocks."""
    others = len(study.roster.peers) - 1
    box = _boxed(CountsKey(bytes(32)))
    kind = kebab(CountsKey.__name__) + " (first peer)"
    yield Size(stage, kind, "peers", others, box, holds=DRAWN)
    shown = _plain(CountsDigest(bytes(32)))
    yield Size(stage, kebab(CountsDigest.__name__), "coordinator", 1, shown, holds=SAME)


def _small(stage: str, sums: int) -> Iterator[Size]:
    """Yield the end of the spectrum for the evaluator, and shares revealed to it after each sum."""
    size = padded_size(1) + OVERHEAD
    yield Size(stage, kebab(MaskedParts.__name__), "evaluator", 1, size, holds=SPREAD)
    yield Size(stage, "revealed-shares", "evaluator", sums, size, holds=DRAWN)


def _encrypted(study: Study, width: int, classes: int) -> int:
    """Return the bytes of the ciphertexts that hold one peer's moments."""
    plan, numbers = study.plan, _numbers(study)
    if isinstance(numbers, DescentNumbers):
        forms = numbers.forms(plan.key_bits - 1)
        return sum(layout.ciphertexts for layout, _ in forms) * plan.key_bits // 4
    slots = numbers.solve.slots(plan.key_bits - 1)
    packed = slots.plaintexts_for(width)
    matrix = plan.blocks * width or width * packed
    return (matrix + classes * packed) * plan.key_bits // 4


def _numbers(study: Study) -> LearnerNumbers:
    plan, rows = study.plan, ASSUMED_DOCUMENTS
    totals = Totals(rows, (rows,) * len(plan.labels.names), study.roster.peers)
    parts = int(END_PARTS * rows * row_norm(plan) ** 2)
    return numbers_of(study, Prepared(totals, (4,) * plan.features), parts)


def _masking(stage: str, study: Study) -> Iterator[Size]:
    """Yield the keys of a blind sum, and the shares with which others finish it."""
    others = len(study.roster.peers) - 1
    size = _ROUND_BYTES + _SHARE_BYTES * others
    kinds = "round-keys, dealt-shares, revealed-shares"
    yield Size(stage, kinds, "coordinator", 1, size, exact=False, holds=DRAWN)


def _masked(stage: str, to: str, *lengths: int) -> Size:
    parts = tuple(wire.Words((length,), bytes(8 * length)) for length in lengths)
    return Size(stage, kebab(MaskedParts.__name__), to, 1, _plain(MaskedParts(bytes(32), parts)))


def _plain(message: Message) -> int:
    return len(wire.Codec(limit=2**32).encode(message))


def _boxed(message: Message) -> int:
    return padded_size(_plain(message)) + OVERHEAD
