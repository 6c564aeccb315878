"""Readers for the types that may travel; each is made once and accepts what its type accepts."""

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from sottovoce.errors import MisuseError
from sottovoce.wire.printable import unprintable_in
from sottovoce.wire.values import Blob, Value

Reader: TypeAlias = Callable[[Any], Any]
_LEAVES = (int, bool, str, bytes, NoneType)


@cache
def _hints(kind: type[Value]) -> dict[str, Any]:
    """The types of a record's fields: the same for every codec, and slow to work out."""
    return get_type_hints(kind)


class Readers:
    """Readers from plain msgpack items (lists and leaves) to values, by type.

    A reader accepts exactly its type: True is no int, and nothing is converted. It raises
    `ValueError` that says where, what was expected and what was found.
    """

    def __init__(self, hooks: Mapping[type, tuple[type[Value], Reader]]) -> None:
        """Hold, for each type of a layer above, the `Value` that stands for it and its reader."""
        self._hooks = hooks
        self._records: dict[type[Value], Reader] = {}

    def of(self, kind: type[Value]) -> Reader:
        """The reader of a record; raises `MisuseError` if one of its fields may not travel."""
        if kind not in self._records:
            fields: list[Reader] = []
            # Known before its fields are, so that a record may contain its own kind.
            self._records[kind] = _record(kind, fields)
            hints = _hints(kind)
            try:
                fields += [
                    self._field(hints[name], f"{kind.__name__}.{name}")
                    for name in kind.__struct_fields__
                ]
            except MisuseError:
                del self._records[kind]
                raise
        return self._records[kind]

    def _field(self, hint: Any, where: str) -> Reader:
        if hint == Blob:
            return _blob(where)
        if hint in _LEAVES:
            return _leaf(hint, where)
        if isinstance(hint, type) and hint in self._hooks:
            form, decode = self._hooks[hint]
            read = self.of(form)
            return lambda item: decode(read(item))
        if isinstance(hint, type) and issubclass(hint, Value):
            return self.of(hint)
        return self._composed(hint, where)

    def _composed(self, hint: Any, where: str) -> Reader:
        origin, options = get_origin(hint), get_args(hint)
        if origin is Literal and all(type(option) in _LEAVES for option in options):
            return _literal(options, where)
        if origin is tuple and options[-1:] == (...,):
            return _row(self._field(options[0], where), where)
        if origin is tuple:
            return _tuple([self._field(option, where) for option in options], where)
        if origin in {Union, UnionType}:
            return self._union(options, where)
        raise MisuseError(
            f"{where}: expected a type that may travel, found {getattr(hint, '__name__', hint)}",
            hints=("a type of a layer above needs a hook: Codec(hooks=(Hook(...),))",),
        )

    def _union(self, options: tuple[Any, ...], where: str) -> Reader:
        """Records are told apart by their tags, leaves by their types."""
        by_key: dict[Any, Reader] = {}
        for option in options:
            record = self._hooks[option][0] if option in self._hooks else option
            is_record = isinstance(record, type) and issubclass(record, Value)
            key = record.__struct_config__.tag if is_record else option
            if not is_record and option not in _LEAVES:
                raise MisuseError(f"{where}: expected records and leaves in a union")
            if key in by_key:
                raise MisuseError(f"{where}: two options of the union look the same")
            by_key[key] = self._field(option, where)

        def read(item: Any) -> Any:
            key = item[0] if type(item) is list and item else type(item)
            key = bytes if key is memoryview else key
            chosen = by_key.get(key) if isinstance(key, str | type) else None
            if chosen is None:
                raise ValueError(f"{where}: expected one of {len(by_key)} types, found none")
            return chosen(item)

        return read


def _record(kind: type[Value], fields: list[Reader]) -> Reader:
    tag = kind.__struct_config__.tag

    def read(item: Any) -> Value:
        if type(item) is not list:
            raise ValueError(f"{kind.__name__}: expected a record, found {_name(item)}")
        if item[:1] != [tag]:
            raise ValueError(f"{kind.__name__}: expected the tag {tag!r}, found another")
        if len(item) != len(fields) + 1:
            raise ValueError(
                f"{kind.__name__}: expected {len(fields)} fields, found {len(item) - 1}"
            )
        return kind(*(field(part) for field, part in zip(fields, item[1:], strict=True)))

    return read


def _blob(where: str) -> Reader:
    def read(item: Any) -> Any:
        if type(item) not in {bytes, memoryview}:
            raise ValueError(f"{where}: expected bytes, found {_name(item)}")
        return item

    return read


def _leaf(kind: type, where: str) -> Reader:
    def read(item: Any) -> Any:
        if type(item) is memoryview:
            item = bytes(item)
        if type(item) is not kind:
            raise ValueError(f"{where}: expected {kind.__name__}, found {_name(item)}")
        if isinstance(item, str) and (unprintable := unprintable_in(item)):
            # What a party sends may reach a screen or a log of another.
            raise ValueError(f"{where}: expected printable characters, found {unprintable}")
        return item

    return read


def _literal(options: tuple[Any, ...], where: str) -> Reader:
    def read(item: Any) -> Any:
        if (type(item), item) not in {(type(option), option) for option in options}:
            raise ValueError(f"{where}: expected one of {options}, found another value")
        return item

    return read


def _row(part: Reader, where: str) -> Reader:
    def read(item: Any) -> tuple[Any, ...]:
        if type(item) is not list:
            raise ValueError(f"{where}: expected a row, found {_name(item)}")
        return tuple(map(part, item))

    return read


def _tuple(parts: list[Reader], where: str) -> Reader:
    def read(item: Any) -> tuple[Any, ...]:
        if type(item) is not list or len(item) != len(parts):
            raise ValueError(f"{where}: expected {len(parts)} items, found another number")
        return tuple(part(value) for part, value in zip(parts, item, strict=True))

    return read


def _name(item: Any) -> str:
    return "a row" if type(item) is list else type(item).__name__
