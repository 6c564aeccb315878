"""The data that leave an organisation, their recipients and sizes, without protocol terms."""

from collections.abc import Iterator
from dataclasses import dataclass

from sottovoce.study.card.facts import worded
from sottovoce.study.card.seat_sizes import helper_sizes
from sottovoce.study.card.sizes import (
    BUILT,
    DRAWN,
    INTERMEDIARY,
    MEMBERS,
    ROWS,
    Size,
    member_sizes,
    peer_sizes,
)
from sottovoce.study.roster import Role
from sottovoce.study.study import Study

_HELPING = (Role.COORDINATOR, Role.EVALUATOR, Role.DEALER)


@dataclass(frozen=True)
class LeavingLine:
    """A message that an organisation sends before the model exists, with its bytes if known."""

    to: str
    holds: tuple[str, ...]
    bytes: int = 0
    each_step: int = 0


def leaving(study: Study, organisation: str | None = None) -> tuple[LeavingLine, ...]:
    """Return the messages that leave an organisation, or without one those of a peer."""
    if study.outsourced:
        owner, evaluator = map(
            study.roster.organisation, (study.roster.coordinator, study.roster.evaluator)
        )
        return (
            LeavingLine(owner, (DRAWN,))
            if organisation == evaluator
            else LeavingLine(evaluator, (worded(study, ROWS),)),
        )
    by_recipient: dict[str, LeavingLine] = {}
    for row in _rows(study, organisation):
        to = _recipient(study, row.to, organisation)
        if to == organisation:
            continue
        before = by_recipient.get(to, LeavingLine(to, ()))
        holds = dict.fromkeys((*before.holds, *worded(study, row.holds).split("; ")))
        step = before.each_step + (row.total if row.each else 0)
        once = before.bytes + (0 if row.each else row.total)
        by_recipient[to] = LeavingLine(to, tuple(holds), once, step)
    return tuple(by_recipient.values())


def _rows(study: Study, organisation: str | None) -> tuple[Size, ...]:
    roles = {
        participant.role
        for participant in study.roster.participants
        if participant.organisation == organisation
    }
    peers = peer_sizes(study) if organisation is None or Role.PEER in roles else ()
    if organisation is not None and not _builders(study, organisation):
        peers = tuple(row for row in peers if row.to != INTERMEDIARY)
    members = member_sizes(study) if Role.MEMBER in roles else ()
    helping = {str(role) for role in roles & set(_HELPING)}
    helped = (row for row in helper_sizes(study) if row.seat in helping and row.way == "sends")
    return (*peers, *members, *helped, *_built(study, organisation))


def _builders(study: Study, organisation: str | None) -> list[str]:
    """Return the organisations that build contributions for peers of this one."""
    roster = study.roster
    return [
        builder.organisation
        for builder in roster.having(Role.INTERMEDIARY)
        if roster.organisation(roster.works_for(builder.name)) == organisation
    ]


def _built(study: Study, organisation: str | None) -> Iterator[Size]:
    """Yield what an intermediary sends: masked questions, and the contribution that it built."""
    roster = study.roster
    for builder in roster.having(Role.INTERMEDIARY):
        if builder.organisation == organisation:
            peer = roster.organisation(roster.works_for(builder.name))
            yield Size("contributions", "masked-rows", str(Role.COORDINATOR), 1, 0, holds=DRAWN)
            yield Size("contributions", "sealed-contribution", peer, 1, 0, holds=BUILT)


def _recipient(study: Study, to: str, organisation: str | None) -> str:
    """Return the organisation in a role; other recipients keep their names."""
    builders = _builders(study, organisation)
    if to == INTERMEDIARY:
        return builders[0] if builders else "an intermediary, from those who have one"
    for role in _HELPING:
        if to == str(role):
            return study.roster.having(role)[0].organisation
    if to == MEMBERS:
        return "the organisations that compute"
    return "the peers" if to == "peers" else to
