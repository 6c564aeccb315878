"""Passphrases: where they may come from, and that nothing shows them."""

import copy
import getpass
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sottovoce.errors import InputError, MisuseError, OpenPermissionsError
from sottovoce.keyfiles.passphrase import Passphrase

WORDS = "seven quiet owls read"


def piped(data: bytes) -> int:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


@pytest.fixture
def descriptor() -> Iterator[Callable[[bytes], int]]:
    opened: list[int] = []

    def make(data: bytes) -> int:
        opened.append(piped(data))
        return opened[-1]

    yield make
    for reader in opened:
        os.close(reader)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person will type, one entry per prompt."""
    lines: list[str] = []
    monkeypatch.setattr(getpass, "getpass", lambda prompt: lines.pop(0))
    return lines


def test_nothing_shows_it() -> None:
    secret = Passphrase(WORDS)
    assert WORDS not in repr(secret) + str(secret) + f"{secret}"
    with pytest.raises(MisuseError, match="never pickled"):
        pickle.dumps(secret)
    with pytest.raises(MisuseError, match="never pickled"):
        copy.copy(secret)


def test_one_passphrase_typed_on_two_keyboards_is_the_same() -> None:
    assert Passphrase("caf\u00e9 au lait").encoded() == Passphrase("cafe\u0301 au lait").encoded()


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_file_or_a_descriptor_holds_one_line(
    tmp_path: Path, descriptor: Callable[[bytes], int], end: bytes
) -> None:
    path = tmp_path / "words"
    path.write_bytes(WORDS.encode() + end)
    path.chmod(0o600)
    assert Passphrase.from_file(path).encoded() == WORDS.encode()
    assert Passphrase.from_descriptor(descriptor(WORDS.encode() + end)).encoded() == WORDS.encode()


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "passphrase: it is empty"),
        (b"\n", "passphrase: it is empty"),
        (b"one\ntwo\n", "expected one line of text, without control characters"),
        (b"a\0b", "expected one line of text, without control characters"),
        (b"\xff\xfe", "it is no UTF-8 text"),
        (b"x" * 1025, "expected at most 1024 bytes, found more"),
        (b"x" * 5000, "expected at most 1024 bytes, found more"),
        ("é".encode() * 1024, "expected at most 1024 bytes, found more"),
    ],
)
def test_bad_lines_are_refused(
    tmp_path: Path, descriptor: Callable[[bytes], int], data: bytes, match: str
) -> None:
    path = tmp_path / "words"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(InputError, match=f"passphrase file .*words: .*{match}"):
        Passphrase.from_file(path)
    with pytest.raises(InputError, match=rf"passphrase descriptor \d+: .*{match}"):
        Passphrase.from_descriptor(descriptor(data))


def test_half_characters_from_a_terminal_are_refused() -> None:
    with pytest.raises(InputError, match="it is no UTF-8 text"):
        Passphrase("caf\udce9 au lait")


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text(WORDS)
    path.chmod(0o640)
    with pytest.raises(OpenPermissionsError, match="other users of this machine can read it") as no:
        Passphrase.from_file(path)
    assert no.value.hints == (f"chmod 600 {path}",)


def test_what_cannot_be_read_is_named(tmp_path: Path, descriptor: Callable[[bytes], int]) -> None:
    with pytest.raises(InputError, match="nothing: no such file or directory"):
        Passphrase.from_file(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a directory"):
        Passphrase.from_file(tmp_path)
    with pytest.raises(InputError, match="passphrase descriptor 987: bad file descriptor"):
        Passphrase.from_descriptor(987)


def test_a_new_one_is_long_enough(typed: list[str]) -> None:
    with pytest.raises(InputError, match="expected at least 12 characters, found 11"):
        Passphrase("elevenchars").chosen()
    assert Passphrase("twelve chars").chosen().encoded() == b"twelve chars"
    typed += ["short"]
    with pytest.raises(InputError, match="expected at least 12 characters, found 5"):
        Passphrase.asked_twice("new passphrase")


def test_a_new_one_is_typed_twice(typed: list[str]) -> None:
    typed += [WORDS, WORDS]
    assert Passphrase.asked_twice("new passphrase").encoded() == WORDS.encode()
    typed += [WORDS, WORDS + "y"]
    with pytest.raises(InputError, match="the two that were typed differ"):
        Passphrase.asked_twice("new passphrase")


def test_without_a_terminal_nothing_is_read_in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(prompt: str) -> str:
        import warnings

        warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=2)
        return WORDS

    monkeypatch.setattr(getpass, "getpass", warn)
    with pytest.raises(InputError, match="no terminal to ask at") as refused:
        Passphrase.asked("passphrase")
    assert "--passphrase-file" in refused.value.hints[0]
