"""The cast of a conversation: which party plays which role of a two-party protocol."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sottovoce.errors import InputError, TheirError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Layout
from sottovoce.protocols.conversation import (
    COORDINATOR,
    EVALUATOR,
    KEY_HOLDER,
    Action,
    Ask,
    Gather,
    Party,
    Receive,
    Send,
)

R = TypeVar("R")


@dataclass(frozen=True)
class Cast:
    """The parties of a learner: peers, a coordinator who holds the key, and an evaluator.

    The evaluator sees every ciphertext, so it must not hold the key.
    """

    peers: tuple[str, ...]
    coordinator: str = COORDINATOR
    evaluator: str = EVALUATOR

    def __post_init__(self) -> None:
        if self.evaluator == self.coordinator:
            raise InputError(
                f"cast: expected an evaluator that does not hold the key, found {self.evaluator!r} "
                "as evaluator and key holder",
                hints=("let an independent site, or a peer's server under its own name, evaluate",),
            )
        names = Counter((*self.peers, self.coordinator, self.evaluator))
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise InputError(f"cast: expected every party in one role, found {twice[0]!r} twice")

    def seated(self, program: Party[R]) -> Party[R]:
        """Return the program, with its roles replaced by the parties of this cast."""
        return _renamed(program, {KEY_HOLDER: self.coordinator, EVALUATOR: self.evaluator})


def _renamed(program: Party[R], names: Mapping[str, str]) -> Party[R]:
    """Replace every name of a role, in the program's actions and in its errors."""
    value: object = None
    error: BaseException | None = None
    while True:
        try:
            action = program.send(value) if error is None else program.throw(error)
        except StopIteration as stop:
            result: R = stop.value
            return result
        except TheirError as error_of_role:
            if error_of_role.party in names:
                raise error_of_role.by(names[error_of_role.party]) from error_of_role
            raise
        error = None
        try:
            value = yield _addressed(action, names)
        except GeneratorExit:
            program.close()
            raise
        except Exception as thrown:  # noqa: BLE001 - handed to the program, which judges it
            error = thrown


def _addressed(action: Action, names: Mapping[str, str]) -> Action:
    match action:
        case Send(to, _) | Ask(to, _):
            return replace(action, to=names.get(to, to))
        case Receive(sender, _):
            return replace(action, sender=names.get(sender, sender))
        case Gather():
            return action


def agreed_from(sender: str, ciphertext: Ciphertext, layout: Layout, scale: Scale) -> Ciphertext:
    """Return the ciphertext; raise an error that names its sender if its form is not agreed."""
    try:
        return ciphertext.expected(layout, scale)
    except ViolationError as error:
        raise error.by(sender) from None
