"""Checks a proposed roster against the study's text."""

from collections.abc import Mapping

from sottovoce.course.control import COORDINATOR, Seating
from sottovoce.course.terms import Terms
from sottovoce.errors import ViolationError
from sottovoce.study.roster import Role, Roster, peer_of
from sottovoce.study.study import Study


def seated(terms: Terms, publics: Mapping[str, bytes], seating: Seating) -> Study:
    """The study with these people, if it fits the text.

    The coordinator proposes the keys and the seats that stay away; everything else is in the text.
    `publics` are our own seats' keys. People compare words to check the others' keys.
    """
    roster = seating.roster()
    planned = {seat.name: seat for seat in terms.seats}
    for seat in roster.participants:
        expected = planned.get(seat.name)
        if expected is None or (expected.organisation, expected.role) != (
            seat.organisation,
            seat.role,
        ):
            raise ViolationError(
                f"expected the seats of the study's text, found {seat.role} {seat.name!r} "
                f"of {seat.organisation!r}",
                party=COORDINATOR,
            )
    for name, public in publics.items():
        mine = next((seat for seat in roster.participants if seat.name == name), None)
        if mine is None or mine.public != public:
            raise ViolationError(
                f"expected our own key at the seat {name!r}, found "
                f"{'nobody' if mine is None else 'another'}",
                party=COORDINATOR,
            )
    _check_helpers(terms, roster)
    return Study(terms.plan, roster)


def _check_helpers(terms: Terms, roster: Roster) -> None:
    """Refuse a roster in which anybody but peers, or seats named after them, stays away."""
    missing = [
        seat.name
        for seat in terms.seats
        if seat.name not in roster.names
        and seat.role is not Role.PEER
        and (peer_of(seat.name) == seat.name or peer_of(seat.name) in roster.names)
    ]
    if missing:
        raise ViolationError(f"the roster has no {missing[0]}", party=COORDINATOR)
