"""The sum of all peers' ciphertexts at the evaluator, by masks or rings (SM.Add)."""

from collections.abc import Sequence

from sottovoce.paillier import Ciphertext
from sottovoce.protocols.blind_sum import pairwise, ring
from sottovoce.protocols.blind_sum.plan import Plan, Summed
from sottovoce.protocols.conversation import Party
from sottovoce.study.choices import Addition
from sottovoce.study.party_context import PartyContext

# Values are split over two rings, so that two neighbours of a peer do not learn its part.
RINGS = 2


def _around_rings(party: PartyContext) -> bool:
    return party.study.plan.addition is Addition.RING


def add_ciphertexts(
    party: PartyContext, plan: Plan, values: Sequence[Ciphertext]
) -> Party[Summed | None]:
    """At a peer: add its ciphertexts to the sum; None if it came too late."""
    who, book, entropy = party.member, party.book, party.entropy
    if _around_rings(party):
        rings = ring.Rings(plan, RINGS)
        return (yield from ring.peer(rings, values, who=who, book=book, entropy=entropy))
    return (yield from pairwise.peer(plan, values, who=who, book=book, entropy=entropy))


def carry_sum(party: PartyContext, plan: Plan) -> Party[Summed]:
    """At the coordinator: carry keys and sets; it receives no part of the sum."""
    if _around_rings(party):
        rings = ring.Rings(plan, RINGS)
        return (yield from ring.coordinator(rings, who=party.member, book=party.book))
    return (yield from pairwise.coordinator(plan, who=party.member, book=party.book))


def take_sum(party: PartyContext, plan: Plan) -> Party[Summed]:
    """At the evaluator: return the sum, which it cannot decrypt."""
    who, book, entropy = party.member, party.book, party.entropy
    if _around_rings(party):
        rings = ring.Rings(plan, RINGS)
        return (yield from ring.evaluator(rings, who=who, book=book, entropy=entropy))
    return (yield from pairwise.evaluator(plan, who=who, book=book, entropy=entropy))
