"""Frozen encoders, which turn a text into a vector of unit length at the site; neither is sent.

An encoder's name consists of its kind (`static` word vectors or an `onnx` network), its number of
columns, and a SHA-256 of its weights and its tokenizer. The name is part of a study's plan, so all
sites provably use the same encoder. The package `encoders` reads the files. An opened encoder is
registered here, and readers of text find it by its name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.hints import ShellCommand

Floats = NDArray[np.float64]

MOST_COLUMNS = 4_096
_WRITTEN = re.compile(r"(static|onnx):([1-9][0-9]{0,4}):([0-9a-f]{64})")


class EncoderKind(StrEnum):
    """`static` takes the mean of token vectors, `onnx` runs a network."""

    STATIC = "static"
    ONNX = "onnx"


@dataclass(frozen=True, slots=True)
class EncoderName:
    """The name of an encoder; sites with equal names compute equal columns."""

    kind: EncoderKind
    columns: int
    sha256: str

    def __post_init__(self) -> None:
        if not 1 <= self.columns <= MOST_COLUMNS:
            raise InputError(
                f"expected 1 to {MOST_COLUMNS} columns, found {self.columns}",
                place="encoder",
                setting="encoder",
            )

    @classmethod
    def read(cls, written: str) -> Self:
        """Read a name in the form of `str`: kind, columns and SHA-256, separated by colons."""
        match = _WRITTEN.fullmatch(written)
        if match is None:
            raise InputError(
                "expected none, or kind, columns and SHA-256 as in static:256:9f86…, "
                f"found {written[:100]!r}",
                hints=(ShellCommand(f"sottovoce encoder inspect {_place_of(written)}"),),
                place="encoder",
                setting="encoder",
            )
        return cls(EncoderKind(match[1]), int(match[2]), match[3])

    def __str__(self) -> str:
        return f"{self.kind}:{self.columns}:{self.sha256}"


class Encoder(Protocol):
    """The interface of an encoder."""

    @property
    def name(self) -> EncoderName:
        """The encoder's name."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a row of unit length for each text; zeros for a text without any token."""


_provided: dict[EncoderName, Encoder] = {}


def provide(encoder: Encoder) -> EncoderName:
    """Register this encoder, so that readers of text find it by its name."""
    _provided[encoder.name] = encoder
    return encoder.name


def is_provided(name: EncoderName) -> bool:
    """Return whether an encoder of this name is registered."""
    return name in _provided


def provided(name: EncoderName) -> Encoder:
    """Return the registered encoder of this name; raise if there is none."""
    encoder = _provided.get(name)
    if encoder is None:
        others = ", ".join(map(_shown, _provided)) or "none"
        raise InputError(
            f"encoder: expected {_shown(name)}, found {others}",
            hints=(
                "name the folder that holds it: --encoder FOLDER",
                ShellCommand("sottovoce encoder inspect FOLDER"),
            ),
        )
    return encoder


def _place_of(written: str) -> str:
    """What was written, where it may be a folder or a package: its name is asked for there."""
    return written if re.fullmatch(r"[\w./-]{1,80}", written) else "FOLDER"


def _shown(name: EncoderName) -> str:
    return f"{name.kind} {name.sha256[:16]}… of {name.columns} columns"


def unit_rows(vectors: Floats) -> Floats:
    """Return every row scaled to length 1; a row of zeros is unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
