"""An opener that tells members other numbers than it opened: what it reads, unless they check."""

from collections.abc import Iterable
from dataclasses import replace
from math import prod

import msgspec
import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import is_kind
from harness.quorum_solves import Case, case
from harness.quorums import OPENER, here
from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base
from sottovoce.protocols.conversation import Party, gather
from sottovoce.protocols.quorum import plan as quorum_plan
from sottovoce.protocols.quorum import solve as quorum_solve
from sottovoce.protocols.quorum.dealing import QuorumPrograms, run
from sottovoce.protocols.quorum.opening import OpenedValues, Opener
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.solve import QuorumPlanHash, solve, solve_openings
from sottovoce.protocols.quorum.told_check import tell_who_is_there
from sottovoce.protocols.quorum.truncation import MaskedDividend
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec

COLUMN = 5


class Pushing(Meddler):
    """An opener that adds to one place of what it tells, and looks at the next masked numbers.

    At the end it says that all is well.
    """

    def __init__(self, mine: Case, added: int, *, at: int = 3) -> None:
        self.mine, self.added, self.at = mine, added, at
        self.openings = len(list(solve_openings(mine.plan)))
        self.sent = 0
        self.shares: dict[str, np.ndarray] = {}

    def carry(self, packet: Packet) -> Iterable[Packet]:
        members = len(self.mine.quorum.members)
        if is_kind(packet, OpenedValues):
            place = self.sent // members
            self.sent += 1
            if place in (self.at, self.openings - 1):
                return (self.changed(packet, last=place != self.at),)
        if is_kind(packet, MaskedDividend) and self.sent == (self.at + 1) * members:
            message = Codec().decode(packet.body, MaskedDividend)
            self.shares.setdefault(packet.sender, message.share.planes())
        return (packet,)

    def changed(self, packet: Packet, *, last: bool) -> Packet:
        planes = Codec().decode(packet.body, OpenedValues).values.planes()
        if last:
            planes = np.ones_like(planes)
        else:
            more = np.zeros(planes.shape[1:], object)
            more[COLUMN] = self.added
            planes = Base().add(planes, Base().of(more))
        return telling(packet, planes)

    def seen(self) -> np.ndarray:
        """What is opened next, as signed integers."""
        quorum = self.mine.quorum
        value = put_together(self.shares, degree=2 * quorum.threshold, quorum=quorum, what="next")
        return Base().signed(value)[:, 0].astype(float)


def open_without_looking(opener: Opener, mine: Case) -> Party[None]:
    """The opener's part, whatever it opens."""
    yield from gather(QuorumPlanHash, opener.present)
    for place, opening in enumerate(solve_openings(mine.plan)):
        if place in mine.plan.checked_after:
            yield from tell_who_is_there(opener.quorum, opener.present)
        yield from opener.open(replace(opening, limit=None))
    yield from tell_who_is_there(opener.quorum, opener.present)


def pushed(mine: Case) -> Pushing:
    """A whole solve with this opener."""
    column = mine.second[:, COLUMN]
    size = np.abs(column).max() * 2.0**mine.plan.solve.matrix_bits * mine.plan.solve.steps[4].gain
    # As large as the fields let it be.
    opener = Pushing(mine, 1 << int(np.log2(Base().modulus / size)) - 2)
    programs = QuorumPrograms(
        lambda member: solve(member, mine.plan, mine.parts[member.name]),
        lambda party: open_without_looking(party, mine),
    )
    run(programs, mine.quorum, here(mine.quorum), entropy=SeededEntropy(3), meddler=opener)
    return opener


def no_check(*_: object, **__: object) -> Party[None]:
    """Members that believe what they are told."""
    yield from ()


def test_an_opener_that_is_believed_reads_a_column_of_the_joint_moments_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quorum_solve, "check_told", no_check)
    monkeypatch.setitem(globals(), "tell_who_is_there", no_check)
    mine = case(3, 1)
    seen = -np.delete(pushed(mine).seen(), COLUMN)
    column = np.delete(mine.second[:, COLUMN], COLUMN)
    assert np.corrcoef(seen, column)[0, 1] > 0.9999


def test_large_solves_are_checked_as_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = case(3, 1)
    steps = len(mine.plan.solve.steps)
    assert mine.plan.checked_after == ()
    monkeypatch.setattr(quorum_plan, "CHECKED_VALUES", 10 * prod(mine.plan.solve.shape))
    often = case(3, 1)
    assert often.plan.checked_after == tuple(range(10, steps, 10))
    with pytest.raises(ViolationError, match="we were told something else"):
        pushed(often)


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (4, 1), (5, 2)])
def test_an_opener_that_tells_something_else_is_named(members: int, threshold: int) -> None:
    with pytest.raises(ViolationError, match="we were told something else") as failure:
        pushed(case(members, threshold))
    assert failure.value.party == OPENER


class Growing(Meddler):
    """An opener with a spectrum that ends too low: it opens numbers that outgrow their masks.

    At the end it says that all is well.
    """

    def __init__(self, mine: Case) -> None:
        self.mine, self.sent = mine, 0
        self.openings = len(list(solve_openings(mine.plan)))
        self.shares: list[dict[str, np.ndarray]] = [{} for _ in mine.plan.solve.steps]

    def carry(self, packet: Packet) -> Iterable[Packet]:
        place = self.sent // len(self.mine.quorum.members)
        if is_kind(packet, MaskedDividend) and place < len(self.shares):
            message = Codec().decode(packet.body, MaskedDividend)
            self.shares[place][packet.sender] = message.share.planes()
        if is_kind(packet, OpenedValues):
            self.sent += 1
            if place < len(self.shares):
                # What is told is of the right sign, so that numbers grow on.
                quotients = self.opened(place) >> self.mine.plan.truncation.shift
                return (telling(packet, Base().of(quotients)),)
            if place == self.openings - 1:
                planes = Codec().decode(packet.body, OpenedValues).values.planes()
                return (telling(packet, np.ones_like(planes)),)
        return (packet,)

    def opened(self, place: int) -> np.ndarray:
        """What was opened in a step, as signed integers."""
        quorum = self.mine.quorum
        shares = self.shares[place]
        return Base().signed(
            put_together(shares, degree=2 * quorum.threshold, quorum=quorum, what="step")
        )

    def read(self) -> np.ndarray:
        """The first opened numbers that are far larger than any mask."""
        for place in range(len(self.shares)):
            numbers = self.opened(place)[:, 0]
            if max(abs(int(number)) for number in numbers) > self.mine.plan.truncation.limit << 10:
                return numbers.astype(float)
        raise AssertionError("no number is larger than its mask")


def telling(packet: Packet, planes: np.ndarray) -> Packet:
    """The same packet with other values."""
    body = Codec().encode(OpenedValues(wire.Residues.of(planes)))
    return msgspec.structs.replace(packet, body=body)


def grown(mine: Case) -> Growing:
    """A whole solve with this opener."""
    opener = Growing(mine)
    programs = QuorumPrograms(
        lambda member: solve(member, mine.plan, mine.parts[member.name]),
        lambda party: open_without_looking(party, mine),
    )
    run(programs, mine.quorum, here(mine.quorum), entropy=SeededEntropy(3), meddler=opener)
    return opener


def too_low() -> Case:
    """A solve with a part of the joint spectrum."""
    mine = case(3, 1)
    return case(3, 1, ceiling=float(np.linalg.eigvalsh(mine.second)[-1]) / 6)


def test_with_an_end_that_is_too_low_an_opener_reads_an_eigenvector_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quorum_solve, "check_told", no_check)
    monkeypatch.setitem(globals(), "tell_who_is_there", no_check)
    mine = too_low()
    seen = grown(mine).read()
    largest = np.linalg.eigh(mine.second)[1][:, -1]
    assert abs(seen @ largest) > 0.999 * np.linalg.norm(seen)
    assert abs(np.corrcoef(seen, largest)[0, 1]) > 0.99


def test_the_bit_that_says_all_is_well_is_checked_too() -> None:
    with pytest.raises(ViolationError, match="we were told something else") as failure:
        grown(too_low())
    assert failure.value.party == OPENER
