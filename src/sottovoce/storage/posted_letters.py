"""A seat's chain of sent letters, and the error if the server's chain differs."""

from collections.abc import Iterable
from pathlib import Path

from sottovoce.course.control import COORDINATOR
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.errors import CopyError, SottovoceError, ViolationError
from sottovoce.wire import Value


class Posted(Value, frozen=True):
    """The chain of all sent letters, and the last position in the outbox that it counts.

    Letters up to that position may still wait; they were already announced. `perhaps` is the mark
    of a letter that was discarded on its way.
    """

    held: HeldLetters = HeldLetters()
    counted: int = 0
    perhaps: bytes = b""

    def after(self, position: int, mark: bytes) -> "Posted":
        """The chain after the letter at this position, which it may already count."""
        if position <= self.counted:
            return self
        perhaps = b"" if mark == self.perhaps else self.perhaps
        return Posted(self.held.after(mark), position, perhaps)

    def without(self, position: int, mark: bytes) -> "Posted":
        """The chain after a letter was discarded on its way; the server may have it."""
        return self if position <= self.counted else Posted(self.held, self.counted, mark)

    def reaching(self, held: HeldLetters, waiting: Iterable[tuple[int, bytes]]) -> "Posted | None":
        """The chain after some of the waiting letters that equals the server's, if there is one."""
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
    """The error of a seat that must not continue: its own copy or the server's is older."""
    if server.letters < here.letters:
        return ViolationError(
            f"the server confirmed {here.letters} letters of this seat and now has "
            f"{server.letters}: it was restored from an older copy; nothing was sent",
            party=COORDINATOR,
            hints=(
                "ask the coordinator for the newest copy of its folder, or for another study",
                "which copies help: docs/backup.md",
            ),
        )
    count = "as many" if server.letters == here.letters else str(server.letters)
    return CopyError(
        f"{path}: the server has {count} letters of this seat, and not the {here.letters} that "
        f"were sent from here: this folder is an older copy, or a copy of it was used elsewhere; "
        f"nothing was sent",
        hints=(
            "go on with the newest copy of the folder, which has all that was sent",
            "if it is lost and the training is over: ask for an invitation, and a peer to `hand`",
            "if it is lost before that: the others continue without this site, or begin again",
            "every step of it is in docs/backup.md",
        ),
    )
