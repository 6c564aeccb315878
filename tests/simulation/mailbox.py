"""The mailbox as the seats see it: durable, numbered, idempotent."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from sottovoce.course.letter_chain import HeldLetters, mark_of
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

_CODEC = Codec()


class BrokenError(AssertionError):
    """An invariant does not hold."""


class ConflictError(Exception):
    """Another letter under a number that was used: the server would answer 409."""


class NoRunError(Exception):
    """The sender is not the process that showed its past last: its body is not read."""


@dataclass
class Mailbox:
    """Letters by recipient, in the order in which they were posted."""

    boxes: dict[str, list[Letter]] = field(default_factory=dict)
    digests: dict[tuple[bytes, str, str, int], bytes] = field(default_factory=dict)
    posts: Counter[str] = field(default_factory=Counter)
    letters: list[Letter] = field(default_factory=list)
    held: dict[str, HeldLetters] = field(default_factory=dict)
    runs: dict[str, object] = field(default_factory=dict)

    def take_up(self, sender: str, run: object) -> None:
        """A process works at a seat from now on; it compared what is held of the seat."""
        self.runs[sender] = run

    def post(self, letter: Letter, run: object = None) -> None:
        """Keep a letter; the same again is fine, another under its number is refused."""
        if self.runs.get(letter.sender) is not run:
            raise NoRunError(letter.sender)
        key = (letter.session, letter.sender, letter.recipient, letter.number)
        digest = hashlib.sha256(_CODEC.encode(letter)).digest()
        if key in self.digests:
            if self.digests[key] != digest:
                raise ConflictError(
                    f"{letter.sender} posted two letters {letter.number} to {letter.recipient}"
                )
            return
        self.digests[key] = digest
        place = (letter.session, letter.recipient, letter.number)
        mark = mark_of(*place, hashlib.sha256(letter.body).digest())
        self.held[letter.sender] = self.held.get(letter.sender, HeldLetters()).after(mark)
        self.boxes.setdefault(letter.recipient, []).append(letter)
        self.posts[letter.sender] += 1
        self.letters.append(letter)

    def deny(self, sender: str, before: "Mailbox") -> None:
        """Say that of one sender nothing came since `before`, though its letters are there."""
        self.held[sender] = before.held.get(sender, HeldLetters())
        since = self.digests.keys() - before.digests.keys()
        for key in since:
            if key[1] == sender:
                del self.digests[key]

    def has(self, letter: Letter) -> bool:
        """Whether a letter arrived."""
        return (letter.session, letter.sender, letter.recipient, letter.number) in self.digests

    def after(self, recipient: str, position: int) -> tuple[int, Letter] | None:
        """The first letter after a position (positions count from 1)."""
        box = self.boxes.get(recipient, [])
        return (position + 1, box[position]) if position < len(box) else None

    def waiting(self, recipient: str, position: int) -> int:
        """How many letters come after a position; a mailbox that came back may have lost some."""
        return max(0, len(self.boxes.get(recipient, [])) - position)
