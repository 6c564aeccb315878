"""The widths of a row's blocks for `features = "auto"`, by public rules.

The rules were measured on corpora (docs/accuracy.md). They use only numbers of the plan, or numbers
that its author knows: how many classes there are, about how many documents, and how long.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sottovoce.errors import InputError
from sottovoce.hints import PlanSetting
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.study.setting_kinds import number, numbers, whole
from sottovoce.text.blocks import WORDS_ALONE, Blocks
from sottovoce.text.encoding import EncoderName
from sottovoce.text.reading import Level, NGrams

AUTO = "auto"
WORDS = (1, 2)
CHARACTERS = (3, 5)
LETTERS = 7
BESIDE = tuple(setting.name for setting in fields(Blocks) if setting.name != "own_scores")
"""The settings of the blocks beside the words, by name."""

# Of these a study may choose one of several numbers.
_LISTS = frozenset({"kernel_weight", "kernel_width", "own_weight"})

_NUMBERS = frozenset({"tail_idf", "encoder_weight", *_LISTS})

FEATURES = 2048
# The numbers of words and of tail columns for few classes and enough documents.
_WIDE, _WIDE_TAIL = 4096, 1024
_ENOUGH_DOCUMENTS = 1024
# Engine paillier solves on ciphertexts, at most 128 columns.
_FEW_FEATURES = 128
# The most classes that count as few; with more classes a row needs more columns.
_MANY_CLASSES = 32
# With more words a tail weighs less, because it has nearly all words of long documents.
_LIGHT_TAIL: Mapping[str, Any] = {"tail_idf": 2.0}
# Of documents of so many words, pairs and stretches of characters would fill the tail with noise.
LONG_TEXT = 100
_LONG_TEXT_TAIL: Mapping[str, Any] = {**_LIGHT_TAIL, "tail_of": WORDS_ALONE}
# So many of these tell enough words, and need no stretches of characters; fewer do. Instead the
# first letters of a word count: these are in more documents than each of its endings.
_ENOUGH_LONG_TEXTS = 2048
# So many classes of them are told apart by rare words: pairs of words would take their columns.
_MANY_TOPICS = 10
_TOPICS_TAIL: Mapping[str, Any] = {"tail_idf": 5.0, "tail_of": WORDS_ALONE}
# The mean of so many tokens says less of opinions than the words do.
_LIGHT_VECTOR: Mapping[str, Any] = {"encoder_weight": 0.5}
# A tail wider than this many times the documents does not distinguish more words.
_TAIL_PER_DOCUMENT = 2
_NARROWEST_TAIL = 256
# Ridge's penalty on unit rows; with a wide tail it is twice as large.
_PENALTY = 1.0
_STRONG_PENALTY = 2.0
# With kernel columns it is half as large.
_LIGHT_PENALTY = 0.5
# The number of documents to hold out: enough to judge the model.
_JUDGED_DOCUMENTS = 100
_LEAST_HELD_OUT, _FEW_HELD_OUT, _MOST_HELD_OUT = 0.05, 0.1, 0.2
# Fewer held-out documents than this say little, so a small study holds out a larger share.
_FEWEST_JUDGED = 40
# With many classes kernel columns are narrow and heavy; with few classes these would overfit.
_KERNEL: Mapping[str, Any] = {"kernel": 2048, "kernel_weight": 2.0, "kernel_width": 1.0}


@dataclass(frozen=True)
class Circumstances:
    """The facts that the rules may use; without a number of `documents`, many are assumed.

    `words` is how many words, between spaces, a document has on average; unknown, they are few.
    """

    classes: int
    level: Level = Level.DOCUMENT
    dictionary: DictionaryKind = DictionaryKind.JOINT
    engine: Engine = Engine.AUTO
    documents: int | None = None
    words: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("documents", self.documents), ("words_per_document", self.words)):
            if value is not None and value < 0:
                raise InputError(
                    f"expected at least 0, found {value:g}",
                    hints=(PlanSetting(name, 500),),
                    place=name,
                    setting=name,
                )

    @property
    def chooses(self) -> bool:
        """Whether words are selected from text; otherwise there is nothing to choose."""
        return self.dictionary is DictionaryKind.JOINT

    @property
    def has_many_classes(self) -> bool:
        """Whether there are so many classes that the square loss on words would confuse them."""
        return self.classes > _MANY_CLASSES

    @property
    def is_long(self) -> bool:
        """Whether documents are long."""
        return (self.words or 0) >= LONG_TEXT and self.level is Level.DOCUMENT

    @property
    def has_enough_words(self) -> bool:
        """Whether words and pairs of words are enough, without stretches of characters."""
        return self.is_long and (self.documents or 0) >= _ENOUGH_LONG_TEXTS

    @property
    def has_many_topics(self) -> bool:
        """Whether single words are enough."""
        return self.has_enough_words and self.classes >= _MANY_TOPICS

    @property
    def takes_few(self) -> bool:
        """Whether a row has only few words and no other columns: on ciphertexts, and for tokens."""
        return self.engine is Engine.PAILLIER or self.level is Level.TOKEN


@dataclass(frozen=True)
class Columns:
    """The blocks of columns of a row."""

    features: int
    ngrams: NGrams
    beside: Blocks


def columns(given: Mapping[str, Any], about: Circumstances) -> Columns:
    """Return the columns of a row: the given settings, and the rules' choices for the others.

    `given` has the names of the plan's settings. A setting that is "auto" or missing is left to the
    rules. If `features` is a number, there is no tail unless one is given.
    """
    asked = {name: value for name, value in given.items() if not _is_auto(value)}
    by_rule = "features" not in asked and about.chooses
    beside = {name: _checked(asked[name], name) for name in BESIDE if name in asked}
    if "tail" not in beside and by_rule:
        beside["tail"] = _tail(about)
    if by_rule and not about.takes_few:
        beside = {**_blocks(about), **_vectors(beside, about), **beside}
    return Columns(
        whole(asked.get("features", _features(about)), "features"),
        _ngrams(asked, about, by_rule=by_rule),
        Blocks(**beside),
    )


def _checked(value: Any, name: str) -> Any:
    """Return the setting of a block in its type; the block itself checks the others."""
    if name in {"tail", "kernel"}:
        return whole(value, name)
    if name in _LISTS and isinstance(value, tuple | list):
        return numbers(value, name)
    return number(value, name) if name in _NUMBERS else value


def _blocks(about: Circumstances) -> Mapping[str, Any]:
    """The settings of the blocks beside words and tail."""
    if about.has_many_classes:
        return _KERNEL
    if about.has_many_topics:
        return _TOPICS_TAIL
    return _LONG_TEXT_TAIL if about.is_long else _LIGHT_TAIL


def _vectors(beside: Mapping[str, Any], about: Circumstances) -> Mapping[str, Any]:
    """The weight of an encoder's vector, if the row has one."""
    light = about.is_long and not (about.has_many_topics or about.has_many_classes)
    return _LIGHT_VECTOR if light and beside.get("encoder") is not None else {}


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == AUTO


def _features(about: Circumstances) -> int:
    if about.engine is Engine.PAILLIER:
        return _FEW_FEATURES
    many = (about.documents or 0) >= _ENOUGH_DOCUMENTS or about.is_long
    enough = many and not about.has_many_classes
    return _WIDE if enough and about.chooses and not about.takes_few else FEATURES


def _tail(about: Circumstances) -> int:
    if about.takes_few:
        return 0
    known = about.documents is not None and about.level is Level.DOCUMENT
    wider = about.has_enough_words or about.has_many_classes
    narrow = (known or _features(about) == _WIDE) and not wider
    widest = _WIDE_TAIL if narrow else FEATURES
    if about.documents is None:
        return widest
    wanted = max(_NARROWEST_TAIL, _TAIL_PER_DOCUMENT * about.documents)
    return min(widest, 1 << (wanted - 1).bit_length())


def _ngrams(asked: Mapping[str, Any], about: Circumstances, *, by_rule: bool) -> NGrams:
    """Return words, pairs of words and stretches of characters; a given list has words alone."""
    listed = about.dictionary is DictionaryKind.GIVEN
    singles = listed or (by_rule and about.has_many_topics)
    whole_words = listed or (by_rule and about.has_enough_words)
    words = _lengths(asked.get("ngrams", (1, 1) if singles else WORDS), "ngrams")
    parts = asked.get("characters", None if whole_words else CHARACTERS)
    stretches = None if parts in {None, "none"} else _lengths(parts, "characters")
    cut = by_rule and about.has_enough_words and stretches is None
    letters = asked.get("letters", LETTERS if cut else None)
    return NGrams(
        words, stretches, None if letters in {None, "none"} else whole(letters, "letters")
    )


def _lengths(value: Any, name: str) -> tuple[int, int]:
    """Return the shortest and the longest sequence."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(
            f"expected the shortest and the longest, found {value!r}",
            hints=(PlanSetting(name, (1, 2) if name == "ngrams" else (3, 5)),),
            place=name,
            setting=name,
        )
    return whole(value[0], name), whole(value[1], name)


def class_weight(given: str | None, about: Circumstances, *, exclusive: bool) -> str | None:
    """Return the weighting of rare classes: as given, else "root" for documents and sentences.

    Overlapping labels have no weights. Tokens have none, because nearly all of them are outside any
    entity.
    """
    if given == AUTO:
        return "root" if exclusive and about.level is not Level.TOKEN else None
    return None if given == "none" else given


def penalty(given: Any, about: Circumstances, *, features: Any) -> float | tuple[float, ...]:
    """Return Ridge's penalty: as given, else a larger one for words and tail of few classes.

    It is smaller beside kernel columns. If `features` is a number, or the rules take single words,
    it is 1.
    """
    if not _is_auto(given):
        return given  # type: ignore[no-any-return]  # the plan looks at it
    by_rule = _is_auto(features) and about.chooses
    if not by_rule or about.takes_few:
        return _PENALTY
    if about.has_many_classes:
        return _LIGHT_PENALTY
    return _PENALTY if about.has_many_topics else _STRONG_PENALTY


def held_out(given: Any, about: Circumstances) -> float:
    """Return the share of documents to hold out: as given, else for about a hundred documents.

    It is at least a twentieth and at most a tenth, but a fifth if a tenth is fewer than forty
    documents, or if their number is unknown.
    """
    if not _is_auto(given):
        return given  # type: ignore[no-any-return]  # as above
    if about.documents is None:
        return _MOST_HELD_OUT
    documents = max(about.documents, 1)
    share = min(_FEW_HELD_OUT, max(_LEAST_HELD_OUT, _JUDGED_DOCUMENTS / documents))
    return round(max(share, min(_MOST_HELD_OUT, _FEWEST_JUDGED / documents)), 2)


def encoder_setting(value: Any) -> EncoderName | None:
    """Return an encoder for the plan, from its name in study.toml."""
    if value is None or isinstance(value, EncoderName):
        return value
    if not isinstance(value, str):
        raise InputError(
            f"expected none or its name, found {value!r}", place="encoder", setting="encoder"
        )
    return None if value == "none" else EncoderName.read(value)
