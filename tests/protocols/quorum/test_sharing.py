"""Members, shares and what becomes of wrong ones."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.quorums import OPENER, SIZES, quorum_of, shared
from sottovoce.errors import AbsenceError, InputError, ViolationError
from sottovoce.numbers.residues import PRIMES, Base
from sottovoce.protocols.quorum.members import Quorum, largest_minority, weights
from sottovoce.protocols.quorum.sharing import put_together


@pytest.mark.parametrize(("members", "threshold"), SIZES)
@given(values=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5))
def test_any_quorum_of_shares_gives_the_value_back(
    members: int, threshold: int, values: list[int]
) -> None:
    quorum, base = quorum_of(members, threshold), Base()
    for degree in (threshold, 2 * threshold):
        shares = shared(quorum, np.array(values), degree=degree)
        for names in list(combinations(quorum.members, degree + 1))[:20]:
            part = {name: shares[name] for name in names}
            value = put_together(part, degree=degree, quorum=quorum, what="value")
            assert base.signed(value).tolist() == values


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_a_minority_sees_noise_and_one_more_sees_everything(members: int, threshold: int) -> None:
    quorum = quorum_of(members, threshold)
    shares = shared(quorum, np.full(600, 7))
    for names in combinations(quorum.members, threshold):
        for name in names:
            for plane, prime in enumerate(PRIMES):
                assert_looks_uniform(shares[name][plane].tolist(), prime)
    points = quorum.points[: threshold + 1]
    factors = weights(points, 0, PRIMES[0])
    together = sum(
        factor * shares[name][0].astype(np.int64)
        for factor, name in zip(factors, quorum.members, strict=False)
    )
    assert_shows_structure((together % PRIMES[0]).tolist(), PRIMES[0])


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (4, 1), (5, 1), (5, 2), (7, 2), (9, 4)])
@pytest.mark.parametrize("double", [False, True])
def test_wrong_shares_are_seen_and_named_where_enough_agree(
    members: int, threshold: int, *, double: bool
) -> None:
    quorum = quorum_of(members, threshold)
    degree = threshold * (1 + double)
    spare = members - degree - 1
    for wrong in (1, 2):
        shares = shared(quorum, np.arange(5), degree=degree)
        culprits = quorum.members[1 : 1 + wrong]
        for place, name in enumerate(culprits):
            shares[name][3, 2] = (shares[name][3, 2] + 17 + 5 * place) % PRIMES[3]
        if spare < wrong:
            continue
        with pytest.raises(ViolationError) as caught:
            put_together(shares, degree=degree, quorum=quorum, what="value")
        if wrong <= spare // 2:
            assert caught.value.party == culprits[0]
            assert all(name in str(caught.value) for name in culprits[1:])
        else:
            assert caught.value.party == ""


def test_too_few_shares_are_refused_by_name() -> None:
    quorum = quorum_of(3, 1)
    shares = shared(quorum, np.arange(2))
    with pytest.raises(AbsenceError, match="expected shares of at least 2 members, found 1"):
        put_together({"site1": shares["site1"]}, degree=1, quorum=quorum, what="value")


@pytest.mark.parametrize(
    ("members", "threshold", "message"),
    [
        (3, 0, "expected a threshold of at least 1, found 0"),
        (3, -1, "expected a threshold of at least 1, found -1"),
        (2, 1, "expected at least 3 members for a threshold of 1, found 2"),
        (4, 2, "expected at least 5 members for a threshold of 2, found 4"),
        (10, 1, "expected at most 9 members, found 10"),
    ],
)
def test_quorums_that_cannot_be_are_refused(members: int, threshold: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quorum_of(members, threshold)


def test_two_members_are_sent_to_another_engine() -> None:
    with pytest.raises(InputError) as caught:
        quorum_of(2, 1)
    assert 'engine = "shares"' in caught.value.hints[0]


def test_the_opener_holds_no_share_and_members_are_different() -> None:
    with pytest.raises(InputError, match="an opener that holds no share"):
        Quorum.of([OPENER, "a", "b"], threshold=1, opener=OPENER)
    with pytest.raises(InputError, match="expected different members"):
        Quorum.of(["a", "a", "b"], threshold=1, opener=OPENER)
    with pytest.raises(InputError, match="expected points from 1 to 9"):
        Quorum(("a", "b", "c"), (0, 1, 2), 1, OPENER)
    with pytest.raises(InputError, match="expected one of the members site1, site2, site3"):
        quorum_of(3, 1).point("site9")


def test_shares_keep_their_points_when_somebody_is_away() -> None:
    quorum = quorum_of(5, 1)
    left = quorum.among({"site2", "site4", "site5"})
    assert left.points == (2, 4, 5)
    shares = shared(quorum, np.arange(3), degree=2)
    part = {name: shares[name] for name in left.members}
    value = put_together(part, degree=2, quorum=left, what="value")
    assert Base().signed(value).tolist() == [0, 1, 2]
    with pytest.raises(AbsenceError, match="expected 3 of site1") as caught:
        quorum.among({"site2", "site4"})
    assert caught.value.party == "site1"


def test_the_largest_minority() -> None:
    assert [largest_minority(members) for members in (2, 3, 4, 5, 9)] == [0, 1, 1, 2, 4]


def test_a_minoritys_shares_fit_every_secret_equally_often() -> None:
    """Exhaustive in a field of 7: every single share of degree 1 is as likely for any secret."""
    prime = 7
    seen = {
        secret: sorted((secret + slope * 2) % prime for slope in range(prime))
        for secret in range(prime)
    }
    assert all(values == list(range(prime)) for values in seen.values())
    pairs = {
        (secret, (secret + a + b) % prime, (secret + 2 * a + 4 * b) % prime)
        for secret, a, b in product(range(prime), repeat=3)
    }
    assert len(pairs) == prime**3
