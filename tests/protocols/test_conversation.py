"""Programs at a table: what is delivered, what is refused, and who is named."""

from typing import ClassVar

import msgspec
import numpy as np
import pytest

from harness.conversations.spoken import NOTHING, Square, Squared
from harness.meddling import Change, Crashing, Holding, Swapping, dropping, is_kind, repeating
from sottovoce.errors import (
    AbsenceError,
    BoundError,
    MalformedError,
    MisuseError,
    ViolationError,
)
from sottovoce.protocols.conversation import (
    Ask,
    Gather,
    Party,
    Receive,
    Send,
    ahead,
    ask,
    dismiss,
    followed_by,
    gather,
    receive,
    send,
)
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.messages import Message
from sottovoce.protocols.runner import Conversation, converse
from sottovoce.protocols.seat import MAX_WAITING, Packet, Seat
from sottovoce.wire import Codec, Integers, Words


class Note(Message, frozen=True):
    discloses: ClassVar = NOTHING
    text: str


def squaring(asker: str = "alice", budget: int = 100) -> Party[None]:
    rule = AnswerRule(Square, lambda question: Squared(question.value**2), budget=budget)
    return serve(AnswerGuard(asker, [[rule]]))


def asking(*values: int) -> Party[list[int]]:
    answers = []
    for value in values:
        answer = yield from ask("bob", Square(value))
        answers.append(answer.value)
    yield from dismiss("bob")
    return answers


def test_a_question_and_its_answer() -> None:
    outcome = converse({"alice": asking(3, 4), "bob": squaring()})
    assert outcome.results == {"alice": [9, 16], "bob": None}
    assert outcome.views["alice"].of(Squared) == [Squared(9), Squared(16)]
    assert [item.sender for item in outcome.views["bob"].received] == ["alice"] * 3
    assert outcome.traffic.trips("alice", "bob") == 3
    assert outcome.traffic.messages["bob", "alice"] == 2
    assert outcome.traffic.kinds == {"square": 2, "squared": 2, "enough": 1}
    count, size = outcome.traffic.between("alice", "bob")
    assert count == 5
    assert size == outcome.traffic.total_bytes > 40


def test_the_actions_say_the_same_as_the_helpers() -> None:
    def alice() -> Party[int]:
        answer = yield Ask("bob", Square(5))
        yield Send("bob", Note("done"))
        return answer.value

    def bob() -> Party[str]:
        question = yield Receive("alice", (Square, Note))
        yield from send("alice", Squared(question.value**2))
        note = yield from receive("alice", Note)
        return note.text

    assert converse({"alice": alice(), "bob": bob()}).results == {"alice": 25, "bob": "done"}


def test_a_long_queue_is_worked_off_without_recursion() -> None:
    def alice() -> Party[None]:
        for index in range(MAX_WAITING):
            yield Send("carol", Note(str(index)))
        yield Send("bob", Note("go"))

    def bob() -> Party[None]:
        yield from receive("alice", Note)
        yield Send("carol", Note("go"))

    def carol() -> Party[int]:
        yield from receive("bob", Note)
        total = 0
        for _ in range(MAX_WAITING):
            total += int((yield from receive("alice", Note)).text)
        return total

    outcome = converse({"alice": alice(), "bob": bob(), "carol": carol()})
    assert outcome.results["carol"] == sum(range(MAX_WAITING))


def test_a_sender_that_runs_too_far_ahead_is_named() -> None:
    def alice() -> Party[None]:
        for index in range(MAX_WAITING + 1):
            yield Send("bob", Note(str(index)))

    with pytest.raises(ViolationError, match="alice: bob expected at most 1024 messages ahead"):
        converse({"alice": alice(), "carol": squaring(), "bob": receive("carol", Note)})


def gatherer(*senders: str) -> Party[dict[str, str]]:
    notes = yield from gather(Note, senders)
    return {name: note.text for name, note in notes.items()}


def test_a_gather_comes_back_in_the_order_of_its_senders() -> None:
    peers = {name: send("bob", Note(name.upper())) for name in ("zoe", "yan", "xi")}
    outcome = converse({**peers, "bob": gatherer("xi", "yan", "zoe")})
    assert list(outcome.results["bob"].items()) == [("xi", "XI"), ("yan", "YAN"), ("zoe", "ZOE")]


def test_a_gather_goes_on_without_those_who_left_or_whose_message_was_lost() -> None:
    def programs() -> dict[str, Party]:
        peers = {name: send("bob", Note(name)) for name in ("xi", "yan", "zoe")}
        return {**peers, "bob": gatherer("xi", "yan", "zoe")}

    table = Conversation(programs(), meddler=Crashing({"yan": 0}))
    outcome = table.run()
    assert outcome.results == {
        "xi": None,
        "zoe": None,
        "bob": {"xi": "xi", "zoe": "zoe"},
    }
    assert table.gone == ["yan"]
    outcome = converse(programs(), meddler=dropping(lambda packet: packet.sender == "xi"))
    assert outcome.results["bob"] == {"yan": "yan", "zoe": "zoe"}


def test_what_comes_after_its_gather_is_discarded_and_marked() -> None:
    def bob() -> Party[list[str]]:
        first = yield from gather(Note, ["xi", "yan"])
        yield Send("xi", Note("again"))
        second = yield from gather(Note, ["xi"])
        return [*first, *second]

    def xi() -> Party[None]:
        yield Send("bob", Note("xi"))
        yield from receive("bob", Note)
        yield Send("bob", Note("xi again"))

    meddler = Holding(lambda packet: packet.sender == "yan", rounds=2)
    outcome = converse({"xi": xi(), "yan": send("bob", Note("yan")), "bob": bob()}, meddler=meddler)
    assert outcome.results["bob"] == ["xi", "xi"]
    late = [item for item in outcome.views["bob"].received if item.late]
    assert [item.sender for item in late] == ["yan"]


def test_a_party_that_waits_for_one_that_left_is_told_so_and_may_go_on() -> None:
    def bob() -> Party[str]:
        try:
            yield from receive("alice", Note)
        except AbsenceError as error:
            return str(error)
        return "she came"

    outcome = converse(
        {"alice": send("bob", Note("x")), "bob": bob()}, meddler=Crashing({"alice": 0})
    )
    assert outcome.results == {"bob": "alice: left while bob waited for Note"}


def test_nobody_can_go_on() -> None:
    with pytest.raises(
        AbsenceError,
        match="no program can continue: alice waits for Squared from 'bob'; "
        "bob waits for Square or Enough from 'alice'",
    ):
        converse(
            {"alice": asking(1), "bob": squaring()}, meddler=dropping(lambda p: is_kind(p, Square))
        )


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        (send("bob", Note("hello")), "alice: bob expected Square or Enough, found Note"),
        (send("bob", Squared(1)), "alice: bob expected Square or Enough, found Squared"),
        (asking(1, 2, 3), "alice: expected at most 2 questions Square, found one more"),
    ],
)
def test_a_wrong_message_is_refused_by_name(program: Party[object], complaint: str) -> None:
    with pytest.raises(ViolationError, match=complaint) as caught:
        converse({"alice": program, "bob": squaring(budget=2)})
    assert caught.value.party == "alice"
    assert caught.value.__notes__ == ["in the program of 'bob'"]


def test_surplus_messages_are_refused_at_once_or_at_the_end() -> None:
    def chatty() -> Party[None]:
        yield Send("bob", Note("one"))
        yield Send("bob", Note("two"))

    with pytest.raises(ViolationError, match="alice: bob expected nothing more, found Note"):
        converse({"alice": chatty(), "bob": receive("alice", Note)})
    with pytest.raises(ViolationError, match="alice: bob expected nothing more, found Note"):
        converse({"bob": receive("alice", Note), "alice": chatty()})


def test_an_unexpected_sender_is_refused() -> None:
    seat = Seat("bob", receive("alice", Note), partners=["alice"])
    seat.start()
    data = Codec().encode(Packet(b"", "eve", "bob", 0, Codec().encode(Note("hi"))))
    with pytest.raises(ViolationError, match="eve: bob expected no message from this party"):
        seat.deliver("eve", data)
    with pytest.raises(ViolationError, match="carol: bob expected nothing more, found Note"):
        converse(
            {
                "alice": send("bob", Note("a")),
                "carol": send("bob", Note("c")),
                "bob": receive("alice", Note),
            }
        )


def test_a_gather_names_who_sent_the_wrong_kind_and_can_go_on_without_it() -> None:
    def bob() -> Party[list[str]]:
        senders = ["xi", "yan", "zoe"]
        try:
            yield from gather(Note, senders)
        except ViolationError as error:
            senders.remove(error.party)
        return sorted((yield from gather(Note, senders)))

    programs = {
        "xi": send("bob", Note("x")),
        "yan": send("bob", Squared(1)),
        "zoe": send("bob", Note("z")),
    }
    assert converse({**programs, "bob": bob()}).results["bob"] == ["xi", "zoe"]


def test_a_resent_packet_is_ignored_and_a_changed_one_refused() -> None:
    outcome = converse(
        {"alice": asking(3), "bob": squaring()}, meddler=repeating(lambda packet: True)
    )
    assert outcome.results["alice"] == [9]

    def alter(packet: Packet) -> tuple[Packet, Packet]:
        return packet, msgspec.structs.replace(packet, body=Codec().encode(Square(8)))

    with pytest.raises(ViolationError, match="alice: bob expected message 0 as it came before"):
        converse(
            {"alice": asking(3), "bob": squaring()},
            meddler=Change(lambda packet: is_kind(packet, Square), alter),
        )


def test_messages_in_the_wrong_order_are_refused() -> None:
    def alice() -> Party[None]:
        yield Send("bob", Note("one"))
        yield Send("bob", Note("two"))

    def bob() -> Party[None]:
        yield from receive("alice", Note)
        yield from receive("alice", Note)

    with pytest.raises(ViolationError, match="alice: bob expected message 0, found message 1"):
        converse({"alice": alice(), "bob": bob()}, meddler=Swapping(lambda packet: True))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"session": b"other"}, "of this session, and this is of another"),
        ({"sender": "eve"}, "from 'alice' to 'bob', found one from 'eve' to 'bob'"),
        ({"recipient": "eve"}, "from 'alice' to 'bob', found one from 'alice' to 'eve'"),
        ({"number": 7}, "expected message 0, found message 7"),
        ({"number": -1}, "expected message 0, found message -1"),
        ({"body": b""}, "expected an array headed by its tag"),
        ({"body": b"\x91\xa4nope"}, "tag of a known kind, found 'nope'"),
        ({"body": b"\x92\xa6square\xa1x"}, "Square.value: expected int, found str"),
        ({"body": b"\x92\xa6square\xcd\x00\x05"}, "not the one encoding"),
    ],
)
def test_a_packet_that_is_not_what_it_should_be(change: dict[str, object], complaint: str) -> None:
    seat = Seat("bob", squaring(), partners=["alice"])
    seat.start()
    packet = Packet(b"", "alice", "bob", 0, Codec().encode(Square(1)))
    data = Codec().encode(msgspec.structs.replace(packet, **change))
    with pytest.raises((ViolationError, MalformedError), match=complaint) as caught:
        seat.deliver("alice", data)
    assert caught.value.party == "alice"


def test_a_value_that_does_not_survive_its_bytes_names_the_sender() -> None:
    with pytest.raises(MalformedError, match=r"alice: Note: Note.text: expected str, found int"):
        converse({"alice": send("bob", Note(5)), "bob": receive("alice", Note)})
    with pytest.raises(BoundError, match="Squared: an int of more than 64 bits") as caught:
        converse({"alice": send("bob", Squared(2**70)), "bob": receive("alice", Squared)})
    assert caught.value.__notes__ == ["in the program of 'alice'"]


def test_a_program_that_yields_nonsense_or_names_a_stranger() -> None:
    def nonsense() -> Party[None]:
        yield "hello"

    with pytest.raises(MisuseError, match="expected a program that yields actions, found str"):
        converse({"alice": nonsense()})
    for program in (send("eve", Note("x")), receive("eve", Note), gather(Note, ["eve"])):
        with pytest.raises(MisuseError, match="expected a partner of this session, found 'eve'"):
            converse({"alice": program})


def test_a_seat_knows_what_it_is_doing() -> None:
    seat = Seat("bob", gatherer("alice", "carol"), partners=["alice", "carol"])
    assert repr(seat) == "Seat('bob', has not started)"
    seat.start()
    assert seat.describe() == "gathers Note from 'alice', 'carol'"
    with pytest.raises(MisuseError, match="started already"):
        seat.start()
    with pytest.raises(MisuseError, match="no result yet, gathers Note"):
        _ = seat.result
    seat.leave("alice")
    assert seat.has_left("alice")
    seat.expire()
    assert seat.result == {}
    assert seat.describe() == "has finished"
    with pytest.raises(MisuseError, match="expected a program that gathers, has finished"):
        seat.expire()


@pytest.mark.parametrize("step", range(4))
def test_a_crash_at_any_step_leaves_what_was_sent_before(step: int) -> None:
    def alice() -> Party[None]:
        for index in range(4):
            yield Send("bob", Note(str(index)))

    def bob() -> Party[int]:
        count = 0
        try:
            while True:
                yield from receive("alice", Note)
                count += 1
        except AbsenceError:
            return count

    outcome = converse({"alice": alice(), "bob": bob()}, meddler=Crashing({"alice": step}))
    assert outcome.results == {"bob": step}


class Mixed(Message, frozen=True):
    discloses: ClassVar = NOTHING
    words: Words
    parts: tuple[Integers, ...]
    count: int


def test_a_view_flattens_to_numbers() -> None:
    def alice() -> Party[None]:
        words = Words.of(np.arange(4, dtype=np.uint64).reshape(2, 2))
        yield Send("bob", Mixed(words, (Integers.of([5, 6], modulus=97),), 3))
        yield Send("bob", Note("x"))

    def bob() -> Party[None]:
        yield from receive("alice", Mixed)
        yield from receive("alice", Note)

    view = converse({"alice": alice(), "bob": bob()}).views["bob"]
    assert view.words().tolist() == [0, 1, 2, 3]
    small = view.numbers(lambda leaf: np.array([leaf]) if isinstance(leaf, int) else None)
    assert small.tolist() == [3]
    assert repr(view.received[0].message) == "Mixed(words, parts, count)"
    assert Gather(Note, ("a",)).senders == ("a",)


def test_steps_that_follow_are_said_with_each_wait_and_change_nothing_else() -> None:
    def step() -> Party[str]:
        yield Send("bob", Note("hello"))
        try:
            first = yield from receive("bob", Note)
        except AbsenceError as error:
            return f"without {error.party}"
        notes = yield from gather(Note, ("bob", "carol"))
        return first.text + "".join(note.text for note in notes.values())

    def steps() -> Party[list[str]]:
        yield Receive("carol", (Note,))
        first = yield from ahead(1, step())
        second = yield from ahead(0, step())
        return [first, second]

    program = followed_by(10, steps())
    assert program.send(None).steps_left is None, "not counted yet"
    assert program.send(Note("ready")) == Send("bob", Note("hello"))
    waits = program.send(None)
    assert waits == Receive("bob", (Note,))
    assert waits.steps_left == 11
    assert program.send(Note("a")).steps_left == 11
    assert program.send({"bob": Note("b"), "carol": Note("c")}) == Send("bob", Note("hello"))
    assert program.send(None).steps_left == 10
    with pytest.raises(StopIteration) as ended:
        program.throw(AbsenceError("gone", party="bob"))
    assert ended.value.value == ["abc", "without bob"]
