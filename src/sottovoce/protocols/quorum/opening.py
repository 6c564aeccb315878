"""Opening a value: members send their shares of it to the opener, who sends everybody the value.

    member i                                opener (C)
      │ its share ─────────────────────────────▶│   Lagrange in every field, with a check
      │◀──────────────────── OpenedValues ──────│   the value, or its quotient by 2^f

An opened value is masked, or is one of the results that the study card lists. Every opening is
checked in three ways before anybody uses it: further shares lie on the same polynomial
(`sharing.py`), the value is in the range that honest shares give, and its kind allows the value (a
bit is 0 or 1). If a member does not answer once, the opener no longer waits for it; 2t + 1 members
are enough to finish.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers import limbs
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party, Send, gather
from sottovoce.protocols.disclosures import BY_EVERY_MEMBER, THRESHOLD_HOLDS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.sharing import put_together

M = TypeVar("M", bound=Message)


class OpeningShare(Message, frozen=True):
    """A member's share of a value that is opened; each kind of share has its own class."""

    never_sent_itself: ClassVar = True
    share: wire.Residues


class OpenedValues(Message, frozen=True):
    """Opened residues: masked values, their quotients, or a result that the card lists."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_MEMBER,
        reveals="nothing but what the kind of opening says: the value is under a fresh mask, "
        "or on the study card",
        assuming=THRESHOLD_HOLDS,
    )
    values: wire.Residues


@dataclass(frozen=True)
class Opening:
    """One opening: the kind and degree of its shares, and the bound of an honest value.

    With a `shift` f, everybody receives ⌊z/2^f⌋. Where `is_told` is false, nobody is sent the
    value: the members know it already.
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
        """Return the planes in a message, after checking their shape and range."""
        return read_planes(residues, self.planes_shape, sender=sender, what=self.kind.__name__)

    def value(self, shares: Mapping[str, Planes], quorum: Quorum) -> Planes:
        """Return the value of these shares, after checking that they agree and are in range."""
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
    """The opener of a quorum, and the members that still answer it."""

    quorum: Quorum

    def __post_init__(self) -> None:
        self.present = list(self.quorum.members)

    def open(self, opening: Opening) -> Party[Planes]:
        """Open the next value, send it to the members, and return it."""
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


def given(quorum: Quorum, opening: Opening, share: Planes) -> Party[None]:
    """At a member: send its share of a value that is for the opener alone."""
    if share.shape != opening.planes_shape:
        raise ViolationError(
            f"{opening.kind.__name__}: expected a share of shape {opening.planes_shape}, "
            f"found {share.shape}"
        )
    yield Send(quorum.opener, opening.kind(wire.Residues.of(share)))


def enough(kind: type[M], quorum: Quorum) -> Party[Mapping[str, M]]:
    """At the receiver of shares: gather them, and raise `AbsenceError` if they are too few."""
    messages = yield from gather(kind, quorum.members)
    quorum.among(messages)
    return messages


def read_planes(
    residues: wire.Residues, shape: tuple[int, ...], *, sender: str, what: str
) -> Planes:
    """Return the planes of a message, after checking their shape."""
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
