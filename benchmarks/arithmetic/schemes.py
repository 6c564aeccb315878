"""Paillier as three libraries offer it: ours, phe and sf-heu, behind one set of words."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Plain,
    Pool,
    SecretKey,
    SparseRows,
    decrypt,
    encrypt,
)

VALUE_BITS = 63
SLOT_BITS = 80
FACTOR_BITS = 64
WORDS = 100


class LibraryScheme(ABC):
    """What the benchmark asks of a library: lists of numbers in, lists of numbers out."""

    name: str

    @abstractmethod
    def encrypt(self, values: Sequence[int]) -> Any:
        """One ciphertext for each value."""

    def prepared(self, values: Sequence[int], *, bits: int) -> Any:
        """Ciphertexts of values of up to `bits` bits, however they came about: never timed."""
        del bits
        return self.encrypt(values)

    @abstractmethod
    def decrypt(self, numbers: Any) -> list[int]:
        """The values of ciphertexts."""

    @abstractmethod
    def add(self, left: Any, right: Any) -> Any:
        """The sums, one by one."""

    @abstractmethod
    def times(self, numbers: Any, factors: Sequence[int]) -> Any:
        """Each times a plaintext factor of its own."""

    @abstractmethod
    def matvec(self, matrix: Sequence[Sequence[int]], vector: Any) -> Any:
        """A plaintext matrix times an encrypted vector."""

    @abstractmethod
    def classify(self, documents: Sequence[Sequence[int]], weights: Any) -> list[int]:
        """The decrypted score of each document: the sum of the weights of its words."""

    def encrypt_packed(self, values: Sequence[int]) -> Any:
        """As few ciphertexts as the library needs for the values."""
        return self.encrypt(values)

    def decrypt_packed(self, numbers: Any) -> list[int]:
        """The values of `encrypt_packed`."""
        return self.decrypt(numbers)


class Ours(LibraryScheme):
    """The portable path, on gmpy2: as a peer encrypts, and as the key holder decrypts."""

    name = "ours"

    def __init__(self, key: SecretKey) -> None:
        """Work under `key`, with its tables ready for a long run."""
        self._key = key
        key.public.prepare(1_000_000)
        self._entropy = SystemEntropy()
        self._value = Scale(0, 2**VALUE_BITS)
        self._slots = Slots(SLOT_BITS, key.public.plaintext_bits // SLOT_BITS)

    @property
    def slots(self) -> int:
        """How many values share a ciphertext."""
        return self._slots.count

    def encrypt(self, values: Sequence[int]) -> Any:
        """Randomisers are made in a pool first, as a peer does while it waits."""
        pool = Pool(self._key.public, entropy=self._entropy, size=len(values))
        return encrypt(self._key.public, self._plain(values), entropy=pool)

    def encrypt_packed(self, values: Sequence[int]) -> Any:
        """Slots of 80 bits."""
        pool = Pool(self._key.public, entropy=self._entropy, size=-(-len(values) // self.slots))
        return encrypt(self._key.public, self._plain(values), entropy=pool, slots=self._slots)

    def decrypt(self, numbers: Any) -> list[int]:
        """By the secret half, packed or not."""
        integers: list[int] = decrypt(self._key, numbers).integers.tolist()
        return integers

    def add(self, left: Any, right: Any) -> Any:
        """Vector plus vector."""
        return left + right

    def times(self, numbers: Any, factors: Sequence[int]) -> Any:
        """Vector times vector."""
        return numbers * Plain(np.array(factors, dtype=object), Scale(0, 2**FACTOR_BITS))

    def matvec(self, matrix: Sequence[Sequence[int]], vector: Any) -> Any:
        """One multi-exponentiation for all rows."""
        bound = max(abs(entry) for row in matrix for entry in row)
        return Plain(np.array(matrix, dtype=object), Scale(0, bound)) @ vector

    def classify(self, documents: Sequence[Sequence[int]], weights: Any) -> list[int]:
        """Score, pack by the true bound of a score, decrypt."""
        rows = SparseRows.of_words(documents, width=len(weights), reach=WORDS)
        scores = rows @ weights
        slots = Slots.fit(scores.scale.bound, plaintext_bits=self._key.public.plaintext_bits)
        return self.decrypt(scores.packed(slots))

    def prepared(self, values: Sequence[int], *, bits: int) -> Ciphertext:
        """By the owner of the key, with the bound that the values have."""
        plain = Plain(np.array(values, dtype=object), Scale(0, 2**bits))
        return encrypt(self._key, plain, entropy=self._entropy)

    def _plain(self, values: Sequence[int]) -> Plain:
        return Plain(np.array(values, dtype=np.int64), self._value)


class OneByOne(LibraryScheme):
    """A library that holds one number in a ciphertext: vectors are lists of them."""

    def add(self, left: Any, right: Any) -> Any:
        """Sums of ciphertexts."""
        return [self.add_one(a, b) for a, b in zip(left, right, strict=True)]

    def times(self, numbers: Any, factors: Sequence[int]) -> Any:
        """Products with plaintext numbers."""
        return [self.times_one(a, f) for a, f in zip(numbers, factors, strict=True)]

    def matvec(self, matrix: Sequence[Sequence[int]], vector: Any) -> Any:
        """Row by row: products, then their sum."""
        return [self._sum(self.times(vector, row)) for row in matrix]

    def classify(self, documents: Sequence[Sequence[int]], weights: Any) -> list[int]:
        """One score a ciphertext."""
        return self.decrypt([self._sum([weights[w] for w in words]) for words in documents])

    def _sum(self, numbers: Sequence[Any]) -> Any:
        total = numbers[0]
        for number in numbers[1:]:
            total = self.add_one(total, number)
        return total

    @abstractmethod
    def add_one(self, left: Any, right: Any) -> Any:
        """The sum of two ciphertexts."""

    @abstractmethod
    def times_one(self, number: Any, factor: int) -> Any:
        """A ciphertext times a plaintext."""


class Phe(OneByOne):
    """phe (python-paillier) under the very same primes."""

    name = "phe"

    def __init__(self, key: SecretKey) -> None:
        """Work under the primes of `key`."""
        phe = import_module("phe.paillier")
        self._public = phe.PaillierPublicKey(key.public.modulus)
        self._private = phe.PaillierPrivateKey(self._public, key.p, key.q)
        self._number = phe.EncryptedNumber
        self._ours = Ours(key)

    def prepared(self, values: Sequence[int], *, bits: int) -> Any:
        """Ours, which phe reads as its own: its own would take minutes."""
        numbers = self._ours.prepared(values, bits=bits).residues
        return [self._number(self._public, int(number)) for number in numbers]

    def encrypt(self, values: Sequence[int]) -> Any:
        """With a fresh r^N each."""
        return [self._public.encrypt(value) for value in values]

    def decrypt(self, numbers: Any) -> list[int]:
        """With CRT, as phe does."""
        return [self._private.decrypt(number) for number in numbers]

    def add_one(self, left: Any, right: Any) -> Any:
        """An operator of phe's."""
        return left + right

    def times_one(self, number: Any, factor: int) -> Any:
        """An operator of phe's."""
        return number * factor


class Heu(OneByOne):
    """sf-heu's ZPaillier under a key of its own of the same size."""

    name = "sf-heu"

    def __init__(self, key: SecretKey) -> None:
        """Make a key of the size of `key`."""
        phe = import_module("heu.phe")
        kit = phe.setup(phe.SchemaType.ZPaillier, key.bits)
        self._encryptor, self._decryptor = kit.encryptor(), kit.decryptor()
        self._evaluator = kit.evaluator()

    def encrypt(self, values: Sequence[int]) -> Any:
        """With its own fixed-base tables."""
        return [self._encryptor.encrypt_raw(value) for value in values]

    def decrypt(self, numbers: Any) -> list[int]:
        """One by one."""
        return [self._decryptor.decrypt_raw(number) for number in numbers]

    def add_one(self, left: Any, right: Any) -> Any:
        """A method of its evaluator."""
        return self._evaluator.add(left, right)

    def times_one(self, number: Any, factor: int) -> Any:
        """A method of its evaluator."""
        return self._evaluator.mul(number, factor)


def partners(key: SecretKey) -> list[LibraryScheme]:
    """The partners that are installed; phe must be."""
    if find_spec("phe") is None:
        raise InputError(
            "bench paillier: the partner phe is not installed",
            hints=("pip install 'sottovoce[bench]'",),
        )
    schemes: list[LibraryScheme] = [Phe(key)]
    if find_spec("heu") is not None:
        with suppress(ImportError):  # installed, and built for another machine
            schemes.append(Heu(key))
    return schemes
