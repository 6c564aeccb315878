"""How many steps a sealed solve takes, counted from what its dealer is told."""

from collections.abc import Iterable

from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.roles import Study
from sottovoce.roles.contributions import solve_plan
from sottovoce.roles.reference import Ends
from sottovoce.roles.solving import SolveNumbers
from sottovoce.roles.totals import Totals
from sottovoce.wire.codec import Codec, tag_of


class StepCounter(Meddler):
    """Notes the public numbers of the solve on their way to the dealer."""

    def __init__(self) -> None:
        self._told: SolveNumbers | None = None
        self._tag = SolveNumbers.__struct_config__.tag

    def carry(self, packet: Packet) -> Iterable[Packet]:
        """Everything goes on as it is."""
        if tag_of(packet.body) == self._tag:
            self._told = Codec().decode(packet.body, SolveNumbers)
        return (packet,)

    def of(self, study: Study) -> int:
        """The steps of the last solve, as the dealer works them out; 0 if nothing was dealt."""
        told = self._told
        if told is None:
            return 0
        rows, *by_class = (int(one) for one in told.totals.array())
        totals = Totals(rows, tuple(by_class), told.peers)
        ends = Ends(told.ceiling_parts, told.floor_share)
        return len(solve_plan(study.plan, totals, alpha=study.plan.alphas[-1], ends=ends).steps)
