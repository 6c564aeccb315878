"""The sealed solve in a quorum equals the plain one, and nobody sees anything."""

from collections.abc import Iterable

import msgspec
import numpy as np
import pytest

from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform
from harness.quorum_solves import Case, case
from harness.quorums import OPENER, joined
from sottovoce import wire
from sottovoce.errors import InputError, MismatchError, SottovoceError, ViolationError
from sottovoce.numbers import residues
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum import solve as quorum_solve
from sottovoce.protocols.quorum.comparison import MaskedScore
from sottovoce.protocols.quorum.opening import OpeningShare
from sottovoce.protocols.quorum.products import MaskedProduct
from sottovoce.protocols.quorum.solve import (
    QuorumPlanHash,
    SolvedBit,
    SystemPart,
    solve_openings,
)
from sottovoce.protocols.quorum.truncation import MaskedDividend
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet


@pytest.mark.parametrize(
    ("members", "threshold", "classes"),
    [
        (3, 1, 1),
        (3, 1, 3),
        (4, 1, 3),
        (5, 2, 1),
        pytest.param(9, 4, 3, marks=pytest.mark.soak),
    ],
)
def test_the_solution_is_that_of_a_trusted_friend(
    members: int, threshold: int, classes: int
) -> None:
    mine = case(members, threshold, classes=classes)
    theta = mine.theta(mine.run())
    assert np.abs(theta - mine.exact).max() < 2e-4 * np.abs(mine.exact).max()


def test_more_columns_than_one_exact_sum_takes_are_multiplied_in_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if sums of 10 products were exact, and not of 8,192."""
    mine = case(3, 1)
    expected = mine.theta(mine.run())
    for module in (residues, quorum_solve):
        monkeypatch.setattr(module, "DEPTH", 10)
    in_blocks = [part.multiplier(mine.plan) for part in mine.parts.values()]
    assert {type(multiplier) for multiplier in in_blocks} == {residues.Centred}
    assert (mine.theta(mine.run()) == expected).all()


def test_penalties_of_single_features() -> None:
    mine = case(3, 1)
    penalties = np.ones(len(mine.second))
    penalties[3:7] = 40.0
    other = Case(mine.quorum, mine.second, mine.products, 120, penalties)
    theta = other.theta(other.run())
    assert np.abs(theta - other.exact).max() < 2e-4 * np.abs(other.exact).max()


def test_a_tilt_and_a_border_are_part_of_the_matrix() -> None:
    mine = case(3, 1)
    features = len(mine.second)
    tilt = np.linspace(0.1, 0.5, features)
    border = np.arange(features)
    # What stands in the last column is less the border, which everybody adds to its share.
    bits = mine.plan.solve.matrix_bits
    moved = mine.second.copy()
    step = np.ldexp(border.astype(np.float64), -bits)
    moved[:, -1] -= step
    moved[-1, :] = moved[:, -1]
    other = Case(
        mine.quorum, moved, mine.products, 120, mine.penalties, mine.plan.solve.system.ceiling + 9
    )
    for name, part in other.parts.items():
        planes = Base().of(border)
        other.parts[name] = SystemPart(part.matrix, part.vectors, part.penalties, tilt, planes)
    theta = other.theta(other.run())
    exact = np.linalg.solve(
        mine.second + np.diag(mine.penalties) + np.outer(tilt, tilt), mine.products
    )
    assert np.abs(theta - exact).max() < 2e-4 * np.abs(exact).max()


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_the_opener_sees_noise(members: int, threshold: int) -> None:
    mine = case(members, threshold, classes=2)
    view = mine.run().views[OPENER]
    for kind in (MaskedDividend, MaskedScore, MaskedProduct):
        by_plane: dict[int, list[int]] = {}
        for message in view.of(kind):
            for plane, entries in enumerate(message.share.planes()):
                by_plane.setdefault(plane, []).extend(entries.reshape(-1).tolist())
        for plane, entries in by_plane.items():
            if len(entries) >= 64:
                assert_looks_uniform(entries, PRIMES[plane], what=kind.__name__)


def test_a_spectrum_that_is_too_low_stops_the_solve() -> None:
    mine = case(3, 1)
    low = Case(
        mine.quorum,
        mine.second,
        mine.products,
        120,
        mine.penalties,
        mine.plan.solve.system.ceiling / 2,
    )
    with pytest.raises(SottovoceError, match=r"above its tolerance|in the range of its mask"):
        low.run()


def one_more(kind: type[Message], sender: str, place: int, plane: int = 0) -> Meddler:
    """Adds 1 to one residue of the share in the `place`-th message of a kind from one sender."""
    count = {"seen": -1}

    def when(packet: Packet) -> bool:
        if packet.sender != sender or not is_kind(packet, kind):
            return False
        count["seen"] += 1
        return count["seen"] == place

    def edit(message: Message) -> Message:
        assert isinstance(message, OpeningShare)
        planes = message.share.planes().copy()
        flat = planes[plane].reshape(-1)
        flat[0] = (int(flat[0]) + 1) % PRIMES[plane]
        return msgspec.structs.replace(message, share=wire.Residues.of(planes))

    return rewriting(when, kind, edit)


KINDS: Iterable[tuple[type[Message], int]] = [
    (MaskedDividend, 0),
    (MaskedDividend, 5),
    (MaskedScore, 0),
    (MaskedProduct, 0),
    (MaskedProduct, -1),
    (SolvedBit, 0),
]


@pytest.mark.parametrize(("kind", "place"), KINDS)
@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2), (5, 1)])
def test_one_wrong_share_is_caught_and_named_where_n_allows(
    kind: type[Message], place: int, members: int, threshold: int
) -> None:
    mine = case(members, threshold)
    openings = [opening for opening in solve_openings(mine.plan) if opening.kind is kind]
    meddler = one_more(kind, "site2", place % len(openings))
    with pytest.raises(SottovoceError) as caught:
        mine.run(meddler)
    degree = threshold if kind is SolvedBit else 2 * threshold
    if (members - degree - 1) // 2:
        assert isinstance(caught.value, ViolationError)
        assert caught.value.party == "site2"


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_wrong_share_of_a_product_is_caught_or_without_effect(place: int) -> None:
    """Where n = 2t + 1, a product of the tree is not checked by itself: what it spoils is."""
    mine = case(3, 1)
    try:
        outcome = mine.run(one_more(MaskedProduct, "site2", place))
    except SottovoceError:
        return
    assert np.abs(mine.theta(outcome) - mine.exact).max() < 2e-4 * np.abs(mine.exact).max()


def test_another_plan_is_refused_by_name() -> None:
    mine = case(3, 1)

    def edit(message: Message) -> Message:
        return msgspec.structs.replace(message, digest=bytes(32))

    def when(packet: Packet) -> bool:
        return packet.sender == "site3" and is_kind(packet, QuorumPlanHash)

    with pytest.raises(ViolationError, match="the plan for the solve is not ours") as caught:
        mine.run(rewriting(when, QuorumPlanHash, edit))
    assert caught.value.party == "site3"


@pytest.mark.parametrize("members", [4, pytest.param(5, marks=pytest.mark.soak)])
def test_one_member_may_leave_in_any_step(members: int) -> None:
    """With more than 2t + 1 members the others finish, unless it still had masks to deal."""
    mine = case(members, 1)

    class Leaving(Meddler):
        def __init__(self, step: int) -> None:
            self.step = step

        def crashes(self, party: str, step: int) -> bool:
            return party == "site1" and step == self.step

    for step in (4, 9, 30):
        outcome = mine.run(Leaving(step))
        left = mine.quorum.among(set(mine.quorum.members) - {"site1"})
        value = Base().signed(joined(left, outcome))
        bits = mine.plan.solve.solution.fraction_bits
        result = np.ldexp(value.astype(np.float64), -bits)
        assert np.abs(result - mine.exact).max() < 2e-4 * np.abs(mine.exact).max()


def test_how_much_is_hidden_follows_from_how_much_is_opened() -> None:
    mine = case(3, 1)
    assert mine.plan.distance <= 2.0**-44
    assert mine.plan.truncation.limit < Base().modulus >> 20


@pytest.mark.parametrize("wrong", ["matrix", "vectors", "penalties", "too low"])
def test_parts_of_another_plan_are_refused(wrong: str) -> None:
    mine = case(3, 1)
    part = mine.parts["site1"]
    planes: Planes = part.matrix[:, :-1]
    bad = {
        "matrix": SystemPart(planes, part.vectors, part.penalties),
        "vectors": SystemPart(part.matrix, part.vectors[:, :-1], part.penalties),
        "penalties": SystemPart(part.matrix, part.vectors, part.penalties[:-1]),
        "too low": SystemPart(part.matrix, part.vectors, part.penalties / 2),
    }[wrong]
    with pytest.raises((MismatchError, InputError), match="solve: expected"):
        bad.check(mine.plan)
