"""Masked contributions at their receiver: the latest are kept one by one, the others as a sum.

The set of a sum is agreed when all contributions have come. A peer whose contribution reached only
one of the two receivers is left out of both sums. So the latest contributions are kept one by one.
Older ones are in a running sum, from which no peer can be removed: if one must be, the attempt ends
and names that peer, and the next attempt runs without it.
"""

from collections.abc import Container, Sequence

from sottovoce.errors import AbsenceError, MalformedError, MismatchError, ViolationError
from sottovoce.protocols.blind_sum.dealing import Dealing
from sottovoce.protocols.blind_sum.masks import SummedVector
from sottovoce.protocols.blind_sum.messages import MaskedParts
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.blind_sum.spaces import Form, WordSpace
from sottovoce.protocols.conversation import Party, gather
from sottovoce.wire import Words

HELD = 32
"""The number of contributions that are held one by one; up to this number of peers, all."""


class RunningSums:
    """The contributions to one receiver; where they are words, a sum and the latest of them."""

    def __init__(self, dealing: Dealing, parts: Sequence[SummedVector]) -> None:
        self._dealing = dealing
        self._parts = tuple(parts)
        self._held: dict[str, tuple[Form, ...]] = {}
        self._added: dict[str, None] = {}
        self._sums = [part.space.mask() for part in parts if isinstance(part.space, WordSpace)]
        self.peers: Container[str] = dealing.peers
        """The peers whose contributions came in time; all peers, if this party adds nothing up."""

    def take(self, peer: str, message: MaskedParts) -> MaskedParts:
        """Check a contribution, keep or add its parts, and return what the inbox should store."""
        self._check(peer, message)
        self._held[peer] = message.parts
        if len(self._sums) == len(self._parts) and len(self._held) > HELD:
            oldest = next(iter(self._held))
            for sums, form in zip(self._sums, self._held.pop(oldest), strict=True):
                assert isinstance(form, Words)
                sums.words += form.array()
            self._added[oldest] = None
        return MaskedParts(message.agreed, ())

    def check_left_out(self, among: Container[str]) -> None:
        """Stop, before anything is signed, if the sum has a peer that must not be in it."""
        for peer in self._added:
            if peer not in among:
                raise AbsenceError(
                    "its contribution came to one receiver and not to the other; "
                    "nothing was revealed",
                    party=peer,
                )

    def forms(self, index: int, final: Sequence[str]) -> list[Form]:
        """Return one part of these peers' contributions, the running sum as one form."""
        forms = [self._held[peer][index] for peer in final if peer in self._held]
        if self._added:
            forms.append(Words.of(self._sums[index].words))
        return forms

    def _check(self, peer: str, message: MaskedParts) -> None:
        if message.agreed != self._dealing.hash:
            raise ViolationError("masked for another agreed set than ours", party=peer)
        if len(message.parts) != len(self._parts):
            raise ViolationError(
                f"expected {len(self._parts)} parts, found {len(message.parts)}", party=peer
            )
        for part, form in zip(self._parts, message.parts, strict=True):
            try:
                part.space.check(form)
            except (MismatchError, MalformedError) as error:
                raise ViolationError(f"{part.purpose}: {error}", party=peer) from error


def gather_masked(plan: Plan, dealing: Dealing, receiver: str) -> Party[RunningSums]:
    """The contributions that came in time; everybody's, if this party adds nothing up."""
    parts = plan.parts_for(receiver)
    sums = RunningSums(dealing, parts)
    if parts:
        sums.peers = yield from gather(MaskedParts, dealing.peers, keep=sums.take)
    return sums
