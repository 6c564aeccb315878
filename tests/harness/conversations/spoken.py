"""Messages and programs for tests of conversations."""

from typing import ClassVar

from sottovoce.protocols.messages import Disclosure, Message, Question

NOTHING = Disclosure(
    seen_by="the tests alone", reveals="nothing at all", assuming="that tests may see it"
)


class Squared(Message, frozen=True):
    discloses: ClassVar = NOTHING
    value: int


class Square(Question[Squared], frozen=True):
    discloses: ClassVar = NOTHING
    value: int
