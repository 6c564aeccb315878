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


class ForgetfulEntropy(SeededEntropy):
    """The same stream, but draw number `which` of exactly `bits` bits is 0: a forgotten mask."""

    def __init__(self, seed: int, *, bits: int, which: int = 3) -> None:
        super().__init__(seed)
        self._bits = bits
        self._which = which
        self.draws = 0

    def bits(self, count: int) -> int:
        drawn = super().bits(count)
        if count != self._bits:
            return drawn
        self.draws += 1
        return 0 if self.draws == self._which + 1 else drawn

    @property
    def forgot(self) -> bool:
        return self.draws > self._which
