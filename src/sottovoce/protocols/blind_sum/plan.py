"""The values that a round adds up, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sottovoce.entropy import Entropy, bound
from sottovoce.errors import InputError
from sottovoce.protocols.blind_sum.masks import SummedVector
from sottovoce.protocols.blind_sum.rounds import Round

_DRAWN = "blind-sum/values/v1"


@dataclass(frozen=True)
class Plan:
    """A round, and the parts that are added up in it."""

    this: Round
    parts: tuple[SummedVector, ...]

    def __post_init__(self) -> None:
        purposes = [(part.receiver, part.purpose) for part in self.parts]
        if not purposes or len(set(purposes)) != len(purposes):
            raise InputError("blind sum: expected parts with purposes of their own")
        strangers = {part.receiver for part in self.parts} - {
            self.this.coordinator,
            self.this.evaluator,
        }
        if strangers:
            raise InputError(
                "blind sum: expected the coordinator or the evaluator to receive, "
                f"found {strangers.pop()!r}"
            )

    @property
    def receivers(self) -> tuple[str, ...]:
        """The receivers of sums."""
        return tuple(dict.fromkeys(part.receiver for part in self.parts))

    def parts_for(self, receiver: str) -> tuple[SummedVector, ...]:
        """The parts of one receiver."""
        return tuple(part for part in self.parts if part.receiver == receiver)

    def check_values(self, values: Sequence[Any]) -> None:
        """Refuse, before anything is sent, another number of values than there are parts."""
        if len(values) != len(self.parts):
            raise InputError(f"blind sum: expected {len(self.parts)} values, found {len(values)}")

    def drawing(self, values: Sequence[Any], entropy: Entropy) -> Entropy:
        """The stream of a peer's keys and seeds, for these values and this round alone."""
        pairs = zip(self.parts, values, strict=True)
        written = (part.space.written(value) for part, value in pairs)
        return bound(entropy, _DRAWN, self.this.context, *written)


@dataclass(frozen=True)
class Summed:
    """The peers that are in the sum, and the sums of the parts that this party received."""

    peers: tuple[str, ...]
    sums: tuple[Any, ...] = field(default=(), repr=False)


def ideal(plan: Plan, values: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The ideal: the sums of all peers' values, part by part."""
    columns = zip(*values, strict=True)
    return tuple(
        part.space.ideal(list(column)) for part, column in zip(plan.parts, columns, strict=True)
    )
