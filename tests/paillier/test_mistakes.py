"""What goes wrong says which thing, what was expected and what was found; nothing is computed."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import (
    BoundError,
    InputError,
    MismatchError,
    MisuseError,
    SottovoceError,
    ViolationError,
)
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    ForKeyHolder,
    Layout,
    Plain,
    SparseRows,
    Unsent,
    decrypt,
    encrypt,
    outer,
    stack,
    total,
)

KEY = toy_key()
SLOTS = Slots(32, 15)
SCALE = Scale(4, 1000)


def sealed(
    values: Any, scale: Scale = SCALE, slots: Slots | None = None, seed: int = 0
) -> Ciphertext:
    plain = Plain(np.array(values, dtype=object), scale)
    key = toy_key(seed=seed).public
    return encrypt(key, plain, entropy=SeededEntropy(1), slots=slots)


def plain(values: Any, scale: Scale = SCALE) -> Plain:
    return Plain(np.array(values, dtype=object), scale)


def joined(rows: Ciphertext, slots: Slots, masks: tuple[int, ...] = (0,)) -> ForKeyHolder:
    return rows.joined_for_key_holder(slots, masks, entropy=SeededEntropy(2))


X = sealed([1, 2, 3])
PACKED = sealed([1, 2, 3], slots=SLOTS)
ROWS = sealed([[1, 2, 3], [4, 5, 6]], slots=SLOTS)
SYMMETRIC = encrypt(
    KEY, plain([[1, 2], [2, 3]]), entropy=SeededEntropy(1), slots=SLOTS, symmetric=True
)
COVERED = X.cover([5, 6, 7])
LIMIT = KEY.public.plaintext_bound

MISTAKES: list[tuple[str, Callable[[], object], type[SottovoceError], str]] = [
    ("keys of two studies", lambda: X + sealed([1, 2, 3], seed=1), MismatchError, "keys differ"),
    ("keys in a difference", lambda: X - sealed([1, 2, 3], seed=1), MismatchError, "keys differ"),
    (
        "keys in a total",
        lambda: total([X, sealed([1, 2, 3], seed=1)]),
        MismatchError,
        "total: keys differ",
    ),
    (
        "the secret key of another study",
        lambda: decrypt(toy_key(seed=1), X),
        MismatchError,
        "decrypt: keys differ",
    ),
    (
        "shapes",
        lambda: X + sealed([1, 2]),
        MismatchError,
        r"add: shapes differ, \(3,\) beside \(2,\)",
    ),
    ("shape of a plaintext", lambda: X + plain([1]), MismatchError, "add: shapes differ"),
    ("shape of factors", lambda: X * plain([1, 2]), MismatchError, "multiply: shapes differ"),
    (
        "scales",
        lambda: X + sealed([1, 2, 3], Scale(5, 9)),
        MismatchError,
        "4 fraction bits beside 5",
    ),
    (
        "scale of a plaintext",
        lambda: X - plain([1, 2, 3], Scale(3, 9)),
        MismatchError,
        "scales differ",
    ),
    ("scales in a stack", lambda: stack([X, X.divided(1)]), MismatchError, "scales differ"),
    ("slots", lambda: PACKED + X, MismatchError, "slots differ"),
    (
        "slots of other width",
        lambda: PACKED + sealed([1, 2, 3], slots=Slots(31, 15)),
        MismatchError,
        "slots differ",
    ),
    ("covered and not", lambda: COVERED + X, MismatchError, "covers differ"),
    (
        "a plaintext over its bound",
        lambda: sealed([1001]),
        BoundError,
        "magnitudes up to 1000 .* found 1001 at index 0",
    ),
    (
        "a bound over the plaintext",
        lambda: sealed([1], Scale(0, LIMIT + 1)),
        BoundError,
        "encrypt: needs magnitudes up to 2\\^511, the limit is 2\\^511",
    ),
    (
        "a sum over the plaintext",
        lambda: sealed([1], Scale(0, LIMIT)) + sealed([1], Scale(0, 1)),
        BoundError,
        "add",
    ),
    (
        "a product over the plaintext",
        lambda: sealed([1], Scale(0, LIMIT)) * 2,
        BoundError,
        "multiply",
    ),
    (
        "a dot over the plaintext",
        lambda: sealed([1, 1], Scale(0, LIMIT)).dot(plain([1, 1], Scale(0, 1))),
        BoundError,
        "product",
    ),
    (
        "a sum of all over the plaintext",
        lambda: sealed([1, 1], Scale(0, LIMIT)).sum(),
        BoundError,
        "sum",
    ),
    (
        "a total over the plaintext",
        lambda: total([sealed([1], Scale(0, LIMIT))] * 2),
        BoundError,
        "total",
    ),
    (
        "an over-full slot",
        lambda: sealed([1], Scale(0, 2**31), SLOTS),
        BoundError,
        "encrypt: over-full slot",
    ),
    ("a slot that runs over", lambda: PACKED * 2**22, BoundError, "multiply: over-full slot"),
    (
        "a sum that runs over a slot",
        lambda: sealed([1], Scale(0, 2**31 - 1), SLOTS) + sealed([1], Scale(0, 1), SLOTS),
        BoundError,
        "add: over-full slot",
    ),
    (
        "packing what does not fit",
        lambda: sealed([1], Scale(0, 2**40)).packed(SLOTS),
        BoundError,
        "pack: over-full slot",
    ),
    (
        "more slots than plaintext",
        lambda: sealed([1], slots=Slots(32, 16)),
        MismatchError,
        "16 slots of 32 bits do not fit into the 511 bits",
    ),
    (
        "a packed scalar",
        lambda: sealed(1, slots=SLOTS),
        InputError,
        "a scalar has a ciphertext of its own",
    ),
    ("packing twice", lambda: PACKED.packed(SLOTS), MismatchError, "one value a ciphertext"),
    (
        "a packed inner product",
        lambda: PACKED.dot(plain([1, 2, 3])),
        MismatchError,
        "expected a vector, or a matrix by rows",
    ),
    (
        "packed values one by one",
        lambda: PACKED * plain([1, 2, 3]),
        MismatchError,
        "one value a ciphertext",
    ),
    ("one value of a packed vector", lambda: PACKED[0], MismatchError, "one value a ciphertext"),
    ("one value of packed rows", lambda: ROWS[0, 1], MismatchError, "a row or a slice of rows"),
    ("the sum of packed values", PACKED.sum, MismatchError, "along the rows alone"),
    ("a packed matrix transposed", lambda: ROWS.T, MismatchError, "one value a ciphertext"),
    (
        "a packed matrix from the left",
        lambda: ROWS @ plain([1, 2, 3]),
        MismatchError,
        "one value a ciphertext",
    ),
    ("a row of a symmetric matrix", lambda: SYMMETRIC[0], MismatchError, "one value a ciphertext"),
    (
        "a symmetric matrix in a product",
        lambda: plain([1, 2]) @ SYMMETRIC,
        MismatchError,
        "matrix by rows",
    ),
    (
        "a matrix that is not symmetric",
        lambda: encrypt(
            KEY, plain([[1, 2], [3, 4]]), entropy=SeededEntropy(1), slots=SLOTS, symmetric=True
        ),
        MismatchError,
        r"\(0, 1\) unlike \(1, 0\)",
    ),
    (
        "a symmetric vector",
        lambda: Layout((3,), SLOTS, symmetric=True),
        InputError,
        "packed square matrix",
    ),
    (
        "products of other lengths",
        lambda: plain([[1, 2]]) @ X,
        MismatchError,
        r"product: shapes differ, \(1, 2\) beside \(3,\)",
    ),
    ("products from the right", lambda: X @ plain([1, 2]), MismatchError, "product: shapes differ"),
    ("a product with a number", lambda: plain(3) @ X, MismatchError, "product: shapes differ"),
    (
        "outer products of matrices",
        lambda: outer(ROWS, plain([1])),
        MismatchError,
        "outer: expected vectors",
    ),
    ("an index outside", lambda: X[3], InputError, "index: .*out of bounds"),
    ("an axis that is not there", lambda: X.sum(axis=1), InputError, r"no axis 1 in shape \(3,\)"),
    (
        "a shape of another size",
        lambda: X.reshaped(2, 2),
        MismatchError,
        "fills 4 ciphertexts, found 3",
    ),
    (
        "rows of other layouts",
        lambda: stack([X, sealed([1, 2])]),
        MismatchError,
        "stack: shapes differ",
    ),
    ("a stack of matrices", lambda: stack([ROWS, ROWS]), MismatchError, "scalars or vectors"),
    (
        "an outer product under masks",
        lambda: outer(X.cover([1, 2, 3]), plain([1, 1], Scale(0, 1))),
        MisuseError,
        "outer: this tensor carries masks",
    ),
    ("a total of nothing", lambda: total([]), InputError, "at least one tensor"),
    (
        "joining unpacked rows",
        lambda: joined(sealed([[1], [2]]), SLOTS),
        MismatchError,
        "packed rows of one ciphertext",
    ),
    (
        "joining into other slots",
        lambda: joined(ROWS, Slots(32, 14)),
        MismatchError,
        "a multiple of 3 of them, found 14",
    ),
    (
        "packing a matrix for the key holder",
        lambda: sealed([[1], [2]]).packed_for_key_holder(
            SLOTS, plain([[1], [2]]), entropy=SeededEntropy(2)
        ),
        MismatchError,
        "pack: expected a vector",
    ),
    (
        "joining under masks for other ciphertexts",
        lambda: joined(ROWS, SLOTS, masks=()),
        MismatchError,
        "1 ciphertexts, 0 masks",
    ),
    ("masks for other ciphertexts", lambda: X.cover([1]), MismatchError, "3 ciphertexts, 1 masks"),
    ("uncovering what is bare", lambda: X.uncover(scale=X.scale), MisuseError, "carries no masks"),
    ("decrypting under masks", lambda: decrypt(KEY, COVERED), MisuseError, "carries masks"),
    ("a product under masks", lambda: plain([1, 2, 3]) @ COVERED, MisuseError, "carries masks"),
    (
        "words under masks",
        lambda: SparseRows.of_words([[0]], width=3, reach=1) @ COVERED,
        MisuseError,
        "carries masks",
    ),
    ("packing under masks", lambda: COVERED.packed(SLOTS), MisuseError, "carries masks"),
    ("a sum under masks", COVERED.sum, MisuseError, "carries masks"),
    (
        "a plaintext added under masks",
        lambda: COVERED + plain([1, 2, 3]),
        MisuseError,
        "carries masks",
    ),
    (
        "uncovering into too large a scale",
        lambda: COVERED.uncover([5, 6, 7], scale=Scale(0, LIMIT + 1)),
        BoundError,
        "uncover",
    ),
    (
        "words outside",
        lambda: SparseRows.of_words([[0, 3]], width=3, reach=2),
        InputError,
        r"row 0 names a column outside 0 … 2",
    ),
    (
        "words before the first",
        lambda: SparseRows.of_words([[-1]], width=3, reach=2),
        InputError,
        "row 0 names a column outside",
    ),
    (
        "more words than declared",
        lambda: SparseRows.of_words([[0], [1, 1]], width=3, reach=1),
        BoundError,
        "row 1 reaches further than 1",
    ),
    (
        "rows of fractions",
        lambda: SparseRows.of(csr_array(np.eye(2)), reach=1),
        InputError,
        "expected integers, found dtype float64",
    ),
    (
        "unequal rows",
        lambda: SparseRows([([0, 1], [1])], 3, 9),
        InputError,
        "unequal columns and factors",
    ),
    (
        "a cube",
        lambda: Plain(np.zeros((2, 2, 2), int), Scale(0, 1)),
        InputError,
        "at most a matrix",
    ),
    (
        "fractions as integers",
        lambda: Plain(np.array([0.5]), Scale(0, 1)),
        InputError,
        "integers, found dtype float64",
    ),
    (
        "plain vectors that do not meet",
        lambda: plain([1, 2]).dot(plain([1])),
        MismatchError,
        "shapes differ",
    ),
    (
        "a ciphertext by hand",
        lambda: Ciphertext(X.key, (X + X).residues, X.layout, X.scale),
        MisuseError,
        "made by encrypt, fresh or from_bytes alone",
    ),
    (
        "a ciphertext by replacement",
        lambda: dataclasses.replace(X, residues=(X + X).residues),
        MisuseError,
        "made by encrypt, fresh or from_bytes alone",
    ),
    (
        "a message of another scale",
        lambda: X.expected(X.layout, Scale(4, 999)),
        ViolationError,
        "expected scale .*999.*, found .*1000",
    ),
    (
        "a message of another layout",
        lambda: X.expected(Layout((4,)), X.scale),
        ViolationError,
        "expected layout 4, found 3",
    ),
]


@pytest.mark.parametrize(
    ("act", "error", "match"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_it_is_refused(act: Callable[[], object], error: type[SottovoceError], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        act()
    message = caught.value.message
    assert not message.endswith(".")
    assert str(KEY.p) not in message


def test_what_is_as_agreed_is_accepted() -> None:
    assert X.expected(Layout((3,)), Scale(4, 1000)) is X


@pytest.mark.parametrize("other", ["3", 2.5, None, [1, 2, 3], np.array([1, 2, 3])])
def test_other_operands_are_no_operands(other: object) -> None:
    for act in (
        lambda: X + other,
        lambda: X - other,
        lambda: X * other,
        lambda: other @ X,
        lambda: X @ other,
    ):  # type: ignore[operator]
        with pytest.raises(TypeError):
            act()


@pytest.mark.parametrize("bare", [np.array([1, 2, 3]), np.float64(1.5), 2.5, [1, 2, 3]])
def test_bare_numbers_are_refused_with_what_to_write(bare: object) -> None:
    for act in (
        lambda: X + bare,
        lambda: bare + X,
        lambda: X - bare,
        lambda: bare - X,
        lambda: X * bare,
        lambda: X @ bare,
    ):  # type: ignore[operator]
        with pytest.raises(TypeError, match=r"found a bare \w+: Plain.of\(values, scale\)"):
            act()


@pytest.mark.parametrize("slots", [None, SLOTS])
def test_a_number_over_its_bound_is_refused_without_being_shown(slots: Slots | None) -> None:
    whole = sealed([987], slots=slots)
    claimed = Unsent(whole.key, whole.residues, whole.layout, Scale(4, 10))
    with pytest.raises(
        BoundError, match="decrypt: a number is over its slot or over the bound"
    ) as e:
        decrypt(KEY, claimed)
    assert "987" not in str(e.value)
    assert e.value.__cause__ is None
    assert e.value.__suppress_context__


def test_a_slot_that_ran_over_is_refused_without_being_shown() -> None:
    whole = sealed([[987, 1]], slots=SLOTS)
    narrow = Unsent(whole.key, whole.residues, Layout((1, 2), Slots(8, 2)), Scale(4, 100))
    with pytest.raises(BoundError, match="decrypt: a number is over its slot"):
        decrypt(KEY, narrow)


def test_what_was_checked_cannot_be_changed_afterwards() -> None:
    values, row = np.array([1, 2]), ([0, 1], [1, 1])
    operand, words = Plain(values, Scale(0, 2)), SparseRows([row], 2, 2)
    values[0] = 99
    row[1].append(99)
    assert operand.integers.tolist() == [1, 2]
    assert words.rows == (((0, 1), (1, 1)),)
    with pytest.raises(ValueError, match="read-only"):
        operand.integers[0] = 99


def test_a_scalar_has_no_length() -> None:
    with pytest.raises(TypeError, match="no length"):
        len(sealed(1))


@pytest.mark.parametrize("numbers", [[1.0, 2.0], np.ones(2), 3], ids=["list", "array", "number"])
def test_bare_numbers_are_told_to_state_their_scale(numbers: Any) -> None:
    with pytest.raises(InputError, match="encrypt: expected a Plain, found a") as refused:
        encrypt(KEY.public, numbers, entropy=SeededEntropy())
    assert "Plain.of(numbers, Scale(" in refused.value.hints[0]
