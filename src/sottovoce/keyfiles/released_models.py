"""A released model in a file of its own: how text is read, and the weights; no study is needed.

The file is one line that says what it is, the SHA-256 of the rest, and JSON. It holds the key
under which words are hashed: with it anybody could test which words were chosen, and with the
weights what they mean, so the file is for its owner alone to read. It has no own model of a site:
where rows have such scores, they are 0.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import DamagedFileError, InputError, KeyFileError, MismatchError, MisuseError
from sottovoce.keyfiles import storage
from sottovoce.study.queries.score_shares import decided
from sottovoce.study.queries.thresholds import unit_scores
from sottovoce.text.blocks import Blocks
from sottovoce.text.columns import Categorical, Column, Numeric, Wording
from sottovoce.text.dictionary.dictionaries import (
    Dictionary,
    GivenDictionary,
    HashedDictionary,
    JointDictionary,
)
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document, Fragment, Label
from sottovoce.text.features import FeatureReader, FeatureSpace, Weighting
from sottovoce.text.labels import Classes, Labels
from sottovoce.text.reading import Level, NGrams, Reading
from sottovoce.text.tokenizing.tokens import WordTokenizer
from sottovoce.text.tokenizing.windows import Window

VERSION = 1
_KIND = b"sottovoce released model, version "
_HEAD = _KIND + str(VERSION).encode() + b"\n"
_MAX_BYTES = 2**30
_DIGEST_BYTES = 64


@dataclass(frozen=True)
class ReleasedModel:
    """A model whose weights its owner has, ready to label documents."""

    study: str
    labels: Labels
    as_given: tuple[Label, ...] = field(repr=False)
    """The labels as their owners wrote them, in the order of `labels`."""
    space: FeatureSpace
    key: DictionaryKey = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    """One for every column of a row of whole numbers, and every score."""
    operating_point: tuple[float, ...] = field(default=(), repr=False)

    def scores(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """The scores of every row of the documents."""
        rows = FeatureReader(self.space, self.key).read(documents).integers()
        return unit_scores(rows, rows @ self.weights)

    def classes(self, scores: NDArray[np.float64]) -> list[Classes]:
        """The classes that scores speak for."""
        return decided(self.labels, scores, self.operating_point)

    def places(self, documents: Sequence[Document]) -> list[list[Fragment]]:
        """For every document the parts of it that rows stand for."""
        return FeatureReader(self.space, self.key).read(documents).places


@dataclass(frozen=True, repr=False)
class _StoredDictionary:
    kind: str
    words: tuple[str, ...] = ()
    size: int = 0
    buckets: tuple[int, ...] = ()
    idf_halves: tuple[int, ...] = ()
    bits: int = 0


@dataclass(frozen=True, repr=False)
class _StoredModel:
    study: str
    labels: tuple[str, ...]
    exclusive: bool
    as_given: tuple[str | int | float | bool, ...]
    dictionary: _StoredDictionary
    level: Level
    ngrams: NGrams
    tokenizer: WordTokenizer
    window: Window
    weighting: Weighting
    categorical: tuple[Categorical, ...]
    numeric: tuple[Numeric, ...]
    columns: tuple[str, ...]
    blocks: Blocks
    space: str
    """The fingerprint of all that is above, as the study signed it."""
    key: bytes
    shape: tuple[int, int]
    weights: bytes
    operating_point: tuple[float, ...]
    wordings: tuple[Wording, ...] = ()


def write_released(path: Path, model: ReleasedModel, *, replace: bool = False) -> None:
    """Write the model, for the owner of the file alone to read; it is whole or not there."""
    body = msgspec.json.encode(_stored(model))
    head = _HEAD + hashlib.sha256(body).hexdigest().encode() + b"\n"
    storage.write_whole(path, head + body, mode=storage.SECRET_MODE, replace=replace)


def read_released(path: Path) -> ReleasedModel:
    """The model of a file, if it is whole and read here as it was where it was written."""
    stored = storage.read_whole(path, limit=_MAX_BYTES)
    stored.check_private()
    if not stored.data.startswith(_HEAD):
        what = "another version" if stored.data.startswith(_KIND) else "another file"
        raise KeyFileError(
            f"{path}: expected a released model of version {VERSION}, found {what}",
            hints=('TextClassifier(release="peers").fit(federation).export(path)',),
        )
    digest, _, body = stored.data[len(_HEAD) :].partition(b"\n")
    if len(digest) != _DIGEST_BYTES or hashlib.sha256(body).hexdigest().encode() != digest:
        raise DamagedFileError(f"{path}: not what was written (its SHA-256 is another)")
    try:
        kept = msgspec.json.decode(body, type=_StoredModel)
        model = _model(kept)
    except (msgspec.MsgspecError, InputError, ValueError, TypeError) as error:
        raise DamagedFileError(f"{path}: holds no model ({type(error).__name__})") from None
    if model.space.fingerprint != kept.space:
        raise MismatchError(f"{path}: text is read in another way here than where it was written")
    return model


def _stored(model: ReleasedModel) -> _StoredModel:
    space = model.space
    if not isinstance(space.reading.tokenizer, WordTokenizer):
        raise MisuseError("export: the tokenizer is not the study's own")
    weights = np.ascontiguousarray(model.weights, "<f8")
    return _StoredModel(
        model.study,
        model.labels.names,
        model.labels.exclusive,
        model.as_given,
        _stored_dictionary(space.dictionary),
        space.reading.level,
        space.reading.ngrams,
        space.reading.tokenizer,
        space.reading.window,
        space.weighting,
        tuple(column for column in space.columns if isinstance(column, Categorical)),
        tuple(column for column in space.columns if isinstance(column, Numeric)),
        tuple(column.name for column in space.columns),
        space.blocks,
        space.fingerprint,
        model.key.secret,
        (weights.shape[0], weights.shape[1]),
        weights.tobytes(),
        model.operating_point,
        tuple(column for column in space.columns if isinstance(column, Wording)),
    )


def _stored_dictionary(dictionary: Dictionary) -> _StoredDictionary:
    match dictionary:
        case JointDictionary(buckets, halves, bits):
            return _StoredDictionary("joint", buckets=buckets, idf_halves=halves, bits=bits)
        case GivenDictionary(words):
            return _StoredDictionary("given", words=words)
        case HashedDictionary(size):
            return _StoredDictionary("hashed", size=size)
        case _:
            raise MisuseError("export: the dictionary is not the study's own")


def _model(kept: _StoredModel) -> ReleasedModel:
    further: tuple[Column, ...] = (*kept.categorical, *kept.numeric, *kept.wordings)
    named = {column.name: column for column in further}
    space = FeatureSpace(
        _dictionary(kept.dictionary),
        Reading(kept.level, kept.ngrams, kept.tokenizer, kept.window),
        kept.weighting,
        tuple(named[name] for name in kept.columns if name in named),
        kept.blocks,
    )
    weights = np.frombuffer(kept.weights, "<f8").reshape(kept.shape)
    labels = Labels(kept.labels, kept.exclusive)
    if kept.shape != (space.width, labels.width) or len(kept.as_given) != len(kept.labels):
        raise ValueError
    return ReleasedModel(
        kept.study,
        labels,
        kept.as_given,
        space,
        DictionaryKey(kept.key),
        weights,
        kept.operating_point,
    )


def _dictionary(kept: _StoredDictionary) -> Dictionary:
    if kept.kind == "joint":
        return JointDictionary(kept.buckets, kept.idf_halves, kept.bits)
    return GivenDictionary(kept.words) if kept.kind == "given" else HashedDictionary(kept.size)
