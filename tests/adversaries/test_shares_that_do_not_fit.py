"""A peer of a quorum gives one member a share of its numbers that does not fit the others'.

Whoever then looks at the members' shares sees one that does not fit, which an honest member gave
as it got it. So the study stops, and nobody is said to have computed wrongly.
"""

from typing import Any

import msgspec
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import Change, is_kind, rewriting
from harness.studies import BINARY, notes
from sottovoce import wire
from sottovoce.course.training.memory import run_study
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import PRIMES
from sottovoce.protocols.quorum.sums import ContributionPlane
from sottovoce.protocols.seat import Packet
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster, member_of
from sottovoce.wire import Codec


def giving_another_share(peer: str, member: str, name: str, *, place: int) -> Change:
    """Adds 1 to one residue of the share that a peer gives a member in one sum."""

    def when(packet: Packet) -> bool:
        if (packet.sender, packet.recipient) != (peer, member):
            return False
        if not is_kind(packet, ContributionPlane):
            return False
        message = Codec().decode(packet.body, ContributionPlane)
        return name.encode() in message.context[:32] and message.plane == 0

    def edit(message: Any) -> Any:
        planes = message.share.planes().copy()
        planes[0, place] = (int(planes[0, place]) + 1) % PRIMES[0]
        return msgspec.structs.replace(message, share=wire.Residues.of(planes))

    return rewriting(when, ContributionPlane, edit)


def trained(sites: int, meddler: Change) -> None:
    documents = notes(40 * sites, sites=sites)
    roster, identities = draw_roster(
        tuple(documents), entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    plan = StudyPlan("fitting", BINARY, features=8, bucket_bits=11, engine=Engine.QUORUM)
    run_study(
        Study(plan, roster),
        documents,
        identities=identities,
        entropy=SeededEntropy(9),
        setting=Setting(meddler=meddler),
    )


# Of the totals, the moments (their trace, another entry, the claimed rows), the ends and the mean.
PLACES = [
    ("preparation", 0),
    ("moments", 0),
    ("moments", 1),
    ("moments", -1),
    ("ends", 0),
    ("mean", 0),
]


@pytest.mark.parametrize("sites", [3, 4, 5])
@pytest.mark.parametrize(("name", "place"), PLACES)
def test_it_stops_the_study_and_no_honest_member_is_said_to_be_wrong(
    sites: int, name: str, place: int
) -> None:
    names = tuple(notes(40 * sites, sites=sites))
    peer, member = names[0], member_of(names[-1])
    meddler = giving_another_share(peer, member, name, place=place)
    with pytest.raises(ViolationError) as caught:
        trained(sites, meddler)
    assert meddler.done == 1
    # Where four or five shares agree on one that does not fit, it is named: as one that may have
    # been given wrongly. Of three nobody can say which it is.
    if caught.value.party:
        assert sites > 3
        assert caught.value.party == member
        assert "or a peer or a member that deals gave a wrong one" in caught.value.message
