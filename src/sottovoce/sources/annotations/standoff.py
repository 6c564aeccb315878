"""The lines of a BRAT `.ann` file, checked against the text that they annotate.

    T1 <tab> Type start end[;start end…] <tab> covered text      an entity
    E1 <tab> Type:T1 Role:T2 …                                   an event
    R1 <tab> Type Arg1:T1 Arg2:T2                                a relation
    *  <tab> Type T1 T2 …                                        an equivalence
    A1 <tab> Type T1 [value]      (M1 in older files)            an attribute
    N1 <tab> Reference T1 resource:entry <tab> words             a normalization
    #1 <tab> Type T1 <tab> words                                 a note

Offsets count code points. Only an unusable line itself is left out: lines that refer to it by name
stay.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sottovoce.sources.annotations.offsets import Mention, TextFrame, best_frame
from sottovoce.sources.lines import Flaw
from sottovoce.sources.problems import ProblemKind
from sottovoce.text.documents import Fragment, Span


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an event or a relation: its role, and the name of what has that role."""

    role: str
    target: str


@dataclass(frozen=True, slots=True)
class BratEvent:
    """E: an event, triggered by an entity."""

    name: str
    type: str
    trigger: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """R: two things and their relation."""

    name: str
    type: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """*: things that are the same or belong together, without an order."""

    type: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A or M: a mark on an annotation, with or without a value."""

    name: str
    type: str
    target: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Normalization:
    """N: the entry of a terminology that an entity stands for."""

    name: str
    type: str
    target: str
    resource: str
    entry: str


@dataclass(frozen=True, slots=True)
class BratNote:
    """#: an annotator's note about something, kept as text."""

    name: str
    type: str
    target: str
    words: str


Other = BratEvent | Relation | Equivalence | Attribute | Normalization | BratNote


class NumberedFlaw(NamedTuple):
    """A flaw, and the number of its line."""

    line: int
    flaw: Flaw


@dataclass(frozen=True, slots=True)
class Annotations:
    """The usable annotations of an `.ann` file, and the flaws of the other lines."""

    spans: tuple[Span, ...] = ()
    others: tuple[Other, ...] = ()
    flaws: tuple[NumberedFlaw, ...] = ()
    frame: TextFrame = field(default_factory=lambda: TextFrame(""))


class _BrokenError(Exception):
    """A line that does not have the form that its first letter requires."""


_ENTITY = re.compile(r"(\S+) (\d+ \d+(?:;\d+ \d+)*)")
_NAME = re.compile(r"[A-Z#]\d{0,9}|\*", re.ASCII)
_ARGUMENT = re.compile(r"([^\s:]+):(\S+)")


def parse(lines: Iterable[tuple[int, str]], text: TextFrame) -> Annotations:
    """Read numbered lines (without their endings) that annotate `text`."""
    mentions: list[Mention] = []
    others: list[tuple[int, Other]] = []
    flaws: list[NumberedFlaw] = []
    names: dict[str, int] = {}
    for number, line in lines:
        if not line.strip():
            continue
        name = line.partition("\t")[0]
        try:
            _claim(name, number, names)
            annotation = _parse_line(number, name, line)
        except _BrokenError as error:
            flaws.append(NumberedFlaw(number, Flaw(ProblemKind.MALFORMED_ANNOTATION, str(error))))
            continue
        if isinstance(annotation, Mention):
            mentions.append(annotation)
        else:
            others.append((number, annotation))
    frame = best_frame(text, mentions)
    spans = tuple(_spans(mentions, frame, flaws))
    kept = tuple(_resolved(others, names, flaws))
    return Annotations(spans, kept, tuple(sorted(flaws)), frame)


def _called(name: str) -> str:
    """Return a line's name for a message; a name unlike T1 is hidden, because it may be text."""
    return name if _NAME.fullmatch(name) else "as stands there"


def _quoted(name: str) -> str:
    return repr(name) if _NAME.fullmatch(name) else "another name"


def _claim(name: str, number: int, names: dict[str, int]) -> None:
    """Refuse a name that is taken; `*` is not a name, and notes need no name of their own."""
    if name in {"*", "#"}:
        return
    if names.setdefault(name, number) != number:
        raise _BrokenError(f"{_quoted(name)} stands on line {names[name]} already")


def _parse_line(number: int, name: str, line: str) -> Mention | Other:
    kind = name[:1]
    if name not in {"*", "#"} and not name[1:]:
        raise _BrokenError(f"expected a name such as T1, found {_quoted(name)}")
    fields = line.split("\t", 2)
    if len(fields) < 2 or kind not in _PARSERS:
        raise _BrokenError(
            "expected T, E, R, A, M, N, * or # and a tab behind the name, found another line"
        )
    if kind == "T":
        return _entity(number, name, fields)
    return _PARSERS[kind](name, fields)


def _entity(number: int, name: str, fields: list[str]) -> Mention:
    match = _ENTITY.fullmatch(fields[1])
    if not match or len(fields) < 3:
        raise _BrokenError(
            f"{_called(name)}: expected 'type start end' and the covered text, tabs between"
        )
    pairs = tuple(tuple(map(int, pair.split(" "))) for pair in match[2].split(";"))
    for start, end in pairs:
        if start >= end:
            raise _BrokenError(
                f"{_called(name)}: expected start before end, found {start} and {end}"
            )
    return Mention(number, name, match[1], tuple((s, e) for s, e in pairs), fields[2])


def _event(name: str, fields: list[str]) -> BratEvent:
    first, *rest = _arguments(name, fields[1])
    return BratEvent(name, first.role, first.target, tuple(rest))


def _relation(name: str, fields: list[str]) -> Relation:
    kind, _, rest = fields[1].partition(" ")
    arguments = _arguments(name, rest)
    if not kind or len(arguments) < 2:
        raise _BrokenError(f"{_called(name)}: expected a type and two arguments")
    return Relation(name, kind, tuple(arguments))


def _arguments(name: str, words: str) -> list[Argument]:
    arguments = []
    for part in words.split():
        match = _ARGUMENT.fullmatch(part)
        if not match:
            raise _BrokenError(f"{_called(name)}: expected role:name, found words without a colon")
        arguments.append(Argument(match[1], match[2]))
    if not arguments:
        raise _BrokenError(f"{_called(name)}: expected role:name behind it")
    return arguments


def _equivalence(_: str, fields: list[str]) -> Equivalence:
    kind, *members = fields[1].split() or [""]
    if len(members) < 2:
        raise _BrokenError(f"*: expected a type and two names or more, found {len(members)}")
    return Equivalence(kind, tuple(members))


def _attribute(name: str, fields: list[str]) -> Attribute:
    parts = fields[1].split()
    if not 2 <= len(parts) <= 3:
        raise _BrokenError(f"{_called(name)}: expected a type, a name and at most one value")
    return Attribute(name, parts[0], parts[1], parts[2] if len(parts) == 3 else None)


def _normalization(name: str, fields: list[str]) -> Normalization:
    parts = fields[1].split()
    if len(parts) != 3 or ":" not in parts[2]:
        raise _BrokenError(f"{_called(name)}: expected a type, a name and resource:entry")
    resource, _, entry = parts[2].partition(":")
    return Normalization(name, parts[0], parts[1], resource, entry)


def _note(name: str, fields: list[str]) -> BratNote:
    parts = fields[1].split()
    if len(parts) != 2:
        raise _BrokenError(f"{_called(name)}: expected a type and a name")
    return BratNote(name, parts[0], parts[1], fields[2] if len(fields) == 3 else "")


def _never(name: str, _: list[str]) -> Other:
    raise AssertionError(name)


_PARSERS: dict[str, Callable[[str, list[str]], Other]] = {
    "T": _never,
    "E": _event,
    "R": _relation,
    "*": _equivalence,
    "A": _attribute,
    "M": _attribute,
    "N": _normalization,
    "#": _note,
}


def _spans(
    mentions: Iterable[Mention], frame: TextFrame, flaws: list[NumberedFlaw]
) -> Iterator[Span]:
    for mention in mentions:
        reason = frame.mismatch(mention)
        if reason:
            flaw = Flaw(ProblemKind.WRONG_OFFSET, f"{_called(mention.name)}: {reason}")
            flaws.append(NumberedFlaw(mention.line, flaw))
        else:
            fragments = tuple(sorted(Fragment(s, e) for s, e in mention.places))
            yield Span(mention.type, fragments, mention.name)


def _resolved(
    others: Iterable[tuple[int, Other]], names: dict[str, int], flaws: list[NumberedFlaw]
) -> Iterator[Other]:
    """Yield the annotations whose references stand in the file."""
    for number, other in others:
        missing = next((name for name in _targets(other) if name not in names), None)
        if missing is None:
            yield other
        else:
            words = f"expected a line that is named {_quoted(missing)}, found none"
            flaws.append(NumberedFlaw(number, Flaw(ProblemKind.DANGLING, words)))


def _targets(other: Other) -> tuple[str, ...]:
    match other:
        case BratEvent(trigger=trigger, arguments=arguments):
            return (trigger, *(argument.target for argument in arguments))
        case Relation(arguments=arguments):
            return tuple(argument.target for argument in arguments)
        case Equivalence(members=members):
            return members
        case Attribute(target=target) | Normalization(target=target) | BratNote(target=target):
            return (target,)
