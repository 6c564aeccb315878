"""Passphrases: from a prompt, a file or a descriptor; never from arguments or the environment."""

import getpass
import os
import stat
import unicodedata
import warnings
from pathlib import Path
from shlex import quote
from typing import NoReturn, Self

from sottovoce.errors import InputError, MisuseError, OpenPermissionsError
from sottovoce.keyfiles import unix
from sottovoce.keyfiles.storage import OTHERS, read_bounded

# Counted when a passphrase is chosen, not when it is used.
MIN_CHARACTERS = 12
MAX_BYTES = 1024
_MAX_LINE = MAX_BYTES + len("\r\n")


class Passphrase:
    """A passphrase, which no message, log or repr shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep `text` in Unicode's composed form, so that every keyboard types the same bytes."""
        self._text = unicodedata.normalize("NFC", text)
        if not self._text:
            raise InputError("passphrase: it is empty")
        try:
            length = len(self._text.encode())
        except UnicodeEncodeError:
            # What a terminal sends that is not UTF-8 arrives as half characters.
            raise InputError("passphrase: it is no UTF-8 text") from None
        if length > MAX_BYTES:
            raise InputError(f"passphrase: expected at most {MAX_BYTES} bytes, found more")
        if any(unicodedata.category(character) == "Cc" for character in self._text):
            raise InputError("passphrase: expected one line of text, without control characters")

    def chosen(self) -> Self:
        """This passphrase, if it is long enough to be chosen for a new key."""
        if len(self._text) < MIN_CHARACTERS:
            raise InputError(
                f"passphrase: expected at least {MIN_CHARACTERS} characters, "
                f"found {len(self._text)}",
                hints=("four or five unrelated words are strong and easy to remember",),
            )
        return self

    def encoded(self) -> bytes:
        """The bytes from which a key is derived."""
        return self._text.encode()

    @classmethod
    def asked(cls, prompt: str) -> Self:
        """Typed at the terminal, unseen."""
        with warnings.catch_warnings():
            # Without a terminal getpass would read visibly from standard input: never that.
            warnings.simplefilter("error", getpass.GetPassWarning)
            try:
                return cls(getpass.getpass(f"{prompt}: "))
            except (getpass.GetPassWarning, EOFError):
                raise InputError(
                    "passphrase: no terminal to ask at",
                    hints=("give --passphrase-file FILE or --passphrase-fd NUMBER",),
                ) from None

    @classmethod
    def asked_twice(cls, prompt: str) -> Self:
        """Typed at the terminal and once more, so that a slip of the finger loses no key."""
        first = cls.asked(prompt).chosen()
        if cls.asked("the same again").encoded() != first.encoded():
            raise InputError("passphrase: the two that were typed differ", hints=("try again",))
        return first

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """The one line of a file that nobody else can read."""
        try:
            descriptor = os.open(path, os.O_RDONLY | unix.CLOEXEC)
        except OSError as error:
            raise InputError(f"passphrase file {path}: {_reason(error)}") from None
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISREG(mode) and mode & OTHERS:
                raise OpenPermissionsError(
                    f"passphrase file {path}: other users of this machine can read it",
                    hints=(f"chmod 600 {quote(str(path))}",),
                )
            return cls._line(descriptor, f"passphrase file {path}")
        finally:
            os.close(descriptor)

    @classmethod
    def from_descriptor(cls, descriptor: int) -> Self:
        """The one line that a caller wrote to a pipe, which is read to its end."""
        return cls._line(descriptor, f"passphrase descriptor {descriptor}")

    @classmethod
    def _line(cls, descriptor: int, what: str) -> Self:
        try:
            data = read_bounded(descriptor, _MAX_LINE)
        except OSError as error:
            raise InputError(f"{what}: {_reason(error)}") from None
        if len(data) > _MAX_LINE:
            raise InputError(f"{what}: expected at most {MAX_BYTES} bytes, found more")
        try:
            return cls(data.decode().removesuffix("\n").removesuffix("\r"))
        except UnicodeDecodeError:
            raise InputError(f"{what}: it is no UTF-8 text") from None
        except InputError as error:
            raise InputError(f"{what}: {error.message}", hints=error.hints) from None

    def __repr__(self) -> str:
        return "Passphrase(<secret>)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise MisuseError("passphrase: never pickled")


def _reason(error: OSError) -> str:
    return (error.strerror or "cannot be read").lower()
