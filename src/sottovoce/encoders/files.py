"""The files of a folder that make up an encoder, and the hash that names them."""

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
        """The only encoder in a folder or below it."""
        if not folder.is_dir():
            given = "a file" if folder.exists() else "nothing"
            raise InputError(
                f"encoder {folder}: expected a folder or an installed package, found {given}",
                hints=("name the folder that holds weights and tokenizer, or wordllama",),
            )
        files = _listed(folder)
        static = [path for path in files if path.suffix == ".safetensors"]
        networks = [path for path in files if path.suffix == ".onnx"]
        kind = EncoderKind.ONNX if networks and not static else EncoderKind.STATIC
        weights = networks if kind is EncoderKind.ONNX else static
        if len(weights) != 1 or (static and networks):
            names = ", ".join(path.name for path in (*static, *networks)[:5]) or "none"
            raise InputError(
                f"encoder {folder}: expected one file .safetensors or .onnx, found {names}",
                hints=("name a folder that holds one encoder",),
            )
        # Large networks keep their numbers in a file beside them.
        beside = [path for path in files if path.name.startswith(f"{weights[0].name}_data")]
        return cls(kind, (weights[0], *beside), _tokenizer(folder, files))

    @property
    def sha256(self) -> str:
        """64 hexadecimal digits: kind, and the contents of every file."""
        total = hashlib.sha256(_PURPOSE + str(self.kind).encode())
        for path in (*self.weights, self.tokenizer):
            total.update(_hashed(path))
        return total.hexdigest()


def _listed(folder: Path) -> list[Path]:
    paths: list[Path] = []
    for path in folder.rglob("*"):
        if path.is_file():
            paths.append(path)
        if len(paths) > _MOST_FILES:
            raise InputError(
                f"encoder {folder}: expected the folder of one encoder, "
                f"found more than {_MOST_FILES} files below it"
            )
    return sorted(paths)


def _tokenizer(folder: Path, files: list[Path]) -> Path:
    named = [path for path in files if path.name == "tokenizer.json"]
    others = [
        path
        for path in files
        if path.suffix == ".json" and "tokenizer" in path.name and path.stat().st_size > 10_000
    ]
    candidates = named or others
    if len(candidates) != 1:
        names = ", ".join(path.name for path in candidates[:5]) or "none"
        raise InputError(
            f"encoder {folder}: expected one tokenizer.json, found {names}",
            hints=("an encoder is its weights and the tokenizer that they were trained with",),
        )
    return candidates[0]


def _hashed(path: Path) -> bytes:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            state.update(chunk)
    return state.digest()
