"""A seat's own keys: made at the site on first use, sealed on its disk, never sent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sottovoce.entropy import SEED_BYTES, Entropy
from sottovoce.errors import DamagedFileError, MalformedError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.sealing import X25519Key
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.study.plan import StudyPlan


@dataclass(frozen=True)
class SeatKeys:
    """A seat's signing key, and the key under which others seal messages for it."""

    identity: Identity
    box: X25519Key = field(repr=False)

    @classmethod
    def open(cls, files: SealedFiles, seat: str, *, entropy: Entropy) -> "SeatKeys":
        """The keys of a seat; makes new ones if there are none."""
        folder = files.root / seat
        draw = lambda: entropy.read(SEED_BYTES)  # noqa: E731 - it is used twice in the next lines
        identity = _kept(files, folder / "identity", draw, entropy=entropy)
        box = _kept(files, folder / "box", draw, entropy=entropy)
        return cls(Identity(seat, identity), X25519Key(box))


def study_key(files: SealedFiles, plan: StudyPlan, *, entropy: Entropy) -> SecretKey:
    """The study's Paillier key at the coordinator; made on first use."""
    path = key_path(files)
    if not path.exists():
        files.write_erasable(path, plan.generate(entropy=entropy).to_bytes(), entropy=entropy)
    data = files.read_erasable(path, entropy=entropy)
    try:
        return plan.secret_type.from_bytes(data)
    except MalformedError as error:
        raise DamagedFileError(f"{path}: holds no key of this study ({error.message})") from None


def key_path(files: SealedFiles) -> Path:
    """The path of the study's Paillier key."""
    return files.root / "coordinator" / "key"


def _kept(files: SealedFiles, path: Path, make: Callable[[], bytes], *, entropy: Entropy) -> bytes:
    if not path.exists():
        files.write(path, make(), entropy=entropy)
    return files.read(path)
