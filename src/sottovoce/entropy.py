"""The one source of randomness for everything that hides something.

Everything secret (keys, masks, randomisers, coins) is drawn from an `Entropy`
that its caller passed in. `SystemEntropy` is the operating system's generator;
`Expansion` stretches a secret seed that two parties share. Seeded and counting
entropies for tests are in the tests' harness, where no setting can reach them.
"""

import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR, GCM

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED_BYTES = 32
# The zeros that a stream is encrypted from; this many stay in the second-level cache.
_ZEROS = memoryview(bytes(2**18))

# Longer inputs are read by a MAC that is twenty times as fast as BLAKE2b, in pieces of this size.
_LONG, _PIECE = 2**16, 2**28

T = TypeVar("T")


class Entropy(ABC):
    """A source of uniform bytes, and the shapes in which protocols ask for them."""

    @abstractmethod
    def read(self, count: int) -> bytes:
        """The next `count` uniform bytes."""

    def seed(self) -> bytes:
        """A seed for an `Expansion`, or any other 256-bit secret."""
        return self.read(SEED_BYTES)

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits: 0 <= value < 2**count."""
        spare = -count % 8
        return int.from_bytes(self.read((count + spare) // 8)) >> spare

    def below(self, bound: int) -> int:
        """A uniform integer with 0 <= value < bound, by rejection: without bias."""
        if bound < 1:
            raise ValueError(f"below: expected a bound of at least 1, found {bound}")
        width = (bound - 1).bit_length()
        while (value := self.bits(width)) >= bound:
            pass
        return value

    def coin(self) -> bool:
        """A fair coin."""
        return bool(self.bits(1))

    def words(self, *shape: int) -> "NDArray[np.uint64]":
        """An array of uniform 64-bit words: masks and shares mod 2^64."""
        import numpy as np

        words = np.empty(shape, "<u8")
        self.fill(words)
        return words.astype(np.uint64, copy=False)

    def short_words(self, *shape: int) -> "NDArray[np.uint32]":
        """An array of uniform 32-bit words: masks and shares mod 2^32."""
        import numpy as np

        words = np.empty(shape, "<u4")
        self.fill(words)
        return words.astype(np.uint32, copy=False)

    def fill(self, array: "NDArray[np.unsignedinteger]") -> None:
        """Write uniform bytes over a whole array that lies in one piece."""
        import numpy as np

        flat = array.reshape(-1).view(np.uint8)
        flat[:] = np.frombuffer(self.read(flat.size), np.uint8)

    def bound_to(self, purpose: str, digest: bytes) -> "Entropy":
        """A stream of its own for what hides the inputs of this digest (`bound`)."""
        return Expansion(self.seed(), purpose, digest)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a uniformly random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


class SystemEntropy(Entropy):
    """The operating system's generator."""

    def read(self, count: int) -> bytes:
        """The next `count` uniform bytes."""
        return secrets.token_bytes(count)


class Expansion(Entropy):
    """A secret seed stretched for one purpose: two holders of the seed draw the same stream.

    The stream is AES-256 in counter mode under a key that BLAKE2b derives from
    the seed, the purpose and the context, so different purposes never share a
    byte. It is as secret as the seed, and must be used for one thing only.
    """

    def __init__(self, seed: bytes, purpose: str, context: bytes = b"") -> None:
        """Derive the stream of `seed` for `purpose` (with a version, as "masks/v1")."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"expansion: expected a seed of {SEED_BYTES} bytes, found {len(seed)}")
        label = purpose.encode()
        framed = len(label).to_bytes(4) + label + context
        key = hashlib.blake2b(framed, key=seed, digest_size=32, person=b"sottovoce/expand").digest()
        # A zero nonce is safe because the key is never used for a second stream.
        self._stream = Cipher(AES256(key), CTR(bytes(16))).encryptor()

    def read(self, count: int) -> bytes:
        """The next `count` bytes of the stream."""
        return self._stream.update(bytes(count))

    def fill(self, array: "NDArray[np.unsignedinteger]") -> None:
        """Write the next bytes of the stream over an array, without a copy of them."""
        import numpy as np

        target = array.reshape(-1).view(np.uint8).data
        for start in range(0, len(target), len(_ZEROS)):
            end = min(start + len(_ZEROS), len(target))
            self._stream.update_into(_ZEROS[: end - start], target[start:end])

    def __repr__(self) -> str:
        return "Expansion(<secret>)"


class RunHistory:
    """A digest of everything that a run of a program was told, in order."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=32, person=b"sottovoce/run")
        self.events = 0

    def add(self, *parts: bytes) -> None:
        """Add an event."""
        for part in parts:
            self._digest.update(len(part).to_bytes(8))
            self._digest.update(part)
        self.events += 1

    def digest(self) -> bytes:
        """The digest so far; of nothing, nothing."""
        return self._digest.digest() if self.events else b""


class RunEntropy(Entropy):
    """A stream that depends on everything that a run of a program was told before each draw.

    The seed of a run is on disk, and a copy of the disk has it. A copy that is told something else
    than the run was draws other numbers from there on: no mask covers two values.
    """

    def __init__(self, seed: bytes, purpose: str, context: bytes, history: RunHistory) -> None:
        """Derive streams of `seed` for `purpose`; who tells the run something adds to `history`."""
        self._seed, self._purpose, self._context = seed, purpose, context
        self._history, self._events = history, 0
        self._stream = Expansion(seed, purpose, context)

    def read(self, count: int) -> bytes:
        """The next `count` bytes of the stream."""
        return self._now().read(count)

    def fill(self, array: "NDArray[np.unsignedinteger]") -> None:
        """Write the next bytes of the stream over an array."""
        self._now().fill(array)

    def bound_to(self, purpose: str, digest: bytes) -> "RunEntropy":
        """A stream of its own for some inputs, which depends on the same history."""
        return RunEntropy(self.seed(), purpose, digest, self._history)

    def _now(self) -> Expansion:
        if self._events != self._history.events:
            self._events = self._history.events
            context = self._context + self._history.digest()
            self._stream = Expansion(self._seed, f"{self._purpose}/told", context)
        return self._stream

    def __repr__(self) -> str:
        return "RunEntropy(<secret>)"


def bound(entropy: Entropy, purpose: str, *inputs: "bytes | memoryview") -> Entropy:
    """A stream of its own for what hides these inputs: with other inputs it is another stream.

    So a seed that is used again, in a restored journal or by a caller's own hand, never puts one
    mask over two values. Long inputs count by their tags under a key of the same entropy, which
    nobody sees: whatever two inputs are, their tags are equal with a probability below 2^-90.
    """
    digest = hashlib.blake2b(digest_size=32)
    key = b""
    for part in inputs:
        # A part at a time: moments of thousands of features are not copied for this.
        view = memoryview(part)
        digest.update(view.nbytes.to_bytes(8))
        if view.nbytes < _LONG:
            digest.update(view)
            continue
        key = key or entropy.seed()
        digest.update(_tag(key, view.cast("B")))
    return entropy.bound_to(purpose, digest.digest())


def _tag(key: bytes, part: memoryview) -> bytes:
    """Return GCM's tag of a part; one nonce is enough, because tags are never shown."""
    mac = Cipher(AES256(key), GCM(bytes(12))).encryptor()
    for start in range(0, len(part), _PIECE):
        mac.authenticate_additional_data(part[start : start + _PIECE])
    mac.finalize()
    return mac.tag
