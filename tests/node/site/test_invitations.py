"""Invitations that are whole, and those that are not."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.errors import InputError, MisuseError
from sottovoce.node.invitations import Invitation
from sottovoce.node.phone_words import in_lines, in_words

SOON = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
TOKEN = bytes(range(32))
INVITATION = Invitation(
    "https://study.example:8443",
    b"\x07" * 32,
    "urgency-k3j4",
    "urgency of notes",
    "north",
    ("north", "evaluator"),
    TOKEN,
    SOON,
)


def test_a_line_is_read_back_and_is_one_word() -> None:
    line = INVITATION.line
    assert Invitation.parse(line) == INVITATION
    assert line.startswith("sottovoce-1-")
    assert line == line.lower()
    assert line.replace("-", "").isalnum()
    assert len(line) < 300


def test_mail_programs_break_and_quote_lines() -> None:
    line = INVITATION.line
    broken = f' "{line[:70]}\r\n  {line[70:140]}\n{line[140:]}" \n'
    assert Invitation.parse(broken) == INVITATION
    assert Invitation.parse(line.upper().replace("SOTTOVOCE", "sottovoce")) == INVITATION


def test_the_token_is_in_no_repr() -> None:
    assert TOKEN.hex() not in repr(INVITATION)
    assert "token=" not in repr(INVITATION)


@given(st.integers(min_value=0, max_value=len(INVITATION.line) - 1))
def test_one_that_is_cut_short_says_so(length: int) -> None:
    with pytest.raises(InputError, match=r"cut short|expected one line|expected version"):
        Invitation.parse(INVITATION.line[:length])


def test_the_last_character_is_written_in_one_way() -> None:
    line = INVITATION.line
    others = set("abcdefghijklmnopqrstuvwxyz234567") - {line[-1]}
    for character in others:
        with pytest.raises(InputError, match="damaged"):
            Invitation.parse(line[:-1] + character)


@given(
    st.integers(min_value=len("sottovoce-1-"), max_value=len(INVITATION.line) - 1),
    st.sampled_from("abcdefghijklmnopqrstuvwxyz234567019!"),
)
def test_a_changed_character_is_found(place: int, character: str) -> None:
    line = INVITATION.line
    if line[place] == character:
        return
    with pytest.raises(InputError, match=r"damaged|cut short|too long"):
        Invitation.parse(line[:place] + character + line[place + 1 :])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "expected one line that begins with sottovoce-1-, found 0"),
        ("hello", "found 5 characters that do not"),
        ("sottovoce-2-abc", "expected version 1, found version 2"),
        (INVITATION.line + "aaaa", "too long"),
        ("sottovoce-1-" + "a" * 9000, "expected one line"),
        ("sottovoce-1-", "cut short"),
    ],
)
def test_what_is_no_invitation_is_named(line: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        Invitation.parse(line)
    assert caught.value.hints


@given(st.binary(max_size=200))
def test_no_bytes_in_a_good_frame_crash(body: bytes) -> None:
    from base64 import b32encode

    from sottovoce.node.invitations import PREFIX, _checksum

    framed = len(body).to_bytes(2) + body + _checksum(body)
    with pytest.raises(InputError, match="not one of this version"):
        Invitation.parse(PREFIX + b32encode(framed).decode().rstrip("=").lower())


def test_an_expired_one_says_since_when() -> None:
    INVITATION.check_time(SOON)
    with pytest.raises(InputError, match=r"'north': .*expired on 2030-01-02 03:04 UTC") as caught:
        INVITATION.check_time(SOON + timedelta(seconds=1))
    assert "sottovoce study invite north" in caught.value.hints[0]


def test_words_are_those_of_the_list() -> None:
    # The example that the list's authors give.
    fingerprint = bytes.fromhex("E58294F2E9A227486E8B061B31CC528F")
    assert " ".join(in_words(fingerprint)) == (
        "topmost istanbul pluto vagabond treadmill pacific brackish dictator "
        "goldfish medusa afflict bravado chatter revolver dupont midsummer"
    )
    assert len(in_lines(in_words(fingerprint))) == 4
    with pytest.raises(MisuseError, match="expected at least 16 bytes, found 3"):
        in_words(b"abc")


def test_every_word_is_different() -> None:
    drawn = SeededEntropy(1).read(64)
    words = {word for byte in range(256) for word in in_words(bytes([byte, byte]), count=2)}
    assert len(words) == 512
    assert len(in_words(drawn)) == 16
