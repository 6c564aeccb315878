"""The dictionary and the totals: the coordinator opens sums, and publishes rounded numbers.

    first peer          other peers            coordinator C               evaluator E
      │ DictionaryKeyBox ──▶│                       │                          │
      │   counts by class and bucket, suppressed, in a blind sum               │
      │────────────────────▶│──────────────────────▶│   chooses by χ²          │
      │◀──────────── PublishedFeatures ─────────────│─── PublishedWeights ────▶│

Who learns what. C learns the sum over all peers of every surviving bucket's count by class, which
each peer rounded (Counts.rounded), but not the key that turns words into buckets. If only one peer
has a bucket, C learns that peer's rounded counts (unless `feature_min_peers` is 2 or more: then the
evaluator leaves such buckets out first, see kept_buckets.py). C also learns sums of rounded numbers
of rows. Peers learn which buckets were chosen (so each can test any word), their rounded idf, and
totals of documents and classes rounded up. E learns idf in the order of columns, without buckets,
and the totals. The dealer learns nothing. Assuming that no peer gives the key to C.

A coordinator that published different dictionaries to different peers could tell their
contributions apart. So the keys and masks of the training depend on a digest of what each peer
received.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import InputError, MalformedError, ViolationError
from sottovoce.numbers.residues import Planes
from sottovoce.numbers.ring import from_ring
from sottovoce.protocols.blind_sum import SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_ONE_PEER
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealing import seal, unseal
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import StudyPlan
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.kept_buckets import (
    BucketFilter,
    hear_seeds,
    hide_counts,
    send_kept,
    take_kept,
)
from sottovoce.study.stages.quorum_sums import add_to_sum, help_sum, open_sum
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals, published
from sottovoce.text.dictionary.counts import CountLayout, Counts
from sottovoce.text.dictionary.dictionaries import (
    Dictionary,
    GivenDictionary,
    HashedDictionary,
    JointDictionary,
)
from sottovoce.text.dictionary.hashing import PUBLIC, DictionaryKey
from sottovoce.text.dictionary.selection import chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.occurrences import PieceMemory
from sottovoce.text.passes import count

_KEY_USE = "dictionary key/v1"
_ROUND = "preparation"
SEED_BYTES = 32


class DictionaryKeyBox(Message, frozen=True):
    """The key under which words become buckets, sealed by the peer that drew it."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ONE_PEER,
        reveals="the key with which every peer can test whether a word was chosen",
        assuming="no peer gives it to the coordinator, who has the counts",
    )
    box: bytes


class PublishedFeatures(Message, frozen=True):
    """The chosen buckets and twice their rounded idf, and the totals rounded up."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer whose counts are in the sum",
        reveals="rounded totals; of text which words were chosen, where the peer can guess them",
        assuming="counts below the agreed minimum were zeroed at each peer beforehand",
    )
    buckets: wire.Words
    idf_halves: wire.Words
    totals: wire.Words
    peers: tuple[str, ...]


class PublishedWeights(Message, frozen=True):
    """Twice the rounded idf of every column, without its bucket, and the totals rounded up."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator or every member, who fold idf into their shares of the model",
        reveals="how rare each nameless column is, a digest of the chosen buckets, rounded totals",
        assuming="a party that computes learns no column's bucket, unless it is a peer's",
    )
    idf_halves: wire.Words
    totals: wire.Words
    peers: tuple[str, ...]
    buckets: bytes


@dataclass(frozen=True)
class Prepared:
    """A party's result of this stage; evaluator and members have idf but no buckets.

    `shown` is a digest of everything published; the blind sums of the training are bound to it. A
    peer keeps a memory of how pieces of text were read, for its second pass. In engine quorum it
    also keeps the numbers of rows that it claimed, and a member keeps its shares of every peer's
    claims; moments are compared with them.
    """

    totals: Totals
    idf_halves: tuple[int, ...]
    space: FeatureSpace | None = None
    key: DictionaryKey = field(default=PUBLIC, repr=False)
    shown: bytes = field(default=b"", repr=False)
    memory: PieceMemory | None = field(default=None, repr=False, compare=False)
    claimed: tuple[int, ...] = field(default=(), repr=False)
    claims: Mapping[str, Planes] = field(default_factory=dict, repr=False, compare=False)


def prepare_peer(
    party: PartyContext, agreement: Agreement, training: Sequence[Document]
) -> Party[Prepared | None]:
    """At a peer: return the dictionary and totals; None if its counts came too late."""
    study = party.study
    key = yield from _shared_key(party, agreement)
    memory = PieceMemory(study.plan.reading, key)
    vector = _vector(study, party.name, training, key, memory=memory)
    if study.plan.arrangement.by_features and party.name != study.plan.arrangement.first:
        vector = np.zeros_like(vector)  # the first peer counts the entities, which all peers share
    if study.engine is Engine.QUORUM:
        yield from add_to_sum(party, _ROUND, vector, party.peers)
        among = party.peers
    else:
        layout = counts_layout(study)
        filtered = BucketFilter.of(study, layout)
        if filtered is None:
            sent = [layout.paired(vector, peers=len(party.peers))]
        else:
            sent = yield from hide_counts(party, filtered, vector)
        summed = yield from pairwise.peer(
            _blind_plan(party), sent, who=party.member, book=party.book, entropy=party.entropy
        )
        if summed is None:
            return None
        among = summed.peers
    features = yield from receive(study.roster.coordinator, PublishedFeatures)
    if features.peers != among:
        raise ViolationError(
            "expected the totals of the agreed peers, found those of others",
            party=study.roster.coordinator,
        )
    totals = Totals.read(study, features.totals, features.peers, sender=study.roster.coordinator)
    if party.policy is not None:
        party.policy.check_totals(study, totals)
    space = space_of(study, _dictionary_of(study, features, totals))
    shown = _digest(
        _of_buckets(features.buckets), features.idf_halves, features.totals, features.peers
    )
    halves, claimed = space.dictionary.idf_halves, tuple(vector[: claims_of(study)].tolist())
    return Prepared(totals, halves, space, key, shown, memory, claimed)


def prepare_alone(party: PartyContext, training: Sequence[Document]) -> Prepared:
    """At a lone owner: return its dictionary and totals, which are sent to nobody."""
    study = party.study
    given = study.plan.dictionary is DictionaryKind.GIVEN
    key = PUBLIC if given else DictionaryKey.draw(entropy=party.entropy)
    counts = counts_layout(study).counts(_vector(study, party.name, training, key))
    dictionary = _chosen(study, counts)
    totals = _totals(study, counts, dictionary, (party.name,))
    return Prepared(totals, dictionary.idf_halves, space_of(study, dictionary), key)


def prepare_coordinator(party: PartyContext) -> Party[Prepared]:
    """At the coordinator: choose features from the sums, and publish them."""
    study = party.study
    layout = counts_layout(study)
    if study.engine is Engine.QUORUM:
        among, vector = (
            party.peers,
            (yield from open_sum(party, _ROUND, layout.length, party.peers)),
        )
    else:
        plan = _blind_plan(party)
        summed = yield from pairwise.coordinator(plan, who=party.member, book=party.book)
        among, filtered = summed.peers, BucketFilter.of(study, layout)
        if filtered is None:
            vector = layout.parted(summed.sums[0])
        else:
            vector = yield from take_kept(party, filtered, from_ring(summed.sums[0]))
    counts = layout.counts(vector, peers=study.plan.feature_min_peers)
    counts.check_rows()
    dictionary = _chosen(study, counts)
    totals = _totals(study, counts, dictionary, among)
    words = totals.written
    buckets = _words(dictionary.buckets if isinstance(dictionary, JointDictionary) else ())
    halves, halves_and_buckets = _words(dictionary.idf_halves), _of_buckets(buckets)
    for name in among:
        yield Send(name, PublishedFeatures(buckets, halves, words, totals.peers))
    holders = [member for member in map(study.roster.member, among) if member is not None]
    for name in [study.roster.evaluator] if study.roster.helped else holders:
        yield Send(name, PublishedWeights(halves, words, totals.peers, halves_and_buckets))
    shown = _digest(halves_and_buckets, halves, words, totals.peers)
    space = space_of(study, dictionary)
    return Prepared(totals, dictionary.idf_halves, space, shown=shown)


def prepare_evaluator(party: PartyContext) -> Party[Prepared]:
    """At the evaluator: sign the set of peers, and return the totals."""
    study = party.study
    plan, filtered = _blind_plan(party), BucketFilter.of(study, counts_layout(study))
    if filtered is None:
        summed = yield from pairwise.evaluator(
            plan, who=party.member, book=party.book, entropy=party.entropy
        )
    else:
        seeds = yield from hear_seeds(party)
        # Only a peer that sent both shares is in the sum: counts without their seed are noise.
        summed = yield from pairwise.evaluator(
            plan, who=party.member, book=party.book, entropy=party.entropy, among=seeds
        )
        present = {name: seeds[name] for name in summed.peers}
        yield from send_kept(party, filtered, present, summed.sums[0])
    return (yield from _take_weights(study, summed.peers))


def prepare_member(party: PartyContext) -> Party[Prepared]:
    """At a member of engine quorum: add up shares of counts, and return the totals."""
    study = party.study
    claims: dict[str, Planes] = {}

    def keep(peer: str, share: Planes) -> None:
        claims[peer] = share[:, : claims_of(study)].copy()

    yield from help_sum(party, _ROUND, counts_layout(study).length, party.peers, keep=keep)
    return replace((yield from _take_weights(study, party.peers)), claims=claims)


def claims_of(study: Study) -> int:
    """Return the number of row totals that a peer claims: one for all rows, and one a class."""
    return 1 + len(study.plan.labels.names)


def _take_weights(study: Study, peers: tuple[str, ...]) -> Party[Prepared]:
    """Return the published numbers, for a party that computes without a dictionary."""
    weights = yield from receive(study.roster.coordinator, PublishedWeights)
    if weights.peers != peers:
        raise ViolationError(
            "expected the totals of the agreed peers, found those of others",
            party=study.roster.coordinator,
        )
    totals = Totals.read(study, weights.totals, weights.peers, sender=study.roster.coordinator)
    halves = _halves_of(study, weights.idf_halves, totals)
    shown = _digest(weights.buckets, weights.idf_halves, weights.totals, weights.peers)
    return Prepared(totals, halves, shown=shown)


def _of_buckets(buckets: wire.Words) -> bytes:
    """Return the digest of buckets for the evaluator, to compare but not to recognise buckets."""
    return digest("roles/buckets/v1", buckets.data)


def _digest(buckets: bytes, halves: wire.Words, totals: wire.Words, peers: Sequence[str]) -> bytes:
    """Return a digest of everything published, the same for all parties."""
    names = (peer.encode() for peer in peers)
    return digest("roles/published/v1", buckets, halves.data, totals.data, *names)


def _blind_plan(party: PartyContext) -> Plan:
    study, layout = party.study, counts_layout(party.study)
    filtered = BucketFilter.of(study, layout)
    words = WordSpace((masked_words(study),))
    parts = [SummedVector(study.roster.coordinator, "counts", words)]
    if filtered is not None:
        parts.append(filtered.part(study.roster.evaluator))
    return Plan(party.round(_ROUND, party.peers), tuple(parts))


def counts_layout(study: Study) -> CountLayout:
    """Return the layout of one peer's counts in its masked vector."""
    plan = study.plan
    buckets = 1 << plan.bucket_bits if study.has_counts else 0
    return CountLayout(len(plan.labels.names), buckets, plan.labels.exclusive)


def masked_words(study: Study) -> int:
    """Return the number of words of a peer's masked vector; hidden counts take a word each."""
    layout = counts_layout(study)
    return layout.words if BucketFilter.of(study, layout) is None else layout.length


def _shared_key(party: PartyContext, agreement: Agreement) -> Party[DictionaryKey]:
    """Return the key that the first peer draws, or the public key of a given word list."""
    study = party.study
    if study.plan.dictionary is DictionaryKind.GIVEN:
        return PUBLIC
    first, *others = party.peers
    if party.name == first:
        key = DictionaryKey.draw(entropy=party.entropy)
        for name in others:
            address = agreement.address(study, first, name, _KEY_USE)
            box = seal(key.secret, address, key=party.box, size=SEED_BYTES, entropy=party.entropy)
            yield Send(name, DictionaryKeyBox(box))
        return key
    key_box = yield from receive(first, DictionaryKeyBox)
    address = agreement.address(study, first, party.name, _KEY_USE)
    try:
        return DictionaryKey(unseal(key_box.box, address, key=party.box))
    except MalformedError as error:
        raise error.by(first) from error


def _vector(
    study: Study,
    name: str,
    training: Sequence[Document],
    key: DictionaryKey,
    *,
    memory: PieceMemory | None = None,
) -> NDArray[np.int64]:
    """Return a peer's vector before masking: suppressed counts and numbers of rows, all rounded."""
    counts = own_counts(study, name, training, key, memory=memory)
    counts = counts.rounded(exclusive=study.plan.labels.exclusive)
    layout = counts_layout(study)
    if not study.has_counts:
        nothing = np.zeros((layout.classes, 0), np.int64)
        none = nothing.sum(axis=0)
        counts = Counts(counts.rows, counts.rows_by_class, none, nothing, none)
    return layout.vector(counts)


def own_counts(
    study: Study,
    name: str,
    training: Sequence[Document],
    key: DictionaryKey,
    *,
    memory: PieceMemory | None = None,
) -> Counts:
    """Return the counts of one peer, after checking that they can go into a study."""
    with naming(name):
        counts = count(training, study.plan.count_plan, key=key, memory=memory)
    check_classes(study, name, counts)
    if study.has_counts and not counts.total.any():
        raise InputError(
            f"{name}: no feature occurs in {study.plan.min_documents} of its documents, "
            "so nothing is left after suppression",
            hints=("bring more documents, or agree on a lower min_documents",),
        )
    return counts


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Prefix an error about documents with the peer's name."""
    try:
        yield
    except InputError as error:
        # In memory a row's origin names its peer already; elsewhere it names a file.
        whose = "" if error.message.startswith(f"{name} row ") else f"{name}: "
        raise InputError(f"{whose}{error.message}", hints=error.hints) from error


def check_classes(study: Study, name: str, counts: Counts) -> None:
    """Refuse documents of a single class, because taking part would reveal the class."""
    labels = study.plan.labels
    present = [name for name, rows in zip(labels.names, counts.rows_by_class, strict=True) if rows]
    mixed = any(0 < rows < counts.rows for rows in counts.rows_by_class.tolist())
    if not mixed:
        raise InputError(
            f"{name}: expected documents of at least two classes, "
            f"found only {', '.join(map(repr, present)) or 'none'}",
            hints=(
                "bring documents of another class too: with only one, taking part would tell it",
                "or let the others train without this site",
            ),
        )


def _chosen(study: Study, counts: Counts) -> Dictionary:
    if not study.has_counts:
        return agreed_dictionary(study.plan)
    return chosen(counts, study.plan.selection, exclusive=study.plan.labels.exclusive)


def _totals(study: Study, counts: Counts, dictionary: Dictionary, peers: tuple[str, ...]) -> Totals:
    """Return the totals published beside the dictionary, with the number of features it lacks."""
    totals = published(study, counts.rows, counts.rows_by_class, peers)
    return replace(totals, absent=study.plan.features - dictionary.size)


def agreed_dictionary(plan: StudyPlan) -> Dictionary:
    """Return the dictionary of a plan with given words, or with hashing only."""
    if plan.dictionary is DictionaryKind.GIVEN:
        return GivenDictionary(plan.words)
    return HashedDictionary(plan.features)


def _dictionary_of(
    study: Study, published_features: PublishedFeatures, totals: Totals
) -> Dictionary:
    halves = _halves_of(study, published_features.idf_halves, totals)
    if not study.has_counts:
        return agreed_dictionary(study.plan)
    buckets = tuple(int(bucket) for bucket in published_features.buckets.array())
    try:
        return JointDictionary(buckets, halves, bits=study.plan.bucket_bits)
    except InputError as error:
        raise ViolationError(error.message, party=study.roster.coordinator) from error


def _halves_of(study: Study, words: wire.Words, totals: Totals) -> tuple[int, ...]:
    features = study.plan.features - totals.absent
    if words.shape != (features,):
        raise ViolationError(
            f"expected the idf of {features} features, found {words.shape}",
            party=study.roster.coordinator,
        )
    return tuple(int(half) for half in words.array())


def space_of(study: Study, dictionary: Dictionary) -> FeatureSpace:
    """Return the feature space of this dictionary."""
    plan = study.plan
    return FeatureSpace(dictionary, plan.reading, plan.weighting, plan.columns, plan.beside)


def _words(numbers: Sequence[int]) -> wire.Words:
    return wire.Words.of(np.array(numbers, np.uint64))
