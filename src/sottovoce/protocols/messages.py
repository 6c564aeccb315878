"""The messages of a conversation, each with its disclosure: who learns what from it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from sottovoce.errors import MalformedError, MisuseError
from sottovoce.wire import Value
from sottovoce.wire.tags import kebab


@dataclass(frozen=True)
class Disclosure:
    """What a message reveals, in words for a data protection officer.

    `seen_by` says who receives the message, `reveals` what the receiver could learn from it, and
    `assuming` what must hold for the receiver to learn no more than that.
    """

    seen_by: str
    reveals: str
    assuming: str

    def __post_init__(self) -> None:
        for name in ("seen_by", "reveals", "assuming"):
            if len(getattr(self, name).split()) < 2:
                raise MisuseError(f"disclosure: expected words in {name!r}, found too few")


_kinds: dict[str, type["Message"]] = {}


class Message(Value, frozen=True):
    """A value that one party sends to another; every kind declares its `Disclosure`.

        class MaskedSum(Message, frozen=True):
            discloses: ClassVar = Disclosure(seen_by=…, reveals=…, assuming=…)
            total: Words

    The tag on the wire is the name of the class (`masked-sum`), so no two kinds
    may have the same name. Defining a kind without a disclosure is an error.
    """

    discloses: ClassVar[Disclosure]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "never_sent_itself" in cls.__dict__:
            return
        if not isinstance(cls.__dict__.get("discloses"), Disclosure):
            raise MisuseError(
                f"{cls.__name__}: a message says who sees it, what it reveals, and what is assumed",
                hints=("discloses: ClassVar = Disclosure(seen_by=…, reveals=…, assuming=…)",),
            )
        tag = kebab(cls.__name__)
        known = _kinds.get(tag, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            owner = f"{known.__module__}.{known.__qualname__}"
            raise MisuseError(f"{cls.__name__}: the tag {tag!r} belongs to {owner}")
        _kinds[tag] = cls


A = TypeVar("A", bound=Message)


class Question(Message, Generic[A], frozen=True):
    """A message that has one kind of answer: `class Ping(Question[Pong], frozen=True)`."""

    never_sent_itself: ClassVar = True

    @classmethod
    def answer_kind(cls) -> type[Message]:
        """The kind of message that answers this question."""
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) is Question:
                answer = get_args(base)[0]
                if isinstance(answer, type) and issubclass(answer, Message):
                    return answer
        raise MisuseError(f"{cls.__name__}: expected Question[SomeAnswer] as its base")


class Enough(Message, frozen=True):
    """The asker has no more questions for the party that answers them."""

    discloses: ClassVar = Disclosure(
        seen_by="the party that answered, such as the key holder",
        reveals="that the asker has no more questions in this session",
        assuming="the number of questions depends on public numbers only",
    )


def kind_of(tag: str) -> type[Message]:
    """The kind of message with this tag, or `MalformedError`."""
    try:
        return _kinds[tag]
    except KeyError:
        raise MalformedError(f"message: expected the tag of a known kind, found {tag!r}") from None


def message_kinds() -> tuple[type[Message], ...]:
    """Every kind of message that the imported protocols of Sottovoce can send, by tag."""
    return tuple(
        kind for _, kind in sorted(_kinds.items()) if kind.__module__.startswith("sottovoce.")
    )


def disclosure_table() -> str:
    """Every kind of message with who sees it, what it reveals, and what is assumed (Markdown)."""
    rows = ["| message | seen by | reveals | assuming |", "|---|---|---|---|"]
    rows += [
        f"| `{kebab(kind.__name__)}` | {kind.discloses.seen_by} | {kind.discloses.reveals} "
        f"| {kind.discloses.assuming} |"
        for kind in message_kinds()
    ]
    return "\n".join(rows) + "\n"
