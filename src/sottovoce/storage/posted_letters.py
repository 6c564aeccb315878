"""What a seat remembers of all letters that it sent, and what it says if the server's differ."""

from collections.abc import Iterable
from pathlib import Path

from sottovoce.course.control import COORDINATOR
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.errors import CopyError, SottovoceError, ViolationError
from sottovoce.wire import Value


class Posted(Value, frozen=True):
    """The chain of all letters that were sent, and the last position in the outbox that it counts.

    Letters at that position and before may still wait: the server was told of them already.
    `perhaps` is the mark of a letter that was discarded while it was on its way.
    """

    held: HeldLetters = HeldLetters()
    counted: int = 0
    perhaps: bytes = b""

    def after(self, position: int, mark: bytes) -> "Posted":
        """The chain once the letter at this position is sent, which it may count already."""
        if position <= self.counted:
            return self
        perhaps = b"" if mark == self.perhaps else self.perhaps
        return Posted(self.held.after(mark), position, perhaps)

    def without(self, position: int, mark: bytes) -> "Posted":
        """A letter was discarded on its way, and the server may have it all the same."""
        return self if position <= self.counted else Posted(self.held, self.counted, mark)

    def reaching(self, held: HeldLetters, waiting: Iterable[tuple[int, bytes]]) -> "Posted | None":
        """Where the letters that wait lead to what the server holds, if they do."""
        starts = [Posted(self.held, self.counted)]
        if self.perhaps:
            starts.append(Posted(self.held.after(self.perhaps), self.counted))
        marks = list(waiting)
        for reached in starts:
            if reached.held == held:
                return reached
            for position, mark in marks:
                reached = reached.after(position, mark)  # noqa: PLW2901 - it walks on
                if reached.held == held:
                    return reached
        return None


def copy_error(path: Path, here: HeldLetters, server: HeldLetters) -> SottovoceError:
    """Why a seat does not go on: its own copy is older, or the server's is."""
    if server.letters < here.letters:
        return ViolationError(
            f"expected the {here.letters} letters of this seat that it confirmed, found "
            f"{server.letters}: its server was brought back from an older copy; nothing was sent",
            party=COORDINATOR,
            hints=(
                "ask the coordinator for the newest copy of its folder, or for another study",
                "which copies bring a study back: docs/backup.md",
            ),
        )
    count = "as many" if server.letters == here.letters else str(server.letters)
    return CopyError(
        f"{path}: the server holds {count} letters of this seat, and not the {here.letters} that "
        "were sent from here: this folder is an older copy, or a copy of it went on elsewhere; "
        "nothing was sent",
        hints=(
            "go on with the newest copy of the folder, which has all that was sent",
            "if it is lost and the training is over: ask for an invitation, and a peer to `hand`",
            "if it is lost before that: the others go on without this site, or begin a new study",
            "every step of it is in docs/backup.md",
        ),
    )
