"""A coordinator opens a sum over all peers with some members, and without one peer with the others.

Any t + 1 members open a sum. Where there are more members than 2t + 1, or one of them sides with
the coordinator, two groups of t + 1 need have no honest member in common: each would give its
shares of another sum, and the difference is what one peer put in.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY
from sottovoce.errors import AbsenceError, MisuseError
from sottovoce.protocols.conversation import Party, Receive, Send, receive
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.sums import COUNT_BASE, SumShare
from sottovoce.protocols.runner import converse
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.party_context import PartyContext
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages import quorum_sums
from sottovoce.study.stages.quorum_sums import (
    AddUp,
    SharesHeld,
    SumNoted,
    add_to_sum,
    help_sum,
    summand,
)

PEERS = ("north", "harbour", "valley", "hill")
LEFT = "hill"
OTHERS = PEERS[:3]
COUNTS = {peer: np.array([27, 3 * place, 0, 9 + place, 81]) for place, peer in enumerate(PEERS)}
NAME = "preparation"


class Clinics:
    """Four organisations that add up counts, with records that outlive an attempt."""

    def __init__(self) -> None:
        entropy = SeededEntropy(3)
        roster, identities = draw_roster(
            PEERS, entropy=entropy, with_dealer=False, with_evaluator=False
        )
        self.study = Study(InsecureToyPlan("sums", BINARY, features=8, key_bits=768), roster)
        self.parties = {
            name: PartyContext.open(self.study, identity, entropy=entropy)
            for name, identity in identities.items()
        }

    def attempt(
        self, number: int, peers: tuple[str, ...], members: tuple[str, ...]
    ) -> dict[str, np.ndarray]:
        """The shares that the coordinator gets in one attempt from the members that it tells."""
        attempt = Attempt(Stage.DICTIONARY, number, peers)
        here = {
            name: party.at(attempt, entropy=SeededEntropy(17 * number + place))
            for place, (name, party) in enumerate(self.parties.items())
            if name in attempt.parties(self.study)
        }
        shares: dict[str, np.ndarray] = {}
        programs: dict[str, Party[None]] = {}
        for name, party in here.items():
            if name in peers:
                programs[name] = add_to_sum(party, NAME, COUNTS[name], peers)
            elif name != "coordinator":
                programs[name] = help_sum(party, NAME, len(COUNTS[LEFT]), peers)
        programs["coordinator"] = self.equivocating(here["coordinator"], peers, members, shares)
        # The others wait for a word of the coordinator until their time is up, or refuse.
        with pytest.raises((AbsenceError, MisuseError)):
            converse(programs, session=attempt.session(self.study))
        return shares

    def sum_of(self, shares: dict[str, np.ndarray], peers: tuple[str, ...]) -> np.ndarray:
        """The sum that these shares are of."""
        quorum = self.study.quorum_of(peers)
        opened = put_together(shares, degree=quorum.threshold, quorum=quorum, what="sum")
        return COUNT_BASE.signed(opened).astype(np.int64)

    def equivocating(
        self,
        party: PartyContext,
        peers: tuple[str, ...],
        members: tuple[str, ...],
        shares: dict[str, np.ndarray],
    ) -> Iterator[object]:
        """Hear that everybody has everything, and tell a few alone to add up."""
        what = summand(party, NAME, peers, len(COUNTS[LEFT]))
        for member in party.study.quorum_of(peers).members:
            yield from receive(member, SharesHeld)
        for member in members:
            yield Send(member, AddUp(what.bound(), peers))
        for member in members:
            message = yield Receive(member, (SumNoted, SumShare))
            if isinstance(message, SumNoted):
                message = yield Receive(member, (SumShare,))
            shares[member] = message.share.planes()


def without_each_others_word(party: PartyContext, *_: object) -> Party[None]:
    """Members that give their share as soon as the coordinator asks for it."""
    del party
    yield from ()


def members_of(clinics: Clinics, *peers: str) -> tuple[str, ...]:
    """The seats with which these peers compute."""
    return tuple(str(clinics.study.roster.member(peer)) for peer in peers)


def test_members_that_hear_the_coordinator_alone_give_one_peers_counts_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quorum_sums, "hear_of_all", without_each_others_word)
    clinics = Clinics()
    whole = clinics.attempt(1, PEERS, members_of(clinics, "north", LEFT))
    rest = clinics.attempt(2, OTHERS, members_of(clinics, "harbour", "valley"))
    difference = clinics.sum_of(whole, PEERS) - clinics.sum_of(rest, OTHERS)
    assert difference.tolist() == COUNTS[LEFT].tolist()


def test_no_member_gives_its_share_before_all_have_noted_the_same_sum() -> None:
    clinics = Clinics()
    assert clinics.attempt(1, PEERS, members_of(clinics, "north", LEFT)) == {}
    assert clinics.attempt(2, OTHERS, members_of(clinics, "harbour", "valley")) == {}


def test_what_all_have_noted_is_opened_over_no_other_set() -> None:
    clinics = Clinics()
    whole = clinics.attempt(1, PEERS, members_of(clinics, *PEERS))
    assert clinics.sum_of(whole, PEERS).tolist() == sum(COUNTS.values()).tolist()
    assert clinics.attempt(2, OTHERS, members_of(clinics, *OTHERS)) == {}
