"""A member's folder is copied in the middle of a solve, and the copy is told another value.

Numbers for several steps are dealt together, so the copy has those that hide its next share. With
the same ones its second share would differ from the first by its share of a column of the joint
moments; from as many more shares as the threshold, the column follows.
"""

from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.quorum_solves import Case, case
from harness.quorums import here, quorum_of
from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Gather, Party, Receive, Send
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum.covers import Covers, groups_dealt
from sottovoce.protocols.quorum.dealing import seated
from sottovoce.protocols.quorum.opening import OpenedValues, Opener
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.solve import open_solve, solve
from sottovoce.protocols.quorum.truncation import MaskedDividend
from sottovoce.protocols.runner import converse
from sottovoce.protocols.shares.material import Ledger
from sottovoce.protocols.shares.triangle import Triangle

COLUMN, STEP = 5, 3
BASE = Base()
# It deals nothing, so that all of its masks are dealt by others.
VICTIM = "site1"


def member(mine: Case, name: str) -> Party[Planes]:
    """A member's part of the solve."""
    place = mine.quorum.members.index(name)
    seat = yield from seated(
        mine.quorum, name, here(mine.quorum), entropy=SeededEntropy(place), ledger=Ledger()
    )
    return (yield from solve(seat, mine.plan, mine.parts[name]))


class Solved:
    """A solve that is over, and what the victim was sent in it."""

    def __init__(self, mine: Case) -> None:
        self.mine = mine
        programs = {name: member(mine, name) for name in mine.quorum.members}
        programs[mine.quorum.opener] = open_solve(Opener(mine.quorum), mine.plan)
        view = converse(programs, session=here(mine.quorum).encode()).views[VICTIM]
        self.letters = [(item.sender, item.message) for item in view.received]

    def given(self, change: Callable[[int, Message], Message]) -> list[Planes]:
        """The masked dividends that the victim gives for these letters, some of them changed."""
        boxes: dict[str, deque[Message]] = {}
        for sender, message in self.letters:
            box = boxes.setdefault(sender, deque())
            box.append(change(sum(type(each) is type(message) for each in box), message))
        program, came, shares = member(self.mine, VICTIM), None, list[Planes]()
        try:
            while True:
                match program.send(came):
                    case Send(_, message):
                        came = None
                        if isinstance(message, MaskedDividend):
                            shares.append(message.share.planes())
                    case Receive(sender, _):
                        came = boxes[sender].popleft()
                    case Gather(_, senders):
                        came = {name: boxes[name].popleft() for name in senders}
        except (StopIteration, ViolationError):
            return shares

    def read(self) -> Planes:
        """The difference of the two shares after a quotient that was told with 1 more."""
        before, after = self.given(lambda _, same: same), self.given(with_one_more)
        assert all(map(np.array_equal, before[: STEP + 1], after))
        return BASE.subtract(before[STEP + 1], after[STEP + 1])[:, :, 0]

    def column(self) -> Planes:
        """The victim's share of the column, as far as the coordinator may not know it."""
        steps, part = self.mine.plan.solve.steps, self.mine.parts[VICTIM]
        triangle = Triangle(len(self.mine.second))
        whole = np.stack([triangle.unpack(plane.astype(np.uint64)) for plane in part.matrix])
        factor = steps[STEP + 1].gain << steps[STEP].doublings
        return BASE.scale(whole[:, :, COLUMN].astype(np.uint32), factor)


def with_one_more(number: int, message: Message) -> Message:
    """What is told of one step, with 1 more in one place."""
    if not isinstance(message, OpenedValues) or number != STEP:
        return message
    planes = message.values.planes().copy()
    planes[:, COLUMN] += 1
    return OpenedValues(wire.Residues.of(planes))


def places_read(solved: Solved) -> int:
    """How many entries of its share of the column the victim gave away."""
    same = (solved.read() == solved.column()).all(axis=0)
    return int(np.delete(same, COLUMN).sum())


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_a_copy_that_is_told_another_value_covers_its_shares_anew(
    members: int, threshold: int
) -> None:
    assert places_read(Solved(case(members, threshold))) == 0


def test_without_covers_it_would_give_its_share_of_a_column_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Covers, "covered", lambda _, share, bound_to: share)
    mine = case(3, 1)
    assert places_read(Solved(mine)) == len(mine.second) - 1


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (4, 1), (5, 2), (9, 4)])
def test_covers_open_zero_and_any_pooling_members_lack_one(members: int, threshold: int) -> None:
    quorum = quorum_of(members, threshold)
    seeds = {
        group: bytes([dealer.encode()[-1], place]) * 16
        for dealer in quorum.dealers
        for place, group in enumerate(groups_dealt(quorum, dealer))
    }
    covers = {
        name: Covers(quorum, quorum.point(name), {g: s for g, s in seeds.items() if name in g})
        for name in quorum.members
    }
    nothing = np.zeros((BASE.count, 4), np.uint32)
    shares = {name: cover.covered(nothing, b"here") for name, cover in covers.items()}
    value = put_together(shares, degree=2 * threshold, quorum=quorum, what="zero")
    assert not value.any()
    assert all(share.any() for share in shares.values())
    victim = quorum.members[0]
    pooling = quorum.members[1 : threshold + 1]
    known = {group for name in pooling for group in covers[name].seeds}
    assert set(covers[victim].seeds) - known
