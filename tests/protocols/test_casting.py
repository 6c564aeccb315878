"""A cast says which party plays which role, in what programs do and in what they report."""

import pytest

from harness.two_party import addressed
from sottovoce.errors import AbsenceError, InputError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.conversation import (
    COORDINATOR,
    EVALUATOR,
    KEY_HOLDER,
    Ask,
    Gather,
    Receive,
    Send,
)
from sottovoce.protocols.messages import Enough
from sottovoce.protocols.two_party.matrices import Fixed, MaskedRows

CAST = Cast(("alice", "bob"), coordinator="cate", evaluator="eve")


def test_roles_become_parties_in_every_action() -> None:
    asked = MaskedRows(addressed([1, 2], Scale(0, 4)))

    def program():
        yield Send(KEY_HOLDER, Enough())
        yield Ask(KEY_HOLDER, asked)
        yield Receive(EVALUATOR, (Fixed,))
        yield Send("alice", Enough())
        yield Gather(Fixed, ("alice", "bob"))
        return 7

    seated = CAST.seated(program())
    result = [next(seated), *(seated.send("answer") for _ in range(4))]
    with pytest.raises(StopIteration) as stop:
        seated.send("answer")
    assert stop.value.value == 7
    assert result == [
        Send("cate", Enough()),
        Ask("cate", asked),
        Receive("eve", (Fixed,)),
        Send("alice", Enough()),
        Gather(Fixed, ("alice", "bob")),
    ]


def test_answers_and_errors_reach_the_program_where_it_waits() -> None:
    def program():
        try:
            yield Receive(KEY_HOLDER, (Fixed,))
        except AbsenceError as error:
            return error.party
        raise AssertionError

    seated = CAST.seated(program())
    next(seated)
    with pytest.raises(StopIteration) as stop:
        seated.throw(AbsenceError("left", party="cate"))
    assert stop.value.value == "cate"


@pytest.mark.parametrize(
    ("role", "party"), [(KEY_HOLDER, "cate"), (EVALUATOR, "eve"), ("bob", "bob")]
)
def test_errors_name_the_party_and_not_its_role(role, party) -> None:
    def program():
        yield Receive(KEY_HOLDER, (Fixed,))
        raise ViolationError("expected something else", party=role)

    seated = CAST.seated(program())
    next(seated)
    with pytest.raises(ViolationError, match=f"^{party}: expected something else"):
        seated.send(Fixed())


def test_a_program_that_is_closed_is_closed_inside_too() -> None:
    closed = []

    def program():
        try:
            yield Receive(KEY_HOLDER, (Fixed,))
        finally:
            closed.append(True)

    seated = CAST.seated(program())
    next(seated)
    seated.close()
    assert closed == [True]


def test_the_usual_names_and_what_cannot_be() -> None:
    usual = Cast(("alice",))
    assert (usual.coordinator, usual.evaluator) == (COORDINATOR, EVALUATOR)
    with pytest.raises(InputError, match="an evaluator that does not hold the key") as caught:
        Cast(("alice",), coordinator="x", evaluator="x")
    assert "independent site" in caught.value.hints[0]
    with pytest.raises(InputError, match="every party in one role, found 'alice' twice"):
        Cast(("alice", "alice"))
