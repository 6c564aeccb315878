"""Which files of a folder make up an encoder, and the hash that names them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sottovoce.errors import InputError
from sottovoce.text.encoding import EncoderKind

_PURPOSE = b"sottovoce/encoder/v1"
_CHUNK = 1 << 20
# Beyond this a folder is no encoder's, and looking through it would take long.
_MOST_FILES = 10_000


@dataclass(frozen=True)
class EncoderFiles:
    """The weights (of a network perhaps in several files) and the tokenizer of one encoder."""

    kind: EncoderKind
    weights: tuple[Path, ...]
    tokenizer: Path

    @classmethod
    def below(cls, folder: Path) -> Self:
        """The one encoder that lies in a folder or below it."""
        if not folder.is_dir():
            raise InputError(f"encoder {folder}: expected a folder, found none there")
        files = _listed(folder)
        static = [one for one in files if one.suffix == ".safetensors"]
        networks = [one for one in files if one.suffix == ".onnx"]
        kind = EncoderKind.ONNX if networks and not static else EncoderKind.STATIC
        weights = networks if kind is EncoderKind.ONNX else static
        if len(weights) != 1 or (static and networks):
            found = ", ".join(one.name for one in (*static, *networks)[:5]) or "none"
            raise InputError(
                f"encoder {folder}: expected one file .safetensors or .onnx, found {found}",
                hints=("name a folder that holds one encoder",),
            )
        # Large networks keep their numbers in a file beside them.
        beside = [one for one in files if one.name.startswith(f"{weights[0].name}_data")]
        return cls(kind, (weights[0], *beside), _tokenizer(folder, files))

    @property
    def sha256(self) -> str:
        """64 hexadecimal digits: kind, and the contents of every file."""
        total = hashlib.sha256(_PURPOSE + str(self.kind).encode())
        for path in (*self.weights, self.tokenizer):
            total.update(_hashed(path))
        return total.hexdigest()


def _listed(folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in folder.rglob("*"):
        if path.is_file():
            found.append(path)
        if len(found) > _MOST_FILES:
            raise InputError(
                f"encoder {folder}: expected the folder of one encoder, "
                f"found more than {_MOST_FILES} files below it"
            )
    return sorted(found)


def _tokenizer(folder: Path, files: list[Path]) -> Path:
    named = [one for one in files if one.name == "tokenizer.json"]
    others = [
        one
        for one in files
        if one.suffix == ".json" and "tokenizer" in one.name and one.stat().st_size > 10_000
    ]
    found = named or others
    if len(found) != 1:
        names = ", ".join(one.name for one in found[:5]) or "none"
        raise InputError(
            f"encoder {folder}: expected one tokenizer.json, found {names}",
            hints=("an encoder is its weights and the tokenizer that they were trained with",),
        )
    return found[0]


def _hashed(path: Path) -> bytes:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            state.update(chunk)
    return state.digest()
