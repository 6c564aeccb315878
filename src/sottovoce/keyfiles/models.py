"""One peer's part of a trained study in a file, signed by that peer, for its owner alone to read.

The file holds the encrypted model (where labels are found on shares: none, for it stays with
coordinator and evaluator), the features, and the key under which words are hashed: with
that key anybody could test which words were chosen, so the file is as private as the text. It
also holds every setting that the study agreed on, as they were hashed: `look` reads them without
the study, and says whose part of which study it is. The part itself is read together with the
study, whose hash it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from pathlib import Path

import numpy as np

from sottovoce import wire
from sottovoce.errors import (
    DamagedFileError,
    InputError,
    KeyFileError,
    MalformedError,
    MismatchError,
    ViolationError,
)
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.own_models import own_path, read_own_model, write_own_model
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Layout
from sottovoce.protocols.identities import SIGNATURE_BYTES, Identity, Pins
from sottovoce.study.candidates import Candidate
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.study.queries.model import PeerModel, model_scale
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.queries.remote import remote_form
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.roster import written_identity
from sottovoce.study.stages.preparation import agreed_dictionary
from sottovoce.study.study import Study, grouped, settings_digest
from sottovoce.text.dictionary.dictionaries import Dictionary, JointDictionary
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.features import FeatureSpace

VERSION = 2
_KIND = b"sottovoce sealed model, version "
HEAD = _KIND + str(VERSION).encode() + b"\n"
MAX_BYTES = 2**30
_PURPOSE = f"sealed model file/v{VERSION}"


class StoredPart(wire.Value, frozen=True):
    """The content of the file between its head and its end."""

    study: bytes
    peer: str
    public: bytes
    secret: bytes
    buckets: wire.Words
    idf_halves: wire.Words
    fraction_bits: int
    bound: bytes
    alpha: str
    weights: bytes
    released: tuple[wire.Words, ...]
    settings: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]
    space: str
    operating_point: tuple[str, ...]


class ModelHolders(wire.Value, frozen=True):
    """A peer's record in engine quorum: the members that hold the model in shares."""

    members: tuple[str, ...]


class SealedParts(wire.Value, frozen=True):
    """The encrypted weights, and the encrypted score that stands for others' columns."""

    weights: bytes
    remote: bytes


@dataclass(frozen=True)
class PartSummary:
    """The summary of a stored part, as its peer signed it; it can be read without the study.

    Compare the `fingerprint` with that on the study card: it stands for every setting and for
    everybody who took part.
    """

    version: int
    peer: str
    fingerprint: str
    labels: tuple[str, ...]
    features: int
    space: str
    released: bool
    candidate: Candidate
    settings: Mapping[str, str] = field(repr=False)

    @property
    def study(self) -> str:
        """The study's name."""
        return _unquoted(self.settings.get("name", ""))


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in {"'", '"'} else text


def write_model(
    path: Path,
    model: PeerModel | QuorumModel,
    study: Study,
    *,
    identity: Identity,
    replace: bool = False,
) -> None:
    """Write a peer's part, signed by its identity, and its own model; a file is whole or not there.

    The part comes last: where it is, the own model is, too.
    """
    if has_own_scores(model, study):
        own = own_path(path)
        write_own_model(own, model.space, study, identity=identity, replace=replace)
    body = _codec().encode(_stored(model, study, identity.name))
    signature = identity.sign(_PURPOSE, body)
    storage.write_whole(path, HEAD + signature + body, mode=storage.SECRET_MODE, replace=replace)


def has_own_scores(model: PeerModel | QuorumModel, study: Study) -> bool:
    """Whether rows of this model have scores of the site's own one."""
    return study.plan.settled(model.candidate).beside.has_own_scores


def read_model(path: Path, study: Study) -> tuple[str, PeerModel | QuorumModel]:
    """Return the owner and the part, with its own model, if that peer of this study signed both."""
    peer, model = read_part(path, study)
    if not has_own_scores(model, study):
        return peer, model
    own = read_own_model(own_path(path), model.space, study, peer)
    return peer, with_fields(model, space=with_fields(model.space, own=own))


def read_part(path: Path, study: Study) -> tuple[str, PeerModel | QuorumModel]:
    """Return the owner and the part without an own model, which never goes to another site."""
    part, signature, body = _read(path)
    _check(path, part, study, signature, body)
    try:
        model = _model(part, study)
    except (MalformedError, ViolationError, InputError, MismatchError) as error:
        raise DamagedFileError(f"{path}: signed, but holds no model ({error.message})") from None
    except KeyFileError as error:
        raise KeyFileError(f"{path}: {error.message}", hints=error.hints) from None
    if model.space.fingerprint != part.space:
        raise MismatchError(f"{path}: text is read in another way here than where it was written")
    return part.peer, model


def look(path: Path) -> PartSummary:
    """Read a part's summary, if it is whole and as the peer of its own settings signed it."""
    part, signature, body = _read(path)
    settings = dict(part.settings)
    if settings_digest(part.settings) != part.study:
        raise DamagedFileError(f"{path}: its settings are not those that its study hashed")
    public = written_identity(settings, part.peer)
    if not public:
        raise DamagedFileError(f"{path}: expected a part of a peer of its study")
    _check_signature(path, Pins({part.peer: public}), part.peer, signature, body)
    fingerprint, released = grouped(part.study), bool(part.released)
    numbers = (len(part.idf_halves.array()), part.space, released, Candidate.read(part.alpha))
    return PartSummary(VERSION, part.peer, fingerprint, part.labels, *numbers, settings)


def _read(path: Path) -> tuple[StoredPart, bytes, bytes]:
    """The part, its signature, and what was signed."""
    stored = storage.read_whole(path, limit=MAX_BYTES)
    stored.check_private()
    if not stored.data.startswith(HEAD):
        raise KeyFileError(
            f"{path}: expected a sealed model of version {VERSION}, found {_found(stored.data)}",
            hints=("models are written by save(path, peer=…)",),
        )
    rest = stored.data[len(HEAD) :]
    signature, body = rest[:SIGNATURE_BYTES], rest[SIGNATURE_BYTES:]
    try:
        return _codec().decode(body, StoredPart), signature, body
    except MalformedError as error:
        raise DamagedFileError(f"{path}: not what was written ({error.message})") from None


def _found(data: bytes) -> str:
    """Return the version of the file, if it is a model at all."""
    version = data.removeprefix(_KIND).split(b"\n")[0]
    known = data.startswith(_KIND) and version.isdigit() and len(version) < 9
    return f"version {version.decode()}" if known else "another file"


def _check(path: Path, part: StoredPart, study: Study, signature: bytes, body: bytes) -> None:
    if part.study != study.digest:
        raise MismatchError(
            f"{path}: belongs to study {part.study.hex()[:16]}, "
            f"expected {study.digest.hex()[:16]} ({study.plan.name!r})"
        )
    if part.peer not in study.roster.peers:
        raise MismatchError(
            f"{path}: expected a part of {', '.join(study.roster.peers)}, found {part.peer!r}"
        )
    _check_signature(path, study.roster.pins, part.peer, signature, body)


def _check_signature(path: Path, pins: Pins, peer: str, signature: bytes, body: bytes) -> None:
    try:
        pins.check(peer, signature, _PURPOSE, body)
    except ViolationError:
        raise DamagedFileError(
            f"{path}: not as {peer!r} signed it, so not what was written"
        ) from None


def _stored(model: PeerModel | QuorumModel, study: Study, peer: str) -> StoredPart:
    dictionary, solution = model.space.dictionary, model.scores.solution
    buckets = dictionary.buckets if isinstance(dictionary, JointDictionary) else ()
    released = () if model.released is None else (_bits(model.released),)
    public, weights = _sealed_part(model)
    return StoredPart(
        study.digest,
        peer,
        public,
        model.key.secret,
        wire.Words.of(np.array(buckets, np.uint64)),
        wire.Words.of(np.array(dictionary.idf_halves, np.uint64)),
        solution.fraction_bits,
        solution.bound.to_bytes((solution.bits + 7) // 8),
        model.candidate.written,
        weights,
        released,
        study.settings,
        study.plan.labels.names,
        model.space.fingerprint,
        tuple(threshold.hex() for threshold in model.operating_point),
    )


def _sealed_part(model: PeerModel | QuorumModel) -> tuple[bytes, bytes]:
    """The Paillier key and the encrypted weights; in engine quorum no key, and who holds them."""
    if isinstance(model, PeerModel):
        weights = b"" if model.weights is None else model.weights.to_bytes()
        if model.remote is not None:
            weights = _codec().encode(SealedParts(weights, model.remote.to_bytes()))
        return model.paillier.to_bytes(), weights
    return b"", _codec().encode(ModelHolders(model.members))


def _model(part: StoredPart, study: Study) -> PeerModel | QuorumModel:
    plan = study.plan
    dictionary = _dictionary(part, study)
    space = FeatureSpace(dictionary, plan.reading, plan.weighting, plan.columns, plan.beside)
    solution = Scale(part.fraction_bits, int.from_bytes(part.bound))
    shared = study.on_shares
    scores = ScorePlan.fit(plan, dictionary.idf_halves, solution, on_shares=shared)
    released = None
    if part.released:
        released = part.released[0].array().view(np.float64)
        if released.shape != scores.shape:
            raise MalformedError(f"expected weights of shape {scores.shape}")
    candidate = Candidate.read(part.alpha)
    point = tuple(float.fromhex(threshold) for threshold in part.operating_point)
    key = DictionaryKey(part.secret)
    if study.engine is Engine.QUORUM:
        members = _codec().decode(part.weights, ModelHolders).members
        _ = study.quorum.among(members)
        return QuorumModel(space, scores, candidate, key, members, released, point)
    public = plan.public_type.from_bytes(part.public)
    weights, remote, stored = None, None, part.weights
    if plan.arrangement.brings_rados and plan.arrangement.answering_to(part.peer):
        parts = _codec().decode(part.weights, SealedParts)
        stored = parts.weights
        remote = Ciphertext.from_bytes(parts.remote, key=public).expected(
            *remote_form(study, scores, part.peer)
        )
    if stored or not shared:
        weights = _weights(Ciphertext.from_bytes(stored, key=public), scores)
    return PeerModel(space, scores, weights, candidate, key, released, point, public, remote)


def _weights(sealed: Ciphertext, scores: ScorePlan) -> Ciphertext:
    layout, scale = Layout(scores.model.shape, scores.model.slots), model_scale(scores)
    if scores.model.exact and sealed.layout == layout and sealed.scale.bound > scale.bound:
        raise KeyFileError(
            "the encrypted weights are those of an earlier release, which had them mod 2^b",
            hints=("label with that release, or train again",),
        )
    return sealed.expected(layout, scale)


def _dictionary(part: StoredPart, study: Study) -> Dictionary:
    if study.plan.dictionary is not DictionaryKind.JOINT:
        return agreed_dictionary(study.plan)
    numbers = (part.buckets.array(), part.idf_halves.array())
    buckets, halves = (tuple(int(word) for word in words) for words in numbers)
    return JointDictionary(buckets, halves, bits=study.plan.bucket_bits)


def _bits(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> wire.Words:
    """Floats by their bits: what is read is exactly what was written."""
    return wire.Words.of(np.ascontiguousarray(weights).view(np.uint64))


def _codec() -> wire.Codec:
    return wire.Codec(limit=MAX_BYTES)
