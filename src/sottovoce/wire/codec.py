"""From a value to its bytes and back, refusing every second way to write the same thing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from sottovoce.errors import BoundError, MalformedError, MisuseError, SottovoceError
from sottovoce.wire.readers import Readers
from sottovoce.wire.skeleton import MAX_ITEMS, LongBytes, check_skeleton
from sottovoce.wire.values import Value

V = TypeVar("V", bound=Value)
T = TypeVar("T")
F = TypeVar("F", bound=Value)

# Half a second moment of 2,048 features is 17 MB, a table of counts by class about 25 MB.
DEFAULT_LIMIT = 64 * 2**20

_LEAVES = (int, bool, str, bytes, memoryview, type(None))
# Stands for long bytes while the rest is decoded; no message has an extension, so none looks alike.
_ELSEWHERE = b"\xd6\x00"
# Bytes from here on are not copied before they are joined with the rest.
_LONG = 2**10

# The readers of all codecs without hooks.
_PLAIN = Readers({})


@dataclass(frozen=True)
class Hook(Generic[T, F]):
    """The form in which a type of a layer above travels: a `Value` that stands for it.

    `decode` may hold what the bytes do not carry (the public key of a
    ciphertext) and raises `MalformedError` for what cannot be such a thing.
    Only values of exactly this type travel, not those of a subclass.
    """

    kind: type[T]
    form: type[F]
    encode: Callable[[T], F]
    decode: Callable[[F], T]


class Codec:
    """Encodes and decodes values of any `Value` type, within a size limit."""

    def __init__(self, hooks: Iterable[Hook[Any, Any]] = (), *, limit: int = DEFAULT_LIMIT) -> None:
        """Hold the hooks of the layers above, and the largest message in bytes."""
        self.limit = limit
        self._hooks = {hook.kind: hook for hook in hooks}
        forms = {hook.kind: (hook.form, _strictly(hook)) for hook in self._hooks.values()}
        self._readers = Readers(forms) if forms else _PLAIN

    def encode(self, value: Value) -> bytes:
        """The one encoding of `value`."""
        self._readers.of(type(value))
        data = self._write(value)
        if len(data) > self.limit:
            raise BoundError(
                f"{type(value).__name__}: expected at most {self.limit} bytes, found {len(data)}"
            )
        if len(data) > MAX_ITEMS:  # every item takes a byte: only then there could be too many
            try:
                check_skeleton(data)
            except MalformedError as error:
                reason = error.message.removeprefix("message: ")
                raise BoundError(f"{type(value).__name__}: {reason}") from None
        return data

    def decode(self, data: bytes, kind: type[V]) -> V:
        """The value of type `kind` that `data` encodes; anything else is a `MalformedError`."""
        if len(data) > self.limit:
            raise MalformedError(f"message: expected at most {self.limit} bytes, found {len(data)}")
        read = self._readers.of(kind)
        long = check_skeleton(data, kind.__name__)
        try:
            value = read(_unpacked(data, long))
        except MalformedError:
            raise
        except (SottovoceError, ValueError, TypeError, ArithmeticError, LookupError) as error:
            raise MalformedError(f"{kind.__name__}: {error}") from error
        assert isinstance(value, kind)
        return value

    def _write(self, value: Value) -> bytes:
        pieces: list[bytes | memoryview] = []
        try:
            _add_pieces(self._plain(value), pieces)
        except OverflowError as error:
            raise BoundError(
                f"{type(value).__name__}: an int of more than 64 bits travels as Integers"
            ) from error
        return b"".join(pieces)

    def _plain(self, item: Any) -> Any:
        """The item as lists and plain values, so that msgpack has only one way to write it."""
        kind = type(item)
        if kind in _LEAVES:
            return item
        if kind is tuple:
            return [self._plain(part) for part in item]
        if kind in self._hooks:
            return self._plain(self._hooks[kind].encode(item))
        if isinstance(item, Value):
            parts = [getattr(item, name) for name in item.__struct_fields__]
            return [kind.__struct_config__.tag, *map(self._plain, parts)]
        raise MisuseError(f"{kind.__name__}: a value of this type has no encoding")


def _strictly(hook: Hook[T, F]) -> Callable[[F], T]:
    """The hook's `decode`, which refuses what it would not write in the same way."""

    def decode(form: F) -> T:
        value = hook.decode(form)
        if hook.encode(value) != form:
            raise MalformedError(f"{hook.kind.__name__}: not the one encoding of its value")
        return value

    return decode


def _add_pieces(item: Any, pieces: list[bytes | memoryview]) -> None:
    """Append msgpack's bytes for an item, in pieces; long ones are copied when these are joined."""
    if type(item) is list:
        count = len(item)
        pieces.append(bytes([0x90 | count]) if count < 16 else _counted(0xDC, count))
        for part in item:
            _add_pieces(part, pieces)
    elif type(item) in {bytes, memoryview} and len(item) >= _LONG:
        pieces += [_counted(0xC5, len(item)), item]
    else:
        pieces.append(msgspec.msgpack.encode(item))


def _unpacked(data: bytes, long: list[LongBytes]) -> Any:
    """The items of a message as lists and leaves; long bytes are views of it, not copies."""
    if not long:
        return msgspec.msgpack.decode(data)
    whole = memoryview(data).toreadonly()
    pieces: list[bytes | memoryview] = []
    end = 0
    for number, place in enumerate(long):
        pieces += [whole[end : place.header], _ELSEWHERE, number.to_bytes(4)]
        end = place.end
    pieces.append(whole[end:])

    def blob(_: int, number: memoryview) -> memoryview:
        place = long[int.from_bytes(number)]
        return whole[place.start : place.end]

    return msgspec.msgpack.decode(b"".join(pieces), ext_hook=blob)


def _counted(first: int, count: int) -> bytes:
    """A header with a length of two bytes, or of four where these are too few."""
    short = count < 2**16
    return bytes([first if short else first + 1]) + count.to_bytes(2 if short else 4)


def tag_of(data: bytes) -> str:
    """The tag that heads an encoded value, before anything else of it is believed."""
    if len(data) < 2 or not 0x91 <= data[0] <= 0x9F or not 0xA1 <= data[1] <= 0xBF:
        raise MalformedError("message: expected an array headed by its tag")
    try:
        return data[2 : 2 + (data[1] & 0x1F)].decode("ascii")
    except UnicodeDecodeError as error:
        raise MalformedError("message: expected a tag in ascii") from error
