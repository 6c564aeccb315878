"""Static encoders: the vector of a text is the mean of its tokens' vectors."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.encoders.files import EncoderFiles
from sottovoce.encoders.tokenizing import open_tokenizer, token_ids
from sottovoce.errors import InputError
from sottovoce.text.encoding import EncoderKind, EncoderName, Floats, unit_rows

_BATCH = 1_024
_MOST_HEAD = 1 << 20
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


class StaticEncoder:
    """Token vectors from a .safetensors file, and the tokenizer that belongs to them."""

    def __init__(self, name: EncoderName, vectors: NDArray[np.float32], tokenizer: Any) -> None:
        self.name = name
        self._vectors = vectors
        self._tokenizer = tokenizer

    @classmethod
    def open(cls, files: EncoderFiles) -> Self:
        """Read weights and tokenizer."""
        tokenizer = open_tokenizer(files.tokenizer)
        vectors = read_vectors(files.weights[0])
        if tokenizer.get_vocab_size() > len(vectors):
            raise InputError(
                f"encoder {files.weights[0]}: expected a vector for each of "
                f"{tokenizer.get_vocab_size()} tokens, found {len(vectors)}"
            )
        name = EncoderName(EncoderKind.STATIC, vectors.shape[1], files.sha256)
        return cls(name, vectors, tokenizer)

    def encode(self, texts: Sequence[str]) -> Floats:
        """A row of unit length for each text; zeros for a text without any token."""
        rows = np.zeros((len(texts), self.name.columns))
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            for place, ids in enumerate(token_ids(self._tokenizer, batch, special=False)):
                if ids:
                    rows[start + place] = self._vectors[ids].mean(axis=0, dtype=np.float64)
        return unit_rows(rows)


def read_vectors(path: Path) -> NDArray[np.float32]:
    """The one matrix of a .safetensors file: eight bytes of length, a JSON head, numbers."""
    data = path.read_bytes()
    try:
        size = min(int.from_bytes(data[:8], "little"), _MOST_HEAD)
        head = json.loads(data[8 : 8 + size])
        head.pop("__metadata__", None)
        matrices = {name: entry for name, entry in head.items() if len(entry["shape"]) == 2}
        ((name, table),) = matrices.items()
        low, high = (8 + size + int(place) for place in table["data_offsets"])
        numbers = np.frombuffer(data[low:high], _DTYPES[table["dtype"]]).reshape(table["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"encoder {path}: no matrix of token vectors can be read",
            hints=("a .safetensors file with one matrix of F16, F32 or F64",),
        ) from error
    if not np.isfinite(numbers).all():
        raise InputError(f"encoder {path}: not all numbers are finite in {name!r}")
    return numbers.astype(np.float32)
