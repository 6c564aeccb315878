"""Reads an invitation that a command was given: the line itself, a file, or standard input."""

import sys
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand

if TYPE_CHECKING:
    from sottovoce.node.invitations import Invitation
    from sottovoce.node.site.site_folder import Site

_LONGEST = 8192
"""The most characters of a file that may hold an invitation."""
_BEGINNING = "sottovoce-"
_SHOWN = 40


def read_invitation(given: str) -> "Invitation":
    """Read a valid invitation. Arguments show in `ps`, so a file may hold it."""
    from sottovoce.node.invitations import Invitation

    if given.startswith(_BEGINNING) and not Path(given[:255]).is_file():
        invitation = Invitation.parse(given)
    else:
        where, text = _content(given)
        try:
            invitation = Invitation.parse(text)
        except InputError as error:
            raise InputError(f"{where}: {error.message}", hints=error.hints) from None
    invitation.check_time(datetime.now(UTC))
    return invitation


def check_seats(site: "Site", given: "Invitation") -> None:
    """Refuse another site's invitation to a study that this site already joined."""
    from sottovoce.course.phases import Phase
    from sottovoce.node.site.seat_status import status

    for study in site.joined():
        seats = study.invitation.seats
        if study.id != given.study or set(seats) == set(given.seats):
            continue
        # A site that only looked at a wrong invitation, or was refused with it, may use the right
        # one.
        if any(seat.phase != Phase.INVITED for seat in status(study.membership)):
            raise InputError(
                f"invitation: expected one for {', '.join(seats)}, this site's seats in "
                f"{study.id}, found one for {', '.join(given.seats)}, and nothing was changed",
                hints=(
                    Hint("to continue: ", ShellCommand(f"sottovoce join --study {study.id}")),
                    "or join as another site: --home FOLDER",
                ),
            )


def _content(given: str) -> tuple[str, str]:
    """Return the place of the line, and the line."""
    if given == "-":
        return "standard input", sys.stdin.read(_LONGEST)
    path = Path(given)
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return given, file.read(_LONGEST)
    except IsADirectoryError:
        inside = sorted(inner.name for inner in path.iterdir())
        raise InputError(
            f"invitation: expected a line or a file that holds it, found the folder {given}",
            hints=tuple(ShellCommand(f"sottovoce join {path / name}") for name in inside[:3]),
        ) from None
    except PermissionError:
        raise InputError(f"{given}: cannot be read (permission denied)") from None
    except OSError:
        raise _neither(given) from None


def _neither(given: str) -> InputError:
    """The error for what is neither an invitation nor a file."""
    shown = given if len(given) <= _SHOWN else f"{given[:_SHOWN]}… ({len(given)} characters)"
    hints = ["copy the whole line that the coordinator sent, or name the file that holds it"]
    folder = Path(given).parent if len(given) < _LONGEST else Path()
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        names = []
    near = get_close_matches(Path(given).name, names, n=1)
    if near:
        hints.insert(0, f"did you mean {folder / near[0]}?")
    return InputError(
        f"invitation: expected a line that begins with {_BEGINNING}1-, or a file that holds one, "
        f"found neither in {shown!r}",
        hints=tuple(hints),
    )
