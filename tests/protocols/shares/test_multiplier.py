"""One opened matrix, many products: right in every ring, and nothing but noise in every view."""

from collections import Counter
from itertools import product as every

import numpy as np

from harness.entropy import SeededEntropy
from sottovoce.numbers.ring import Words, matmul
from sottovoce.protocols.shares.multiplier import Multiplier
from sottovoce.protocols.shares.rings import RING64, Ring
from sottovoce.protocols.shares.triangle import Triangle


def word(*values: int) -> Words:
    return np.array(values, np.uint64)


def test_exhaustively_in_a_small_ring_both_steps_are_right_and_what_is_opened_is_uniform() -> None:
    """One feature, two steps with the same U: every A, d₁, d₂ and every mask there is."""
    ring = Ring(3)
    u, v, w, a = (axis.astype(np.uint64) for axis in np.ogrid[0:8, 0:8, 0:8, 0:8])
    for d1, d2 in every(range(8), range(8)):
        delta, e1, e2 = (ring.reduce(x) for x in (a - u, d1 - v, d2 - w))
        # Secrets at the first holder, masks at the second, as in the protocol's two formulas.
        for d, e, mask in ((d1, e1, v), (d2, e2, w)):
            first = delta * e
            second = delta * mask + u * e + u * mask
            assert (ring.reduce(first + second - a * np.uint64(d)) == 0).all()
        shape = (8, 8, 8, 8)
        code = sum(
            np.broadcast_to(part, shape).astype(np.int64) * 8**place
            for place, part in enumerate((delta, e1, e2))
        )
        for index in range(8):
            seen = np.bincount(code[..., index].ravel(), minlength=512)
            assert (seen == 1).all()


def test_exhaustively_through_the_code_in_a_ring_of_eight() -> None:
    ring = Ring(3)
    for a, d in every(range(8), (3, 7)):
        seen: Counter[tuple[int, int]] = Counter()
        for u_first, u_second, v_first, v_second in every(
            range(0, 8, 3), range(8), (0, 5), range(8)
        ):
            first = Multiplier(word(u_first), word(v_first)[:, None, None], first=True, ring=ring)
            second = Multiplier(
                word(u_second), word(v_second)[:, None, None], first=False, ring=ring
            )
            delta = ring.reduce(first.masked_matrix(word(a)) + second.masked_matrix(word(0)))
            for side in (first, second):
                side.prepare(delta)
            direction = word(d)[:, None]
            e = ring.reduce(
                first.masked_direction(direction, 0)
                + second.masked_direction(np.zeros_like(direction), 0)
            )
            dealt = word((u_first + u_second) * (v_first + v_second))
            total = first.product(e, 0) + second.product(e, 0) + dealt[:, None]
            assert ring.reduce(total)[0, 0] == a * d % 8
            seen[int(delta[0]), int(e[0, 0])] += 1
        assert len(seen) == 64
        assert len(set(seen.values())) == 1


def test_many_steps_of_many_columns_over_2_to_the_64() -> None:
    entropy = SeededEntropy(5)
    side, steps, columns = 17, 4, 3
    triangle = Triangle(side)
    masks = [entropy.words(triangle.size) for _ in range(2)]
    directions = [entropy.words(side, steps, columns) for _ in range(2)]
    matrix = triangle.unpack(entropy.words(triangle.size))
    sides = [
        Multiplier(mask.copy(), direction, first=first, ring=RING64)
        for mask, direction, first in zip(masks, directions, (True, False), strict=True)
    ]
    share = entropy.words(triangle.size)
    delta = sides[0].masked_matrix(triangle.pack(matrix) - share) + sides[1].masked_matrix(share)
    for half in sides:
        half.prepare(delta)
    products = matmul(
        triangle.unpack(masks[0] + masks[1]), directions[0][:, 2] + directions[1][:, 2]
    )
    secret, other = entropy.words(side, columns), entropy.words(side, columns)
    e = sides[0].masked_direction(secret - other, 2) + sides[1].masked_direction(other, 2)
    total = sides[0].product(e, 2) + sides[1].product(e, 2) + products
    assert (total == matmul(matrix, secret)).all()


def test_no_secret_in_a_repr() -> None:
    half = Multiplier(word(123456789), word(987654321)[:, None, None], first=True)
    assert "123456789" not in repr(half)
    assert "987654321" not in repr(half)
