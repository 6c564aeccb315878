"""Doors for tests: the same bytes from the same seed, and a count of what was drawn."""

from sottovoce.entropy import Entropy, Expansion


class SeededEntropy(Entropy):
    """A stream that a test can repeat, counting the bytes that were drawn."""

    def __init__(self, seed: int = 0) -> None:
        self._stream = Expansion(seed.to_bytes(32), "tests/seeded/v1")
        self.drawn = 0

    def read(self, count: int) -> bytes:
        self.drawn += count
        return self._stream.read(count)
