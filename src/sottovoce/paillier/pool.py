"""Randomisers made ahead of time, each of which leaves the pool once."""

from collections import deque
from multiprocessing import current_process
from threading import Lock
from typing import NoReturn, TypeAlias

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, MisuseError
from sottovoce.numbers.modular import Residue
from sottovoce.paillier.keys import PublicKey
from sottovoce.paillier.secret import SecretKey

# The maker of randomisers: the public key, or its owner in a quarter of the time.
Key: TypeAlias = PublicKey | SecretKey


class Pool:
    """Fresh encryptions of 0 for one key, ready to be multiplied in.

    Two ciphertexts with one randomiser reveal the difference of their plaintexts. So a randomiser
    is given out only once, threads take turns, and a pool cannot be copied, pickled, or used in a
    process forked from its own.
    """

    def __init__(self, key: Key, *, entropy: Entropy, size: int = 0) -> None:
        """A pool for `key` with `size` randomisers drawn from `entropy`."""
        self.public = public_of(key)
        self._key = key
        self._entropy = entropy
        self._ready: deque[Residue] = deque()
        self._lock = Lock()
        self._process = current_process().pid
        self.fill(size)

    def __len__(self) -> int:
        return len(self._ready)

    def fill(self, count: int) -> None:
        """Make randomisers until `count` are ready."""
        self._check_process()
        with self._lock:
            missing = max(0, count - len(self._ready))
            self._ready.extend(self._key.rerandomisers(missing, entropy=self._entropy))

    def take(self, count: int) -> list[Residue]:
        """Return `count` randomisers that nobody else gets; missing ones are made now."""
        self._check_process()
        with self._lock:
            ready = [self._ready.popleft() for _ in range(min(count, len(self._ready)))]
            missing = count - len(ready)
            return ready + self._key.rerandomisers(missing, entropy=self._entropy)

    def _check_process(self) -> None:
        if current_process().pid != self._process:
            raise MisuseError(
                "pool: made in another process, its randomisers may be in use there",
                hints=("make a Pool in each process",),
            )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise MisuseError("pool: never copied or pickled, its randomisers would be used twice")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(None)

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(None)

    def __repr__(self) -> str:
        return f"Pool({self.public}, {len(self)} ready)"


def public_of(key: Key) -> PublicKey:
    """The public half of either half."""
    return key.public if isinstance(key, SecretKey) else key


def rerandomisers_for(key: PublicKey, count: int, *, entropy: Entropy | Pool) -> list[Residue]:
    """Return randomisers for arithmetic results; a pool's randomisers are used for both."""
    if isinstance(entropy, Pool):
        return randomisers_for(key, count, entropy=entropy)
    return key.rerandomisers(count, entropy=entropy)


def randomisers_for(key: PublicKey, count: int, *, entropy: Entropy | Pool) -> list[Residue]:
    """Randomisers for a key, from a pool of that key or made now."""
    if isinstance(entropy, Pool):
        if entropy.public != key:
            raise MismatchError(f"pool: keys differ, {entropy.public} beside {key}")
        return entropy.take(count)
    return key.randomisers(count, entropy=entropy)
