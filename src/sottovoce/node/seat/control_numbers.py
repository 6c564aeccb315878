"""The numbers of a seat's control letters: each is heard once and told once, in order."""

from collections.abc import Callable, Sequence

from sottovoce.course.control import CONTROL, COORDINATOR
from sottovoce.protocols.messages import Message
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import Outgoing
from sottovoce.study.relay import Letter
from sottovoce.wire.codec import tag_of


class ControlNumbers:
    """The next numbers to hear and to tell; notes of the journal, which alone survive a crash."""

    def __init__(self, name: str, journal: Journal, control: Callable[[str], bytes]) -> None:
        """Number the control letters of seat `name`; `control` is each sender's session."""
        self._name = name
        self._journal = journal
        self._control = control
        self._heard: dict[str, int] = {}

    def to_hear(self, letter: Letter) -> int:
        """The number that the next control letter of this sender has; read from disk once."""
        key = _heard_by(letter)
        if key not in self._heard:
            self._heard[key] = int.from_bytes(self._journal.note(key) or b"")
        return self._heard[key]

    def note_of(self, letter: Letter) -> dict[str, bytes]:
        """The note that this letter was heard, which goes to disk with its effect."""
        return {_heard_by(letter): (letter.number + 1).to_bytes(8)}

    def heard(self, letter: Letter) -> None:
        """The note of this letter is on disk."""
        self._heard[_heard_by(letter)] = letter.number + 1

    def renumbered(self, number: int) -> dict[str, bytes]:
        """The note that the next control letter to the coordinator has this number."""
        return {f"told/{self._control(COORDINATOR).hex()}": number.to_bytes(8)}

    def numbered(
        self, letters: Sequence[tuple[str, Message]], notes: dict[str, bytes]
    ) -> list[Outgoing]:
        """Control letters with their numbers, which go to disk together with them."""
        outgoing = []
        for recipient, message in letters:
            session = self._control(recipient)
            key = f"told/{session.hex()}"
            number = int.from_bytes(notes.get(key) or self._journal.note(key) or b"")
            notes[key] = (number + 1).to_bytes(8)
            body = CONTROL.encode(message)
            letter = Letter(session, self._name, recipient, number, body)
            outgoing.append(Outgoing(letter, tag_of(body)))
        return outgoing


def _heard_by(letter: Letter) -> str:
    return f"heard/{letter.session.hex()}/{letter.sender}"
