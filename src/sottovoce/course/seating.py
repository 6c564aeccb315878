"""Whether a proposed roster is the one that the study's text allows."""

from collections.abc import Mapping

from sottovoce.course.control import COORDINATOR, Seating
from sottovoce.course.terms import Terms
from sottovoce.errors import ViolationError
from sottovoce.study.roster import Role, Roster, peer_of
from sottovoce.study.study import Study


def seated(terms: Terms, publics: Mapping[str, bytes], seating: Seating) -> Study:
    """The study with these people, if it is the one that the text describes.

    The coordinator proposes whose keys are whose and who stays away; everything else was in
    the text. `publics` are our own seats' keys. Whether the others' keys are the right ones,
    people compare by the words.
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
    """Nobody stays away but peers, and with a peer the seats that are named after it."""
    missing = [
        seat.name
        for seat in terms.seats
        if seat.name not in roster.names
        and seat.role is not Role.PEER
        and (peer_of(seat.name) == seat.name or peer_of(seat.name) in roster.names)
    ]
    if missing:
        raise ViolationError(
            f"expected the {missing[0]} at the table, found none", party=COORDINATOR
        )
