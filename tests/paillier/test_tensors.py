"""Every algebraic law of encrypted tensors, over both twins and all three profiles."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import BoundError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import GMP, INT
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    InsecureToySecretKey,
    Layout,
    Plain,
    SparseRows,
    Unsent,
    decrypt,
    decrypt_residues,
    encrypt,
    encrypt_elements,
    outer,
    stack,
    total,
)

PROFILES = ["short", "djn", "textbook"]
KEYS = {
    f"{profile}-{twin}": toy_key(profile, bits=384, arithmetic=twin)
    for profile in PROFILES
    for twin in (INT, GMP)
}
EVERY_KEY = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
BOUND = 2**20
SCALE = Scale(8, BOUND)
ENTRIES = st.integers(-BOUND, BOUND)
SEEDS = st.integers(0, 2**30)


def vectors(count: int) -> st.SearchStrategy[list[list[int]]]:
    """`count` vectors of one length."""
    return st.integers(1, 5).flatmap(
        lambda length: st.lists(
            st.lists(ENTRIES, min_size=length, max_size=length), min_size=count, max_size=count
        )
    )


@dataclass
class Bench:
    """A key, its door, and the shortest words for sealing and opening."""

    key: InsecureToySecretKey
    entropy: SeededEntropy

    def seal(self, values: Any, scale: Scale = SCALE, slots: Slots | None = None) -> Ciphertext:
        return encrypt(self.key.public, plain(values, scale), entropy=self.entropy, slots=slots)

    def open(self, tensor: Encrypted) -> Any:
        decrypted = decrypt(self.key, tensor).integers
        values: Any = decrypted.tolist()
        assert all(abs(v) <= tensor.scale.bound for v in np.ravel(objects(values)).tolist())
        return values


def plain(values: Any, scale: Scale = SCALE) -> Plain:
    return Plain(np.array(values, dtype=object), scale)


def at(key: InsecureToySecretKey, seed: int) -> Bench:
    return Bench(key, SeededEntropy(seed))


def objects(values: Any) -> NDArray[Any]:
    return np.array(values, dtype=object)


@EVERY_KEY
@given(vectors(3), SEEDS)
@settings(max_examples=8)
def test_sums(key: InsecureToySecretKey, abc: list[list[int]], seed: int) -> None:
    bench = at(key, seed)
    a, b = map(objects, abc[:2])
    x, y, z = map(bench.seal, abc)
    assert bench.open(x) == a.tolist()
    assert bench.open(x + y) == (a + b).tolist()
    assert (x + y).residues == (y + x).residues
    assert ((x + y) + z).residues == (x + (y + z)).residues
    assert bench.open(x - y) == (a - b).tolist()
    assert (x - y).residues == (x + -y).residues
    negative = -x
    assert (-negative).residues == x.residues
    assert bench.open(x - x) == [0] * len(a)
    assert bench.open(x + plain(b)) == bench.open(plain(b) + x) == (a + b).tolist()
    assert bench.open(x - plain(b)) == (a - b).tolist()
    assert bench.open(plain(b) - x) == (b - a).tolist()
    assert total([x, y, z]).residues == (x + y + z).residues
    assert total([x, y, z]).scale == (x + y + z).scale
    assert bench.open(x.sum()) == a.sum()


@EVERY_KEY
@given(vectors(2), st.integers(-99, 99), st.integers(-99, 99), SEEDS)
@settings(max_examples=8)
def test_products_with_numbers(
    key: InsecureToySecretKey, ab: list[list[int]], k: int, l: int, seed: int
) -> None:
    bench = at(key, seed)
    a, b = map(objects, ab)
    x, y = map(bench.seal, ab)
    assert bench.open(x * k) == bench.open(k * x) == (a * k).tolist()
    assert ((x + y) * k).residues == (x * k + y * k).residues
    assert ((x * k) * l).residues == (x * (k * l)).residues
    assert (x * k + x * l).residues == (x * (k + l)).residues
    assert bench.open(x * np.int64(k)) == (a * k).tolist()
    assert bench.open(x * plain(k, Scale(0, 99))) == (a * k).tolist()
    assert bench.open(x * plain(b)) == (a * b).tolist()
    assert bench.open(x.dot(plain(b))) == bench.open(plain(b) @ x) == a @ b
    assert bench.open(x @ plain(b)) == a @ b
    assert bench.open(outer(x, plain(b))) == np.outer(a, b).tolist()
    assert bench.open((x * 2).halved()) == a.tolist()
    assert (x * 2).halved().scale == SCALE


@EVERY_KEY
@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), SEEDS)
@settings(max_examples=8)
def test_matrices(key: InsecureToySecretKey, m: int, n: int, k: int, seed: int) -> None:
    bench, rng = at(key, seed), np.random.default_rng(seed)
    a = rng.integers(-999, 999, (m, n)).astype(object)
    b = rng.integers(-999, 999, (k, m)).astype(object)
    v = rng.integers(-999, 999, n).astype(object)
    w = rng.integers(-999, 999, m).astype(object)
    small = Scale(0, 999)
    matrix, vector = bench.seal(a, small), bench.seal(v, small)
    assert bench.open(plain(a, small) @ vector) == (a @ v).tolist()
    assert bench.open(matrix @ plain(v, small)) == (a @ v).tolist()
    assert bench.open(plain(w, small) @ matrix) == (w @ a).tolist()
    assert bench.open(plain(b, small) @ matrix) == (b @ a).tolist()
    assert bench.open(plain(b, small) @ (plain(a, small) @ vector)) == (b @ a @ v).tolist()
    assert bench.open(matrix @ plain(a.T, small)) == (a @ a.T).tolist()
    assert bench.open(matrix.T) == a.T.tolist()
    assert bench.open(matrix.T @ plain(w, small)) == (a.T @ w).tolist()
    assert bench.open(matrix.sum(axis=0)) == a.sum(axis=0).tolist()
    assert bench.open(matrix.sum(axis=1)) == a.sum(axis=1).tolist()
    assert bench.open(matrix.sum()) == a.sum()
    assert bench.open(matrix.reshaped(n, m)) == a.reshape(n, m).tolist()
    assert bench.open(stack([matrix[i] for i in range(m)])) == a.tolist()
    assert bench.open(matrix[:, 0]) == a[:, 0].tolist()
    assert bench.open(matrix[-1, -1]) == a[-1, -1]
    assert len(matrix) == m


@EVERY_KEY
@given(st.integers(1, 4), st.integers(1, 9), SEEDS)
@settings(max_examples=8)
def test_packed_rows(key: InsecureToySecretKey, m: int, n: int, seed: int) -> None:
    bench, rng = at(key, seed), np.random.default_rng(seed)
    a = rng.integers(-999, 999, (m, n)).astype(object)
    w = rng.integers(-9, 9, m).astype(object)
    small, tiny = Scale(0, 999), Scale(0, 9)
    slots = Slots.fit(2**30, plaintext_bits=key.public.plaintext_bits)
    packed, single = bench.seal(a, small, slots), bench.seal(a, small)
    assert len(packed.residues) == m * -(-n // slots.count)
    assert bench.open(packed + packed) == (2 * a).tolist()
    assert bench.open(packed - plain(a[::-1], small)) == (a - a[::-1]).tolist()
    assert bench.open(packed * -3) == (-3 * a).tolist()
    assert bench.open(plain(w, tiny) @ packed) == (w @ a).tolist()
    assert bench.open(packed.sum(axis=0)) == a.sum(axis=0).tolist()
    assert bench.open(packed[0]) == a[0].tolist()
    assert bench.open(packed[1:]) == a[1:].tolist()
    assert bench.open(stack([packed[i] for i in range(m)])) == a.tolist()
    # Horner gives the very plaintexts that packing before encryption gives.
    assert bench.open(single.packed(slots)) == a.tolist()
    assert single.packed(slots).layout == packed.layout
    assert bench.open(single[0].packed(slots) + packed[0]) == (2 * a[0]).tolist()


@EVERY_KEY
@given(st.integers(1, 6), SEEDS)
@settings(max_examples=6)
def test_symmetric_matrices(key: InsecureToySecretKey, size: int, seed: int) -> None:
    bench, rng = at(key, seed), np.random.default_rng(seed)
    half = rng.integers(-999, 999, (size, size)).astype(object)
    a = half + half.T
    scale = Scale(4, 1998)
    slots = Slots.fit(2**20, plaintext_bits=key.public.plaintext_bits)
    sealed = encrypt(key, plain(a, scale), entropy=bench.entropy, slots=slots, symmetric=True)
    assert len(sealed.residues) == slots.plaintexts_for(size * (size + 1) // 2)
    assert bench.open(sealed) == a.tolist()
    assert bench.open(sealed * 5 + plain(a, scale)) == (6 * a).tolist()
    assert sealed.T is sealed


@EVERY_KEY
@given(st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=5), SEEDS)
@settings(max_examples=8)
def test_rows_of_words(key: InsecureToySecretKey, words: list[list[int]], seed: int) -> None:
    bench = at(key, seed)
    weights = objects(np.random.default_rng(seed).integers(-BOUND, BOUND, 7))
    x = bench.seal(weights)
    expected = [sum(weights[w] for w in row) for row in words]
    rows = SparseRows.of_words(words, width=7, reach=12)
    assert bench.open(rows @ x) == expected
    assert (rows @ x).scale == Scale(8, 12 * BOUND)
    counts = np.array([np.bincount(row, minlength=7) for row in words], dtype=np.int64)
    sparse = SparseRows.of(csr_array(counts.reshape(-1, 7)), reach=12)
    assert bench.open(sparse @ x) == expected


def test_words_of_a_few_classes_are_scored_together_and_joined() -> None:
    bench, rng = at(KEYS["short-GMP"], 1), np.random.default_rng(1)
    weights = rng.integers(-500, 500, (20, 3)).astype(object)
    words = [rng.integers(0, 20, 8).tolist() for _ in range(11)]
    slots = Slots.fit(4000, plaintext_bits=bench.key.public.plaintext_bits)
    sealed = bench.seal(weights, Scale(0, 500), Slots(slots.width, 3))
    scores = SparseRows.of_words(words, width=20, reach=8) @ sealed
    expected = [sum(weights[w] for w in row).tolist() for row in words]
    assert bench.open(scores) == expected
    wide = Slots(slots.width, slots.count // 3 * 3)
    count = -(-33 // wide.count)
    masks = [11 + 2**200 * place for place in range(count)]
    joined = scores.joined_for_key_holder(wide, masks, entropy=bench.entropy)
    assert len(joined.residues) == count < len(scores.residues)
    opened = decrypt_residues(bench.key, joined)
    modulus, bound = bench.key.public.plaintexts, bench.key.public.plaintext_bound
    bare = [(m - mask) % modulus for m, mask in zip(opened, masks, strict=True)]
    centred = [m - modulus if m > bound else m for m in bare]
    assert wide.unpack_all(centred, 33) == [value for row in expected for value in row]


@pytest.mark.parametrize("name", ["short-GMP", "short-INT"])
def test_joined_rows_are_uniform_to_the_key_holder(name: str) -> None:
    """Each is multiplied by the N-th power of a unit drawn for it, as if it were made apart."""
    bench = at(KEYS[name], 2)
    public, slots = bench.key.public, Slots(40, 1)
    rows = bench.seal(objects(np.arange(10).reshape(10, 1)), Scale(0, 10), slots)
    wide, square = Slots(40, 3), int(public.square.modulus)
    joined = rows.joined_for_key_holder(wide, [5] * 4, entropy=SeededEntropy(3))
    units = public.units(4, entropy=SeededEntropy(3))
    assert len(set(units)) == 4
    for place, (residue, unit) in enumerate(zip(joined.residues, units, strict=True)):
        parts = rows.residues[3 * place : 3 * place + 3]
        shifted = [pow(int(c), 2 ** (40 * i), square) for i, c in enumerate(parts)]
        factors = [pow(int(unit), public.plaintexts, square), 1 + 5 * public.modulus]
        assert residue == prod(shifted + factors) % square


@pytest.mark.parametrize("name", ["short-GMP", "short-INT"])
def test_a_packed_vector_is_uniform_to_the_key_holder(name: str) -> None:
    bench, square = at(KEYS[name], 4), int(KEYS[name].public.square.modulus)
    public, slots, values = bench.key.public, Slots(40, 3), [7, -5, 0, BOUND, 9]
    x, added = bench.seal(objects(values)), plain([1, 2, 3, 4, -9], Scale(8, 9))
    sent = x.packed_for_key_holder(slots, added, entropy=SeededEntropy(5))
    assert bench.open(sent) == [8, -3, 3, BOUND + 4, 0]
    assert sent.scale == SCALE.plus(Scale(8, 9))
    bare = x.packed(slots) + added
    units = public.units(2, entropy=SeededEntropy(5))
    powers = [pow(int(unit), public.plaintexts, square) for unit in units]
    assert list(sent.residues) == [
        r * power % square for r, power in zip(bare.residues, powers, strict=True)
    ]


@EVERY_KEY
@given(vectors(1), SEEDS)
@settings(max_examples=6)
def test_masks_over_whole_ciphertexts(
    key: InsecureToySecretKey, values: list[list[int]], seed: int
) -> None:
    bench = at(key, seed)
    slots = Slots.fit(BOUND, plaintext_bits=key.public.plaintext_bits, additions=3)
    x = bench.seal(values[0], slots=slots)
    masks = key.public.masks(len(x.residues), entropy=bench.entropy)
    covered = x.cover(masks)
    assert covered.layout.covered
    assert bench.open(covered.uncover(masks, scale=SCALE)) == values[0]
    # Masks that cancel among parties: what is left needs no masks to uncover.
    other = x.cover([-mask for mask in masks])
    both = (covered + other).uncover(scale=SCALE.sum_of(2))
    assert bench.open(both) == [2 * v for v in values[0]]
    assert bench.open(total([covered, other]).uncover(scale=SCALE.sum_of(2))) == bench.open(both)


@EVERY_KEY
def test_elements_of_z_n_come_back_as_they_are(key: InsecureToySecretKey) -> None:
    modulus = key.public.modulus
    elements = [0, 1, modulus // 2, modulus - 1]
    sealed = encrypt_elements(
        key, elements, Layout((2, 2)), fraction_bits=3, entropy=SeededEntropy(1)
    )
    assert sealed.layout == Layout((2, 2), covered=True)
    assert decrypt_residues(key, sealed) == elements


def test_a_tighter_bound_is_the_callers_word() -> None:
    bench = at(KEYS["short-GMP"], 1)
    x = bench.seal([5, -6]) * 1000
    assert bench.open(x.within(Scale(8, 6000))) == [5000, -6000]
    with pytest.raises(BoundError, match="decrypt: a number is over"):
        bench.open(x.within(Scale(8, 5999)))


@EVERY_KEY
@given(vectors(2), SEEDS)
@settings(max_examples=6)
def test_fresh_changes_every_number_and_no_value(
    key: InsecureToySecretKey, ab: list[list[int]], seed: int
) -> None:
    bench = at(key, seed)
    x, y = map(bench.seal, ab)
    stale = x + y
    assert isinstance(stale, Unsent)
    fresh = stale.fresh(entropy=bench.entropy)
    assert isinstance(fresh, Ciphertext)
    assert bench.open(fresh) == bench.open(stale)
    assert (fresh.layout, fresh.scale) == (stale.layout, stale.scale)
    again = fresh.fresh(entropy=bench.entropy)
    numbers = [*stale.residues, *fresh.residues, *again.residues]
    assert len(set(numbers)) == len(numbers)


STEPS: list[Callable[[Any, Any], tuple[Any, Any]]] = [
    lambda x, a: (x + x, a + a),
    lambda x, a: (x - x * 3, a - a * 3),
    lambda x, a: (-x, -a),
    lambda x, a: (x * 7, a * 7),
    lambda x, a: (x + plain(np.ones(len(a), int), Scale(x.scale.fraction_bits, 1)), a + 1),
    lambda x, a: (x * plain(np.arange(len(a)) - 1, Scale(0, 9)), a * (np.arange(len(a)) - 1)),
    lambda x, a: (x[::-1], a[::-1]),
    lambda x, a: (
        plain(np.tri(len(a), dtype=int), Scale(0, 1)) @ x,
        np.tri(len(a)).astype(int) @ a,
    ),
    lambda x, a: (x.divided(1), a),
]


@EVERY_KEY
@given(vectors(1), st.lists(st.sampled_from(STEPS), max_size=8), SEEDS)
@settings(max_examples=10)
def test_any_chain_of_steps_equals_its_ideal_and_keeps_its_bound(
    key: InsecureToySecretKey, start: list[list[int]], steps: list[Any], seed: int
) -> None:
    bench = at(key, seed)
    x: Encrypted = bench.seal(start[0])
    ideal = objects(start[0])
    for step in steps:
        x, ideal = step(x, ideal)
    assert bench.open(x) == ideal.tolist()


def test_the_owner_and_everybody_else_encrypt_alike() -> None:
    for key in KEYS.values():
        values = plain([1, -2, 3])
        for owner in (key, key.public):
            sealed = encrypt(owner, values, entropy=SeededEntropy(3))
            assert decrypt(key, sealed).integers.tolist() == [1, -2, 3]


def test_floats_come_back_rounded_to_the_grid() -> None:
    key, scale = KEYS["short-GMP"], Scale.covering(4.0, fraction_bits=20)
    numbers = np.array([[3.14159, -2.71828], [0.0, 4.0]])
    sealed = encrypt(key.public, Plain.of(numbers, scale), entropy=SeededEntropy(1))
    assert np.abs(decrypt(key, sealed).floats() - numbers).max() <= 2**-21


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_plaintexts_survive(sign: int) -> None:
    key = KEYS["short-GMP"]
    top = key.public.plaintext_bound
    sealed = encrypt(key, plain([sign * top, 0], Scale(0, top)), entropy=SeededEntropy(1))
    assert decrypt(key, sealed).integers.tolist() == [sign * top, 0]


def test_a_tensor_is_gone_through_value_by_value_or_row_by_row() -> None:
    key, entropy = toy_key(), SeededEntropy()
    numbers = np.arange(6.0).reshape(3, 2)
    matrix = encrypt(key.public, Plain.of(numbers, Scale(4, 1000)), entropy=entropy)
    assert [decrypt(key, row).floats().tolist() for row in matrix] == numbers.tolist()
    assert [float(decrypt(key, value).floats()) for value in matrix[1]] == [2, 3]


def test_empty_tensors_are_tensors() -> None:
    bench = at(KEYS["short-GMP"], 1)
    x = bench.seal([])
    assert bench.open(x + x) == []
    assert bench.open(x.sum()) == 0
    assert bench.open(plain(np.zeros((0, 3), int)) @ bench.seal([1, 2, 3])) == []
    assert bench.open(bench.seal(np.zeros((3, 0), int)).T) == []


def test_plain_operands_compute_exactly() -> None:
    a, b = plain([2**19, -3]), plain([5, 2**19])
    assert (a + b).integers.tolist() == [2**19 + 5, 2**19 - 3]
    assert (a - b).scale == Scale(8, 2 * BOUND)
    assert a.dot(b).integers == 5 * 2**19 - 3 * 2**19
    assert a.dot(b).scale == Scale(16, 2 * BOUND * BOUND)
    assert (-a).integers.tolist() == [-(2**19), 3]
