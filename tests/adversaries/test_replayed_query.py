"""A coordinator hands a member of a quorum the letters of an old query again, with other rows.

The seeds of the dealing members and what the coordinator opened come a second time; the asker, who
sides with the coordinator, shares other rows. A member whose folder came back from a backup has
forgotten the query, or was copied in the middle of it. If it took the old seeds, it would give a
second share under the same mask: the difference of the two is its share of the model along the
change.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.letters import Plain
from harness.quorums import OPENER, here, quorum_of, shared
from sottovoce.entropy import bound
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.numbers.residues import Planes
from sottovoce.protocols.conversation import Party, Receive, Send
from sottovoce.protocols.messages import kind_of
from sottovoce.protocols.quorum import dealing, labels
from sottovoce.protocols.quorum.comparison import MaskedScore
from sottovoce.protocols.quorum.dealing import seated
from sottovoce.protocols.quorum.labels import LabelPlan
from sottovoce.protocols.quorum.opening import OpenedValues, Opener
from sottovoce.protocols.quorum.products import MaskedProduct
from sottovoce.protocols.quorum.rows import RowShares, share_rows, take_scores
from sottovoce.protocols.runner import converse
from sottovoce.protocols.shares.material import Ledger
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of
from sottovoce.wire.tags import kebab

# This member deals nothing: its shares of masks come from the others' seeds alone.
ASKER, VICTIM = "asker", "site2"
QUORUM = quorum_of(4, 1)
WIDTH, COLUMN = 4, 2
PLAN = LabelPlan(2, WIDTH, 1, 24, 60, QUORUM)
MODEL = shared(QUORUM, np.array([[5], [-3], [8], [1]]), PLAN.base)
ROWS = np.array([[1, 0, 2, 1], [0, 3, 1, 1]])
PARTNERS = (*(name for name in QUORUM.members if name != VICTIM), ASKER, OPENER)
SITTING = SeatSession(VICTIM, here(QUORUM).encode(), PARTNERS, Plain())
CODEC = Codec(limit=1 << 26)
# The opening of the masked scores comes after that of the bits of their masks.
TOLD = 1


def member(name: str, entropy: Any) -> Party[None]:
    """A member's part of a query."""
    context = here(QUORUM)
    scores = yield from take_scores(PLAN.sharing(context), MODEL[name], owner=ASKER, name=name)
    drawn = bound(entropy, "test", scores.tobytes())
    seat = yield from seated(QUORUM, name, context, entropy=drawn, ledger=Ledger())
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
        self.copies = folder / "copies"
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
            self._copy(len(self.came))
            letter = Letter(SITTING.session, wait.sender, VICTIM, number, body)
            self.came.append(letter)
            seat.deliver(letter)

    def _copy(self, letters: int) -> None:
        """A backup is made, when so many letters have come."""
        self.copies.mkdir(exist_ok=True)
        for path in self.path.parent.glob("journal.db*"):
            shutil.copy(path, self.copies / path.name.replace("journal", f"journal-{letters}"))

    def kinds(self) -> list[str]:
        """The kinds of the letters that came, in order."""
        return [tag_of(letter.body) for letter in self.came]

    def replayed(
        self, seat: DurableSeat[None], changed: Callable[[Letter], Letter] | None = None
    ) -> None:
        """Everything again, with 1 more in one column of the first row."""
        for letter in self.came:
            seat.deliver((changed or self.with_other_rows)(letter))

    @staticmethod
    def with_other_rows(letter: Letter) -> Letter:
        if tag_of(letter.body) != kebab(RowShares.__name__):
            return letter
        message = CODEC.decode(letter.body, RowShares)
        planes = message.rows.planes().copy()
        planes[:, 0, COLUMN] += 1
        rows = type(message.rows).of(planes)
        body = CODEC.encode(msgspec.structs.replace(message, rows=rows))
        return msgspec.structs.replace(letter, body=body)

    @staticmethod
    def with_another_opening(letter: Letter) -> Letter:
        """What the coordinator told of the masked scores, with 1 more in the first row's."""
        if letter.sender != OPENER or letter.number != TOLD:
            return letter
        values = CODEC.decode(letter.body, OpenedValues).values
        planes = values.planes().copy()
        planes[:, 0, 0] += 1
        body = CODEC.encode(OpenedValues(type(values).of(planes)))
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


def _taken_without_nonces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "_check_nonce", lambda *_: None)


def _share_of_a_weight(victim: Victim, again: Planes) -> Planes:
    """What two shares under one mask show: one weight of the member's share of the model."""
    difference = PLAN.base.subtract(again, victim.given[0])
    return difference.reshape(PLAN.base.count, -1)[:, 0]


@pytest.fixture(params=["none of it", "its beginning"])
def older(request: pytest.FixtureRequest, victim: Victim, tmp_path: Path) -> Path:
    """A folder that does not know the query, and one that was copied before its rows came."""
    if request.param == "its beginning":
        return victim.copies / "journal-0.db"
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty" / "journal.db"


def test_a_member_from_a_backup_refuses_what_was_dealt_to_it_before(
    victim: Victim, older: Path
) -> None:
    journal, seat = opened(older)
    victim.replayed(seat)
    assert isinstance(seat.failure, ViolationError)
    assert "is for another run of this seat; nothing masked was sent" in seat.failure.message
    assert seat.failure.party == ""
    kinds = {outgoing.kind for outgoing in journal.pending()}
    assert kinds == {kebab(dealing.DealingNonce.__name__)}
    journal.close()


def test_if_it_took_what_was_dealt_it_would_give_its_share_of_the_model_away(
    victim: Victim, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _taken_without_nonces(monkeypatch)
    journal, seat = opened(older)
    victim.replayed(seat)
    (again,) = masked(journal)
    journal.close()
    read = _share_of_a_weight(victim, again)
    assert np.array_equal(read, MODEL[VICTIM][: PLAN.base.count, COLUMN, 0])


def test_with_the_same_rows_a_copy_of_the_middle_sends_the_same_bytes(victim: Victim) -> None:
    """As after any crash: what was dealt fits a journal that knows the query."""
    for letters in range(len(victim.came)):
        journal, seat = opened(victim.copies / f"journal-{letters}.db")
        victim.replayed(seat, lambda letter: letter)
        assert seat.failure is None
        (again,) = masked(journal)
        assert np.array_equal(again, victim.given[0])
        journal.close()


def _products(journal: Journal) -> list[Planes]:
    """The shares of masked products that the seat gives away, in order."""
    return [
        CODEC.decode(outgoing.letter.body, MaskedProduct).share.planes()
        for outgoing in journal.pending()
        if outgoing.kind == kebab(MaskedProduct.__name__)
    ]


def _after_another_opening(victim: Victim) -> tuple[DurableSeat[None], list[Planes]]:
    """A copy of the middle is told another value: what leaves it then."""
    middle = next(
        place
        for place, letter in enumerate(victim.came)
        if (letter.sender, letter.number) == (OPENER, TOLD)
    )
    journal, seat = opened(victim.copies / f"journal-{middle}.db")
    before = len(_products(journal))
    victim.replayed(seat, victim.with_another_opening)
    given = _products(journal)[before:]
    journal.close()
    return seat, given


def test_a_copy_of_the_middle_refuses_what_was_dealt_after_other_openings(victim: Victim) -> None:
    seat, given = _after_another_opening(victim)
    assert isinstance(seat.failure, ViolationError)
    assert "was told other opened values than this member" in seat.failure.message
    assert seat.failure.party == ""
    assert not given


def test_if_it_did_not_one_mask_would_cover_two_products(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(dealing.OpenedHistory, "add", lambda *_: None)
    victim = request.getfixturevalue("victim")
    whole, _ = opened(victim.path)
    before = _products(whole)
    whole.close()
    _, given = _after_another_opening(victim)
    # What was told of the second row is the same, and so is the share of it: so is its mask.
    row = [each.reshape(len(each), -1, 2)[:, :, 1] for each in (before[-len(given)], given[0])]
    other = [each.reshape(len(each), -1, 2)[:, :, 0] for each in (before[-len(given)], given[0])]
    assert np.array_equal(*row)
    assert not np.array_equal(*other)
