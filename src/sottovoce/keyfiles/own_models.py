"""A site's own model in a file beside its part of the joint one, for that site alone to read.

Its weights follow from the site's text, so the file is as private as the text, and it never goes to
another site: a peer that lost its disk gets the joint model from another one, and has none of its
own. The file is signed by the peer; it holds the weights as numbers of 16 bits, or none.
"""

from pathlib import Path

import numpy as np

from sottovoce import wire
from sottovoce.errors import DamagedFileError, KeyFileError, MalformedError, ViolationError
from sottovoce.keyfiles import storage
from sottovoce.protocols.identities import SIGNATURE_BYTES, Identity
from sottovoce.study.study import Study
from sottovoce.text.features import FeatureSpace
from sottovoce.text.own_scores import FOLDS, OwnScores

VERSION = 1
MAX_BYTES = 2**30
_KIND = b"sottovoce own model, version "
_HEAD = _KIND + str(VERSION).encode() + b"\n"
_PURPOSE = f"own model file/v{VERSION}"


class StoredOwnModel(wire.Value, frozen=True):
    """The content of the file between its head and its end; of no model the weights are empty."""

    study: bytes
    peer: str
    space: str
    weights: bytes


def own_path(model: Path) -> Path:
    """Return the file of the own model that belongs to a part of the joint model."""
    return model.with_name(f"{model.name}.own")


def write_own_model(
    path: Path, space: FeatureSpace, study: Study, *, identity: Identity, replace: bool = False
) -> None:
    """Write the site's own model, signed; the file is whole or not there."""
    weights = b"" if space.own is None else space.own.weights.astype("<f2").tobytes()
    stored = StoredOwnModel(study.digest, identity.name, space.fingerprint, weights)
    body = _codec().encode(stored)
    data = _HEAD + identity.sign(_PURPOSE, body) + body
    storage.write_whole(path, data, mode=storage.SECRET_MODE, replace=replace)


def read_own_model(path: Path, space: FeatureSpace, study: Study, peer: str) -> OwnScores | None:
    """Return the site's own model, if this peer of this very study signed it; None without one."""
    if not path.exists():
        raise KeyFileError(
            f"{path}: the rows of study {study.plan.name!r} have scores of the site's own model, "
            "expected it beside the joint one, found none",
            hints=(f"put {path.name} back from a copy of its folder",),
        )
    stored = storage.read_whole(path, limit=MAX_BYTES)
    stored.check_private()
    if not stored.data.startswith(_HEAD):
        what = "another version" if stored.data.startswith(_KIND) else "another file"
        raise KeyFileError(f"{path}: expected an own model of version {VERSION}, found {what}")
    rest = stored.data[len(_HEAD) :]
    signature, body = rest[:SIGNATURE_BYTES], rest[SIGNATURE_BYTES:]
    try:
        study.roster.pins.check(peer, signature, _PURPOSE, body)
        kept = _codec().decode(body, StoredOwnModel)
    except (MalformedError, ViolationError):
        raise DamagedFileError(
            f"{path}: not as {peer!r} signed it, so not what was written"
        ) from None
    if (kept.study, kept.peer, kept.space) != (study.digest, peer, space.fingerprint):
        raise DamagedFileError(f"{path}: expected the own model of {peer!r} in this study")
    return _scores(path, kept.weights, (space.wide.width, study.plan.labels.width))


def _scores(path: Path, weights: bytes, shape: tuple[int, int]) -> OwnScores | None:
    if not weights:
        return None
    numbers = np.frombuffer(weights, "<f2")
    if numbers.size != FOLDS * shape[0] * shape[1]:
        raise DamagedFileError(f"{path}: signed, but holds no model of {shape[0]} columns")
    return OwnScores(numbers.astype(np.float32).reshape(FOLDS, *shape))


def _codec() -> wire.Codec:
    return wire.Codec(limit=MAX_BYTES)
