"""Secrets stay out of logs: no type shows, in its repr, what masks, shares or text could stand in.

Every dataclass and message of the layers that handle secrets is found by walking the package.
A field that repr shows must be of a harmless type (a name, a number, a scale, …) or stand below
with the reason why everybody may see it.
"""

import dataclasses
import importlib
import pkgutil
from collections import abc
from collections.abc import Iterator
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pytest
from scipy import sparse

import sottovoce
from sottovoce.entropy import Entropy, Expansion, RunEntropy, RunHistory
from sottovoce.protocols.quorum.plan import QuorumPlan
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.rados.rows import Discreet
from sottovoce.study.plan import StudyPlan
from sottovoce.study.release import Release
from sottovoce.text.dictionary.selection import SelectionRule
from sottovoce.text.documents import Document
from sottovoce.text.labelling import Labelling
from sottovoce.text.reading import Reading
from sottovoce.wire import Integers, Residues, ShortWords, Value, Words

LAYERS = (
    "entropy",
    "numbers",
    "wire",
    "paillier",
    "protocols",
    "rados",
    "text",
    "attacks",
    "study",
    "course",
    "paper",
    "keyfiles",
    "ledger",
    "transport",
    "storage",
    "config",
    "node",
    "estimators",
)

# What could hold a mask, a share, a key or a document, by itself or as part of something.
BULK: tuple[Any, ...] = (np.ndarray, sparse.sparray, sparse.spmatrix, bytes, bytearray, memoryview)
NUMBERS = (int, float, complex)

# Fields of such a type that anybody may see, and why.
HARMLESS = {
    "course.held_time.HeldTime.counts_until": "names of senders, and times",
    "protocols.quorum.moment_check.WeightBounds.factors": "from public class weights",
    "study.stages.penalty_choice.Choice.labels_told": "how many labels each peer was told",
    "study.queries.model.Trained.labels_told": "how many labels each peer was told",
    "study.rehearsal.Rehearsed.rare": "names of classes, and how many documents, at the site",
    "study.rehearsal.Rehearsed.small": "how many rows stand in blocks, at the site",
    "node.events.TotalsPublished.by_class": "rounded totals that all sites are told, without names",
    "node.kept_facts.StageCosts.bytes": "sizes by stage",
    "node.kept_facts.StageCosts.seconds": "times by stage",
    "keyfiles.keytext.Lock.salt": "stands in the open in every key file",
    "ledger.verification.LedgerSeat.public": "a public key",
    "protocols.blind_sum.masks.SummedVector.space": "which group, not a value of it",
    "protocols.blind_sum.rounds.RoundBook.attempts": "names of rounds, and how often",
    "paper.central.printed_terms.PrintedTerms.penalties": "part of the plan",
    "paper.central.terms.CentralTerms.penalties": "part of the plan",
    "course.training.training_state.Training.seen": "when each seat was heard of",
    "course.queries.seats_seen.SeatsSeen.seen": "when each seat was heard of",
    "node.coordinator.query_coordinator.QueryConditions.seen": "when each seat was heard of",
    "study.evaluations.evaluation.HeldEvaluations.numbers": "which evaluations were held",
    "paper.table1.EncryptionCost.operations": "how many operations of each kind",
    "study.queries.quorum_model.QuorumTrained.labels_told": "how many labels each peer was told",
    "protocols.conversation.Ask.question": "a message, whose own repr shows names of fields only",
    "protocols.identities.Pins.publics": "public keys",
    "paper.rado_solver.SolverPlan.penalties": "part of the plan",
    "protocols.sealing.Address.info": "a hash of public things",
    "protocols.sealing.Address.label": "a public label",
    "protocols.sealing.Address.recipient": "a public key",
    "protocols.sealing.Address.sender": "a public key",
    "protocols.quorum.members.Quorum.points": "places of shares, 1 to n",
    "protocols.quorum.tally.QuorumTally.rows": "how many each peer brings, rounded up and told",
    "protocols.quorum.tally.QuorumTally.factors": "from public thresholds",
    "protocols.seat._Line.digests": "hashes of messages",
    "protocols.shares.course.ExactIteration.constants": "follow from the public spectrum",
    "protocols.shares.course.ExactIteration.directions": "follow from the public spectrum",
    "protocols.shares.course.ExactIteration.residuals": "follow from the public spectrum",
    "protocols.shares.material.Context.peers": "a hash of names",
    "protocols.shares.products.Product.left": "a size",
    "protocols.shares.products.Product.right": "a size",
    "rados.blocks.JointLayout.own": "positions of features",
    "rados.blocks.JointLayout.shared": "positions of features",
    "study.stages.agreement.Agreement.boxes": "public keys",
    "study.stages.encrypted.encrypted_numbers.EncryptedNumbers.penalties": "part of the plan",
    "study.evaluations.evaluation.CountSum.counted": "a size",
    "study.queries.model.PeerModel.operating_point": "public thresholds",
    "study.queries.quorum_model.QuorumModel.operating_point": "public thresholds",
    "study.plan.StudyPlan.alpha": "part of the plan",
    "study.plan.StudyPlan.distrusted": "part of the plan",
    "study.plan.StudyPlan.operating_point": "part of the plan",
    "study.plan.StudyPlan.thresholds": "part of the plan",
    "study.queries.quorum_model.MemberShare.idf_halves": "published, rounded",
    "study.stages.preparation.Prepared.idf_halves": "published, rounded",
    "study.evaluations.roc.Roc.false_positive_rate": "what every peer is told",
    "study.evaluations.roc.Roc.thresholds": "part of the plan",
    "study.evaluations.roc.Roc.true_positive_rate": "what every peer is told",
    "study.roster.Participant.public": "a public key",
    "study.queries.scoring.ScorePlan.factors": "follow from the published idf",
    "study.stages.centring.Reference.point": "follows from the published idf",
    "study.totals.Totals.by_class": "published, rounded up",
    "node.memberships.Membership.fingerprint": "of a certificate that everybody is shown",
    "node.memberships.StudyStatus.seen": "who was heard of when",
    "node.events.Listening.fingerprint": "of a certificate that the server shows to everybody",
    "node.invitations.Invitation.fingerprint": "of a certificate, shown to everybody",
    "config.toml_settings.SettingsText.lines": "where settings stand",
    "config.toml_settings.SettingsText.values": "settings, among which no secret may be",
    "config.site_settings.SiteSettings.commands": "settings, among which no secret may be",
    "text.dictionary.dictionaries.JointDictionary.buckets": "published to coordinator and peers",
    "text.dictionary.dictionaries.JointDictionary.idf_halves": "published, rounded",
    "text.blocks.Blocks.kernel_weight": "part of the plan",
    "text.blocks.Blocks.kernel_width": "part of the plan",
    "text.blocks.Blocks.own_weight": "part of the plan",
    "text.reading.NGrams.characters": "part of the plan",
    "text.reading.NGrams.words": "part of the plan",
    "transport.certificates.Certificate.certificate": "the server shows it to everybody",
    "transport.requests.Call.body": "a view shows its address only",
    "transport.mailbox.committing._Waiting.future": "a future, of counts",
    "transport.mailbox.committing._Waiting.result": "positions and counts",
    "transport.server.request_handlers.Caller.digest": "a hash of a request",
    "transport.signing.SignedRequest.digest": "a hash of a request",
    "transport.signing.RequestOrigin.nonce": "travels in the open",
    "transport.signing.RequestOrigin.signature": "travels in the open",
    "transport.signing.Signer.fingerprint": "of a certificate that the server shows to everybody",
    "transport.mailbox.mailbox_tables.Place.session": "a hash of public things",
    "transport.mailbox.mailbox_tables.LetterSummary.digest": "a hash of what is sealed",
}

# Types with a repr of their own, each of which was read.
OWN_REPRS = {
    "estimators.comparison.Comparison": "accuracies by peer",
    "estimators.validation.PlanSearch": "settings of plans, and shares of right labels",
    "estimators.progress._NotebookLine": "one line of progress",
    "study.evaluations.figures.Evaluation": "figures that every peer is told",
    "course.trained_study.StudyOutcome": "names and sizes",
    "entropy.Expansion": "says <secret>",
    "entropy.RunEntropy": "says <secret>",
    "estimators.federation.LocalFederation": "names of peers, and how many documents",
    "keyfiles.passphrase.Passphrase": "says <secret>",
    "ledger.site.SiteLedger": "its path, and how many lines",
    "numbers.modular.Arithmetic": "the twin's name",
    "paillier.pool.Pool": "the public key, and how many are ready",
    "paillier.tensors.Encrypted": "layout, scale and public key",
    "protocols.blind_sum.ring.OneShare": "says <share>",
    "protocols.seat.Seat": "what it waits for",
    "protocols.shares.material.Material": "says <secret>, and the context",
    "protocols.shares.multiplier.MaskProducts": "says <secret>, and a size",
    "protocols.shares.multiplier.Multiplier": "says <secret>, and a size",
    "rados.moment_words.MomentWords": "sizes",
    "rados.moments.Moments": "sizes",
    "rados.rows.Discreet": "sizes",
    "node.seat.durable_seat.DurableSeat": "what it waits for",
    "storage.journal.Journal": "its path, and how many sessions",
    "storage.sealed_sqlite.SealedSqlite": "says <secret>",
    "wire.values.Integers": "how many, and their width",
    "wire.values.Value": "names of fields",
    "wire.residues.Residues": "the shape",
    "wire.values.ShortWords": "the shape",
    "wire.values.Words": "the shape",
}

# Tuples with names show everything; these never leave the loop that reads a text.
NAMED_TUPLES = {"text.reading.TextRow", "text.tokenizing.tokens.Token"}


def classes() -> Iterator[type]:
    for package in pkgutil.walk_packages(sottovoce.__path__, "sottovoce."):
        if package.name.split(".")[1] in LAYERS:
            module = importlib.import_module(package.name)
            for kind in vars(module).values():
                if isinstance(kind, type) and kind.__module__ == package.name:
                    yield kind


def name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("sottovoce.")


CLASSES = sorted(set(classes()), key=name_of)
DATACLASSES = [kind for kind in CLASSES if dataclasses.is_dataclass(kind)]
NAMES = {kind.__name__: kind for kind in CLASSES}


def parts(hint: Any) -> Iterator[Any]:
    """The types that a hint is made of, itself first."""
    origin = get_origin(hint) or hint
    if origin is ClassVar:
        return
    yield origin
    if not (isinstance(origin, type) and issubclass(origin, np.ndarray)):
        for part in get_args(hint):
            if isinstance(part, list | tuple):
                for inner in part:
                    yield from parts(inner)
            else:
                yield from parts(part)


def could_tell(hint: Any) -> bool:
    """Whether a value of this type could be a secret, or bulk data in which one stands."""
    result = list(parts(hint))
    if result[0] is abc.Callable:  # a function shows its name
        return False
    kinds = [hint for hint in result if isinstance(hint, type)]
    if any(hint is Any or hint is object for hint in result):
        return True
    if any(issubclass(kind, BULK) for kind in kinds):
        return True
    many = any(issubclass(kind, abc.Iterable) and not issubclass(kind, str) for kind in kinds)
    return many and any(kind in NUMBERS for kind in kinds)


def shown(kind: type) -> Iterator[str]:
    """The fields that a dataclass's repr shows and that could tell something."""
    # Some modules import names for their annotations alone; no two classes of ours share a name.
    hints = get_type_hints(kind, localns=NAMES)
    for field in dataclasses.fields(kind):
        is_size = field.name == "shape"
        if field.repr and not is_size and could_tell(hints[field.name]):
            yield field.name


def is_generated(kind: type) -> bool:
    """Whether repr lists the fields: the one that `dataclass` wrote, here or in a base."""
    return hasattr(kind.__repr__, "__wrapped__")


def own_repr(kind: type) -> type | None:
    """The class whose repr somebody wrote by hand, if this type has one."""
    for base in kind.__mro__:
        written = base.__dict__.get("__repr__")
        if written is not None:
            ours = base.__module__.startswith("sottovoce") and not hasattr(written, "__wrapped__")
            return base if ours else None
    return None


def test_no_repr_shows_what_could_be_secret() -> None:
    kinds = list(filter(is_generated, DATACLASSES))
    assert len(kinds) > 400
    surprising = [
        f"{name_of(kind)}.{name}"
        for kind in kinds
        for name in shown(kind)
        if not any(f"{name_of(base)}.{name}" in HARMLESS for base in kind.__mro__)
    ]
    assert not surprising, "write field(repr=False), or say why it is harmless"


@pytest.mark.parametrize(
    "kind", [kind for kind in DATACLASSES if own_repr(kind) is Discreet], ids=name_of
)
def test_a_discreet_type_holds_arrays_and_plain_numbers(kind: type) -> None:
    """`Discreet` shows what has no shape: that must be harmless by itself."""
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        kinds = [part for part in parts(hints[field.name]) if isinstance(part, type)]
        assert any(issubclass(kind, BULK[:3]) for kind in kinds) or not could_tell(
            hints[field.name]
        )
        assert not any(issubclass(kind, BULK[3:]) for kind in kinds)


BY_NAME = {Reading, Labelling, Release, SelectionRule}


def hashed_by_repr(kind: type) -> Iterator[type]:
    """A dataclass and all that its fields are made of, but for those with a fingerprint or a name.

    A release mode and a selection rule are signed by their name; their words are code.
    """
    yield kind
    for hint in get_type_hints(kind).values():
        for part in parts(hint):
            if dataclasses.is_dataclass(part) and part not in BY_NAME:
                yield from hashed_by_repr(part)


@pytest.mark.parametrize("plan", [StudyPlan, ShareSolvePlan, QuorumPlan])
def test_what_is_agreed_on_by_its_repr_hides_nothing(plan: type) -> None:
    """A field that repr left out would not be in the hash that everybody signs."""
    for kind in set(hashed_by_repr(plan)):
        assert is_generated(kind), name_of(kind)
        assert all(field.repr for field in dataclasses.fields(kind)), name_of(kind)


def test_every_repr_that_somebody_wrote_was_read() -> None:
    kinds = [kind for kind in CLASSES if not issubclass(kind, tuple)]
    written = {name_of(base) for kind in kinds if (base := own_repr(kind)) is not None}
    assert written == set(OWN_REPRS)


def test_messages_show_the_names_of_their_fields_only() -> None:
    structs = [kind for kind in CLASSES if issubclass(kind, msgspec.Struct)]
    # A ledger is there to be read: its lines hold digests, and nothing of any message.
    structs = [kind for kind in structs if not kind.__module__.startswith("sottovoce.ledger.")]
    assert len(structs) > 40
    assert {own_repr(kind) for kind in structs} == {Value, Words, ShortWords, Integers, Residues}


def test_tuples_with_names_show_everything_so_there_are_few() -> None:
    tuples = {name_of(kind) for kind in CLASSES if issubclass(kind, tuple)}
    assert tuples == NAMED_TUPLES


def test_every_exception_to_the_rule_is_still_needed() -> None:
    needed = {
        f"{name_of(kind)}.{name}"
        for kind in DATACLASSES
        if is_generated(kind)
        for name in shown(kind)
    }
    assert set(HARMLESS) <= needed


def test_a_document_shows_where_it_lay_and_nothing_of_what_it_says() -> None:
    document = Document(
        "she had a fracture", label="positive", group="patient 7", columns={"age": 81}
    )
    for secret in ("fracture", "positive", "patient", "81", "age"):
        assert secret not in repr(document)
    assert "origin" in repr(document)


def test_a_stream_shows_nothing_of_its_seed() -> None:
    stream: Entropy = Expansion(bytes(range(32)), "tests/v1")
    assert repr(stream) == "Expansion(<secret>)"
    run: Entropy = RunEntropy(bytes(range(32)), "tests/v1", b"", RunHistory())
    assert repr(run) == "RunEntropy(<secret>)"


@dataclasses.dataclass
class Careless:
    mask: Words
    words: np.ndarray
    numbers: list[int]
    table: dict[str, tuple[float, ...]]
    secret: bytes
    anything: Any
    hidden: bytes = dataclasses.field(repr=False)
    name: str = ""
    size: int = 0
    maybe: "str | None" = None


def test_the_rule_finds_what_is_careless() -> None:
    assert list(shown(Careless)) == ["words", "numbers", "table", "secret", "anything"]
    assert is_generated(Careless)
