"""The time in which a server took no letters: counted once, and only while somebody tries."""

from sottovoce.course.held_time import RETRIED_SECONDS, HeldTime, ToldHeldTime


def test_the_time_from_a_refusal_until_the_letter_finds_room_counts() -> None:
    held = HeldTime().refused("north", 10.0).refused("north", 20.0)
    assert held.seconds(25.0) == 15.0
    after = held.took("north", 25.0)
    assert [after.seconds(now) for now in (25.0, 1000.0)] == [15.0, 15.0]
    again = after.refused("north", 1000.0)
    assert again.seconds(1005.0) == 20.0


def test_two_that_wait_at_once_wait_once_and_until_the_second_has_room() -> None:
    held = HeldTime().refused("north", 0.0).refused("harbour", 4.0)
    small = held.took("north", 6.0)
    assert small.seconds(9.0) == 9.0
    assert small.took("harbour", 9.0).seconds(50.0) == 9.0
    assert small.took("valley", 9.0) is small


def test_who_does_not_try_again_holds_nobody_back() -> None:
    held = HeldTime().refused("north", 0.0)
    assert held.seconds(10 * RETRIED_SECONDS) == RETRIED_SECONDS
    later = held.refused("harbour", 1000.0).took("harbour", 1001.0)
    assert later.seconds(5000.0) == RETRIED_SECONDS + 1


def test_a_server_is_believed_no_further_than_the_clock_has_moved() -> None:
    held_time = ToldHeldTime(100.0).heard(0.0, 110.0).heard(8.0, 110.5)
    assert held_time.believed == 8.0
    assert held_time.heard(10.0**9, 125.0).believed == 25.0
    # It began again, and its disk is still full.
    assert held_time.heard(2.0, 130.0).believed == 10.0
