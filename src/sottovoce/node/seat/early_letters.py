"""Letters that arrived before their session began here, within a limit for every sender."""

from sottovoce.study.relay import Letter

MOST_LETTERS = 1024


class EarlyLetters:
    """The letters of sessions that begin later, by their position in the mailbox."""

    def __init__(self) -> None:
        self._letters: dict[int, Letter] = {}
        # The most bytes of one sender; the plan sets it.
        self.most_bytes = 64 * 2**20

    def add(self, position: int, letter: Letter) -> bool:
        """Keep a letter; a sender that reached its limit loses all of its letters instead."""
        theirs = {at: held for at, held in self._letters.items() if held.sender == letter.sender}
        size = sum(len(held.body) for held in theirs.values())
        if len(theirs) < MOST_LETTERS and size < self.most_bytes:
            self._letters[position] = letter
            return True
        for at in theirs:
            del self._letters[at]
        return False

    def first(self, session: bytes) -> Letter | None:
        """The first letter of a session, which stays."""
        return next((held for held in self._letters.values() if held.session == session), None)

    def pop(self, session: bytes) -> Letter | None:
        """Take the first letter of a session out."""
        for position, held in self._letters.items():
            if held.session == session:
                return self._letters.pop(position)
        return None

    def before(self, position: int) -> int:
        """The last position up to `position` before which none of these letters lies."""
        return min((*(at - 1 for at in self._letters), position))
