"""The final set of peers in a sum: signed by coordinator and evaluator, checked by everybody."""

from collections.abc import Sequence

from sottovoce.errors import ViolationError
from sottovoce.protocols.blind_sum.dealing import Dealing
from sottovoce.protocols.blind_sum.messages import ProposedSet, UnmaskRequest
from sottovoce.protocols.identities import Identity, Pins, shown_by

_SIGNED_SET = "blind-sum/set/v1"


def sign_set(dealing: Dealing, peers: Sequence[str], identity: Identity) -> bytes:
    """A signature under the final set of this round, attempt and agreement."""
    return identity.sign(_SIGNED_SET, dealing.hash, *(name.encode() for name in peers))


def check_agreed(dealing: Dealing, agreed: UnmaskRequest, pins: Pins) -> None:
    """Refuse a final set that coordinator and evaluator did not both sign, or that is too small."""
    this = dealing.keyring.this
    said = (dealing.hash, *(name.encode() for name in agreed.peers))
    with shown_by(this.coordinator):
        pins.check(this.coordinator, agreed.coordinator_signature, _SIGNED_SET, *said)
        pins.check(this.evaluator, agreed.evaluator_signature, _SIGNED_SET, *said)
    if agreed.peers != tuple(name for name in dealing.peers if name in agreed.peers):
        raise ViolationError(
            "the set is not of peers that dealt shares, in order",
            party=this.coordinator,
        )
    dealing.check_set(agreed.peers, "final set")


def check_proposed(
    dealing: Dealing, proposed: ProposedSet, arrived: Sequence[str], pins: Pins
) -> None:
    """At the evaluator: refuse a set with anybody whose contribution did not arrive."""
    this = dealing.keyring.this
    names = [name.encode() for name in proposed.peers]
    pins.check(this.coordinator, proposed.signature, _SIGNED_SET, dealing.hash, *names)
    if proposed.peers != tuple(name for name in arrived if name in proposed.peers):
        raise ViolationError(
            "the set is not of peers whose parts arrived, in order",
            party=this.coordinator,
        )
    dealing.check_set(proposed.peers, "final set")
