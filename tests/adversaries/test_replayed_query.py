"""A coordinator hands a member of a quorum the letters of an old query again, with other rows.

The seeds of the dealing members and what the coordinator opened come a second time; the asker, who
sides with the coordinator, shares other rows. A member that began anew would give a second share
under the same mask: the difference of the two is its share of the model along the change.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.letters import Plain
from harness.quorums import OPENER, here, quorum_of, shared
from sottovoce.errors import MisuseError
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.numbers.residues import Planes
from sottovoce.protocols.conversation import Party, Receive, Send
from sottovoce.protocols.messages import kind_of
from sottovoce.protocols.quorum import labels
from sottovoce.protocols.quorum.comparison import MaskedScore
from sottovoce.protocols.quorum.dealing import seated
from sottovoce.protocols.quorum.labels import LabelPlan
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.rows import RowShares, share_rows
from sottovoce.protocols.runner import converse
from sottovoce.protocols.shares.material import Ledger
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of
from sottovoce.wire.tags import kebab

# A member that deals draws anew when it begins anew; this one deals nothing.
ASKER, VICTIM = "asker", "site2"
QUORUM = quorum_of(4, 1)
WIDTH, COLUMN = 4, 2
PLAN = LabelPlan(2, WIDTH, 1, 24, 60, QUORUM)
MODEL = shared(QUORUM, np.array([[5], [-3], [8], [1]]), PLAN.base)
ROWS = np.array([[1, 0, 2, 1], [0, 3, 1, 1]])
PARTNERS = (*(name for name in QUORUM.members if name != VICTIM), ASKER, OPENER)
SITTING = SeatSession(VICTIM, here(QUORUM).encode(), PARTNERS, Plain())
CODEC = Codec(limit=1 << 26)


def member(name: str, entropy: Any) -> Party[None]:
    """A member's part of a query."""
    context = here(QUORUM)
    seat = yield from seated(QUORUM, name, context, entropy=entropy, ledger=Ledger())
    scores = yield from labels.take_scores(PLAN, context, MODEL[name], asker=ASKER, name=name)
    yield from labels.answer(seat, PLAN, scores, asker=ASKER)


def begun(journal: Journal) -> DurableSeat[None]:
    """The victim's seat on this journal."""
    return DurableSeat.begin(journal, SITTING, lambda entropy: member(VICTIM, entropy))


def opened(path: Path) -> tuple[Journal, DurableSeat[None]]:
    """The victim's process starts."""
    journal = Journal(path, key=bytes(32))
    return journal, begun(journal)


def masked(journal: Journal) -> list[Planes]:
    """The shares of masked scores that the seat gives away."""
    return [
        CODEC.decode(outgoing.letter.body, MaskedScore).share.planes()
        for outgoing in journal.pending()
        if outgoing.kind == kebab(MaskedScore.__name__)
    ]


class Victim:
    """A member whose seat is on disk, through a whole query."""

    def __init__(self, folder: Path) -> None:
        self.path, self.came = folder / "journal.db", list[Letter]()
        self.given: list[Planes] = []

    def __call__(self) -> Iterator[Any]:
        journal, seat = opened(self.path)
        sent = 0
        while True:
            outgoing = list(journal.pending())
            for each in outgoing[sent:]:
                message = CODEC.decode(each.letter.body, kind_of(each.kind))
                yield Send(each.letter.recipient, message)
            sent = len(outgoing)
            if seat.finished:
                self.given = masked(journal)
                journal.close()
                return None
            wait = seat.waiting
            assert isinstance(wait, Receive)
            got = yield wait
            number = sum(letter.sender == wait.sender for letter in self.came)
            body = CODEC.encode(got)
            letter = Letter(SITTING.session, wait.sender, VICTIM, number, body)
            self.came.append(letter)
            seat.deliver(letter)

    def replayed(self, seat: DurableSeat[None]) -> None:
        """Everything again, with 1 more in one column of the first row."""
        for letter in self.came:
            seat.deliver(self._with_other_rows(letter))

    @staticmethod
    def _with_other_rows(letter: Letter) -> Letter:
        if tag_of(letter.body) != kebab(RowShares.__name__):
            return letter
        message = CODEC.decode(letter.body, RowShares)
        planes = message.rows.planes().copy()
        planes[:, 0, COLUMN] += 1
        rows = type(message.rows).of(planes)
        body = CODEC.encode(msgspec.structs.replace(message, rows=rows))
        return msgspec.structs.replace(letter, body=body)


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    """The query is over, and the asker has its labels."""
    victim = Victim(tmp_path)

    def asker() -> Party[np.ndarray]:
        sharing, offsets = PLAN.sharing(here(QUORUM)), np.zeros((2, 1), np.int64)
        yield from share_rows(sharing, ROWS, offsets, entropy=SeededEntropy(8))
        return (yield from labels.take_labels(PLAN))

    programs: dict[str, Any] = {
        name: member(name, SeededEntropy(place)) for place, name in enumerate(QUORUM.members)
    }
    programs |= {VICTIM: victim(), ASKER: asker()}
    programs[OPENER] = labels.open_labels(Opener(QUORUM), PLAN)
    results = converse(programs, session=SITTING.session).results
    assert results[ASKER].ravel().tolist() == [1, 1]
    assert len(victim.given) == 1
    return victim


def test_a_member_that_starts_again_in_the_middle_masks_nothing_twice(victim: Victim) -> None:
    for _ in range(2):
        journal, seat = opened(victim.path)
        victim.replayed(seat)
        (given,) = masked(journal)
        assert np.array_equal(given, victim.given[0])
        journal.close()


def test_a_query_that_is_over_is_never_begun_again(victim: Victim) -> None:
    journal, _ = opened(victim.path)
    journal.forget(SITTING.session)
    journal.close()
    for _ in range(2):
        journal = Journal(victim.path, key=bytes(32))
        with pytest.raises(MisuseError, match="is over, and was deleted"):
            begun(journal)
        journal.close()


def test_a_member_without_that_memory_gives_its_share_of_the_model_away(
    victim: Victim, tmp_path: Path
) -> None:
    """What is read where a journal forgets that it ever answered: one weight of one member."""
    (tmp_path / "empty").mkdir()
    journal, seat = opened(tmp_path / "empty" / "journal.db")
    victim.replayed(seat)
    (again,) = masked(journal)
    journal.close()
    difference = PLAN.base.subtract(again, victim.given[0])
    read = difference.reshape(PLAN.base.count, -1)[:, 0]
    assert np.array_equal(read, MODEL[VICTIM][: PLAN.base.count, COLUMN, 0])
