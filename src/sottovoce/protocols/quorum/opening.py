"""Opening a value: members send their shares of it to the opener, who tells everybody the value.

    member i                                opener (C)
      │ its share ─────────────────────────────▶│   Lagrange in every field, with a check
      │◀──────────────────── OpenedValues ──────│   the value, or its quotient by 2^f

What is opened is masked, or is one of the results that the study card lists. Every opening is
checked three ways before anybody uses it: further shares lie on the same polynomial
(`sharing.py`), the value is in the range that honest shares give, and the value is what its kind
allows (a bit is 0 or 1). A member that stays away is not waited for a second time; 2t + 1 finish.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers import limbs
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party, Send, gather, receive
from sottovoce.protocols.disclosures import THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.sharing import put_together

M = TypeVar("M", bound=Message)


class OpeningShare(Message, frozen=True):
    """A member's share of something that is opened; each kind says what that is."""

    never_sent_itself: ClassVar = True
    share: wire.Residues


class OpenedValues(Message, frozen=True):
    """Opened residues: masked values, their quotients, or a result that the card lists."""

    discloses: ClassVar = Disclosure(
        seen_by="every member of the quorum",
        reveals="nothing but what the kind of opening says: the value is under a fresh mask, "
        "or on the study card",
        assuming=THRESHOLD_HOLDS,
    )
    values: wire.Residues


@dataclass(frozen=True)
class Opening:
    """One opening: the kind and degree of its shares, and the largest honest value.

    Where there is a `shift` f, everybody is told ⌊z/2^f⌋. Nobody is told where `is_told` is false:
    the members know the value already.
    """

    kind: type[OpeningShare]
    degree: int
    base: Base
    shape: tuple[int, ...]
    limit: int | None = None
    shift: int = 0
    is_told: bool = True

    @property
    def planes_shape(self) -> tuple[int, ...]:
        """The shape of the residues that travel."""
        return (self.base.count, *self.shape)

    def read(self, residues: wire.Residues, *, sender: str) -> Planes:
        """The planes in a message, if they have the agreed shape and range."""
        return read_planes(residues, self.planes_shape, sender=sender, what=self.kind.__name__)

    def value(self, shares: Mapping[str, Planes], quorum: Quorum) -> Planes:
        """Return the value of these shares, after a check."""
        what = self.kind.__name__
        value = put_together(shares, degree=self.degree, quorum=quorum, what=what)
        if self.limit is None and not self.shift:
            return value
        whole = limbs.from_residues(value, self.base)
        if self.limit is not None and not limbs.below(whole, self.limit).all():
            raise ViolationError(
                f"{what}: expected a value in the range of its mask, found one outside: "
                f"a share of {', '.join(shares)} is wrong, or a number left its agreed bound"
            )
        if not self.shift:
            return value
        return limbs.to_residues(limbs.shifted_right(whole, self.shift), self.base)


@dataclass
class Opener:
    """The opener of a quorum, and the members that it still hears from."""

    quorum: Quorum

    def __post_init__(self) -> None:
        self.present = list(self.quorum.members)

    def open(self, opening: Opening) -> Party[Planes]:
        """Open the next value, tell the members, and return it."""
        value = yield from self.take(opening)
        if opening.is_told:
            for name in self.present:
                yield Send(name, OpenedValues(wire.Residues.of(value)))
        return value

    def take(self, opening: Opening) -> Party[Planes]:
        """Open the next value, which is for the opener alone."""
        messages = yield from gather(opening.kind, self.present)
        self.present = list(self.quorum.among(messages).members)
        shares = {
            name: opening.read(message.share, sender=name) for name, message in messages.items()
        }
        return opening.value(shares, self.quorum)


def opened(quorum: Quorum, opening: Opening, share: Planes) -> Party[Planes]:
    """At a member: send its share, and receive the opened value."""
    yield from given(quorum, opening, share)
    answer = yield from receive(quorum.opener, OpenedValues)
    return opening.read(answer.values, sender=quorum.opener)


def given(quorum: Quorum, opening: Opening, share: Planes) -> Party[None]:
    """At a member: its share of something that is for the opener alone."""
    if share.shape != opening.planes_shape:
        raise ViolationError(
            f"{opening.kind.__name__}: expected a share of shape {opening.planes_shape}, "
            f"found {share.shape}"
        )
    yield Send(quorum.opener, opening.kind(wire.Residues.of(share)))


def enough(kind: type[M], quorum: Quorum) -> Party[Mapping[str, M]]:
    """At the receiver of the shares: those of the members that are there, if they are enough."""
    messages = yield from gather(kind, quorum.members)
    quorum.among(messages)
    return messages


def read_planes(
    residues: wire.Residues, shape: tuple[int, ...], *, sender: str, what: str
) -> Planes:
    """The planes of a message, if they have the shape that was agreed."""
    if residues.shape != shape:
        raise ViolationError(
            f"{what}: expected residues of shape {shape}, found {residues.shape}", party=sender
        )
    try:
        return residues.planes()
    except ViolationError:
        raise
    except ValueError as error:
        raise ViolationError(f"{what}: {error}", party=sender) from error
