"""The mailbox as the seats see it: durable, numbered, idempotent."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from sottovoce.roles.relay import Letter
from sottovoce.wire import Codec

_CODEC = Codec()


class ConflictError(Exception):
    """Another letter under a number that was used: the server would answer 409."""


@dataclass
class Mailbox:
    """Letters by recipient, in the order in which they were posted."""

    boxes: dict[str, list[Letter]] = field(default_factory=dict)
    digests: dict[tuple[bytes, str, str, int], bytes] = field(default_factory=dict)
    posts: Counter[str] = field(default_factory=Counter)
    letters: list[Letter] = field(default_factory=list)

    def post(self, letter: Letter) -> None:
        """Keep a letter; the same again is fine, another under its number is refused."""
        key = (letter.session, letter.sender, letter.recipient, letter.number)
        digest = hashlib.sha256(_CODEC.encode(letter)).digest()
        if key in self.digests:
            if self.digests[key] != digest:
                raise ConflictError(
                    f"{letter.sender} posted two letters {letter.number} to {letter.recipient}"
                )
            return
        self.digests[key] = digest
        self.boxes.setdefault(letter.recipient, []).append(letter)
        self.posts[letter.sender] += 1
        self.letters.append(letter)

    def after(self, recipient: str, position: int) -> tuple[int, Letter] | None:
        """The first letter after a position (positions count from 1)."""
        box = self.boxes.get(recipient, [])
        return (position + 1, box[position]) if position < len(box) else None

    def waiting(self, recipient: str, position: int) -> int:
        return len(self.boxes.get(recipient, [])) - position
