"""Transition tables: what a decider does with an input in a phase, and the next phase."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from sottovoce.course.training.actions import Action
from sottovoce.course.training.inputs import Heard
from sottovoce.errors import MisuseError


class State(Protocol):
    """The frozen state of a decider."""

    @property
    def phase(self) -> StrEnum:
        """The phase that selects the rule."""


S = TypeVar("S", bound=State)


class Turn(Generic[S]):
    """A step in progress: the new state, and the actions so far."""

    def __init__(self, state: S, now: float) -> None:
        self.state = state
        self.now = now
        self.actions: list[Action] = []

    def change(self, **changes: Any) -> None:
        """Change some fields of the state."""
        self.state = replace(self.state, **changes)  # type: ignore[type-var]  # a dataclass

    def act(self, *actions: Action) -> None:
        """Add an action."""
        self.actions.extend(actions)


Does: TypeAlias = Callable[[Turn[Any], Any], None]


@dataclass(frozen=True)
class TransitionRule:
    """A function, and the phases to which it can lead."""

    does: Does
    to: frozenset[StrEnum]


Table: TypeAlias = Mapping[StrEnum, Mapping[type, TransitionRule]]


def stays(turn: Turn[Any], happened: Any) -> None:
    """A rule that changes nothing."""
    del turn, happened


@dataclass(frozen=True)
class Row:
    """One rule for some inputs in some phases.

    Without `to` the phase stays the same.
    """

    phases: tuple[StrEnum, ...]
    kinds: tuple[type, ...]
    does: Does = stays
    to: tuple[StrEnum, ...] = ()


def table_of(rows: Iterable[Row]) -> Table:
    """The table of these rows; two rules for the same input and phase are an error."""
    table: dict[StrEnum, dict[type, TransitionRule]] = {}
    for row in rows:
        for phase in row.phases:
            rules = table.setdefault(phase, {})
            for kind in row.kinds:
                if kind in rules:
                    raise MisuseError(f"table: {kind.__name__} has two rules in phase {phase}")
                rules[kind] = TransitionRule(row.does, frozenset(row.to or (phase,)))
    return table


def kind_of_input(happened: object) -> type:
    """The kind of an input in a table: a letter by its message, everything else by its type."""
    return type(happened.message) if isinstance(happened, Heard) else type(happened)


def stepped(table: Table, state: S, happened: object, now: float) -> tuple[S, tuple[Action, ...]]:
    """Take one step by a table; an input without a rule is a mistake of the carrier."""
    kind = kind_of_input(happened)
    rule = table.get(state.phase, {}).get(kind)
    if rule is None:
        raise MisuseError(f"course: no rule for {kind.__name__} in phase {state.phase}")
    turn = Turn(state, now)
    rule.does(turn, happened)
    if turn.state.phase not in rule.to:
        raise MisuseError(
            f"course: {kind.__name__} in phase {state.phase} led to {turn.state.phase}, "
            f"expected {' or '.join(sorted(rule.to))}"
        )
    return turn.state, tuple(turn.actions)
