"""The plan of a study as people write it: the tables [study] and [columns] of study.toml."""

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from sottovoce.config.toml_settings import (
    NUMBER,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    SettingKind,
    SettingsText,
    is_number,
    is_whole,
    listed,
    one_of,
    shown,
)
from sottovoce.errors import InputError
from sottovoce.study.arrangement import Arrangement, Holding, Partition, Remote, Weights
from sottovoce.study.automatic_features import (
    AUTO,
    BESIDE,
    FEATURES,
    Circumstances,
    Columns,
    class_weight,
    columns,
    encoder_setting,
    held_out,
    penalty,
)
from sottovoce.study.choices import (
    Addition,
    Centre,
    Contribution,
    DictionaryKind,
    Engine,
    LabelsOn,
    Learner,
    Rare,
    Verdict,
)
from sottovoce.study.distrust import distrusted_places
from sottovoce.study.grounds import Grounds
from sottovoce.study.plan import CLASS_WEIGHTS, StudyPlan
from sottovoce.study.release import RELEASES
from sottovoce.text.blocks import TAILS
from sottovoce.text.columns import ROW, Categorical, Column, Numeric, Wording
from sottovoce.text.dictionary.selection import SELECTION_RULES
from sottovoce.text.features import Weighting
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.reading import Level, Reading
from sottovoce.text.tokenizing.windows import Window


def _pair(value: Any) -> tuple[int, int]:
    low, high = listed(is_whole)(value)
    return low, high


def _or_auto(kind: SettingKind, word: str = AUTO) -> SettingKind:
    """The same, or one word."""

    def read(value: Any) -> Any:
        return value if value == word else kind.read(value)

    return SettingKind(f'{kind.expected}, or "{word}"', read)


def _penalty(value: Any) -> float | tuple[float, ...]:
    return listed(is_number)(value) if isinstance(value, list) else is_number(value)


_PAIR = SettingKind("a list of the fewest and the most, such as [1, 2]", _pair)
_NUMBERS = SettingKind("a list of numbers, such as [-0.5, 0, 0.5]", listed(is_number))
_WEIGHT = SettingKind("a number, or a list of them to choose from", _penalty)
_PENALTY = SettingKind("a number above 0, or a list of them to choose from", _penalty)

# Why the study is done: plain text for the card.
GROUNDS = tuple(field.name for field in fields(Grounds))

# What [study] may hold; the names of the plan's own fields wherever it has one.
KEYS: Mapping[str, SettingKind] = {
    "name": TEXT,
    "approval": TEXT,
    **dict.fromkeys(GROUNDS, TEXT),
    "coordinator": TEXT,
    "labels": TEXTS,
    "exclusive": TRUTH,
    "level": one_of(Level),
    "labelling": one_of(Scheme),
    "types": TEXTS,
    "ngrams": _PAIR,
    "characters": _or_auto(_PAIR, "none"),
    "letters": _or_auto(WHOLE, "none"),
    "reach": WHOLE,
    "affix": WHOLE,
    "features": _or_auto(WHOLE),
    "tail": _or_auto(WHOLE),
    "tail_idf": NUMBER,
    "tail_of": one_of(TAILS),
    "documents": WHOLE,
    "words_per_document": NUMBER,
    "encoder": TEXT,
    "encoder_weight": NUMBER,
    "kernel": _or_auto(WHOLE),
    "kernel_weight": _PENALTY,
    "kernel_width": _PENALTY,
    "own_weight": _WEIGHT,
    "dictionary": one_of(DictionaryKind),
    "words": TEXTS,
    "select": one_of(SELECTION_RULES),
    "bucket_bits": WHOLE,
    "min_documents": WHOLE,
    "small_cells": WHOLE,
    "feature_min_peers": WHOLE,
    "partition": one_of(Partition),
    "shared": TEXTS,
    "remote": one_of(Remote),
    "answering": TEXTS,
    "weights": one_of(Weights),
    "tf_cap": WHOLE,
    "idf": TRUTH,
    "bias": NUMBER,
    "scaled": TRUTH,
    "engine": one_of(Engine),
    "alpha": _or_auto(_PENALTY),
    "distrusted": TEXTS,
    "epsilon": NUMBER,
    "class_weight": one_of((AUTO, "none", *CLASS_WEIGHTS)),
    "rare": one_of(Rare),
    "min_peers": WHOLE,
    "release": one_of(RELEASES),
    "key_bits": WHOLE,
    "verdict": one_of(Verdict),
    "query_budget": WHOLE,
    "evaluations": WHOLE,
    "held_out": NUMBER,
    "held_back": NUMBER,
    "kappa": WHOLE,
    "thresholds": _NUMBERS,
    "operating_point": _NUMBERS,
    "contribution": one_of(Contribution),
    "rados": WHOLE,
    "labels_on": one_of(LabelsOn),
    "centre": one_of(Centre),
    "learner": one_of(Learner),
    "addition": one_of(Addition),
}
# Settings of the plan that are made from others, or read with them; the rest goes there as it is.
_MADE = {
    *("name", "labels", "labelling", "features", "alpha", "distrusted", "class_weight"),
    "held_out",
}
_PLAIN = tuple(field.name for field in fields(StudyPlan) if field.name in KEYS.keys() - _MADE)
# What a study of [columns] alone has no use for.
_OF_TEXT = frozenset(
    {
        *(
            "level",
            "labelling",
            "types",
            "ngrams",
            "characters",
            "letters",
            "reach",
            "affix",
            "tail",
        ),
        *("tail_idf", "tail_of", "words_per_document"),
        *("encoder", "encoder_weight", "kernel", "kernel_weight", "kernel_width"),
        "own_weight",
        *("dictionary", "words", "select", "bucket_bits", "small_cells", "feature_min_peers"),
        *("tf_cap", "idf", "bias", "scaled", "centre"),
    }
)
# What partition `features` alone has a use for.
_OF_FEATURES = ("shared", "remote", "answering")
_EXAMPLES = {
    "name": 'name = "urgency of notes"',
    "coordinator": 'coordinator = "the organisation that runs the study"',
    "labels": 'labels = ["routine", "urgent"]',
    "alpha": "alpha = 1.0",
    "ngrams": "ngrams = [1, 2]",
    "key_bits": "key_bits = 3072",
}
# Names that federations in memory have for things, and what a study.toml says instead.
_CALLED_OTHERWISE = {
    "arrangement": 'partition = "features"',
    "own": '[holdings] with alice = ["pulse"]',
    "outsourced": "a coordinator that is the only organisation in [peers]",
    "outsourced_to": "a coordinator that is the only organisation in [peers]",
}


def read_plan(settings: SettingsText, *, plan_type: type[StudyPlan] = StudyPlan) -> StudyPlan:
    """The plan of [study] and [columns]; an error names its line."""
    refuse_other_names(settings, "study")
    settings.check_known(KEYS, "study")
    read = {
        key: settings.take(("study", key), kind, None, *_hint(key)) for key, kind in KEYS.items()
    }
    given = {key: value for key, value in read.items() if value is not None}
    if given.get("features") == 0:
        given = _without_text(settings, given)
    for key in ("name", "coordinator"):
        if key not in given:
            raise settings.missing(("study", key), TEXT.expected, *_hint(key))
    try:
        labels, labelling = _labelling(settings, given)
        about = _about(given, labels)
        row = _row(given, about)
        plan = plan_type(
            given["name"],
            labels,
            reading=Reading(_level(given), row.ngrams, window=_window(given)),
            labelling=labelling,
            weighting=Weighting(**_some(given, "tf_cap", "idf", "bias", "scaled")),
            columns=_columns(settings),
            arrangement=_arrangement(settings, given),
            features=row.features,
            beside=row.beside,
            distrusted=_distrusted(settings, given, row.features + row.beside.width),
            alpha=penalty(given.get("alpha", AUTO), about, features=given.get("features", AUTO)),
            class_weight=class_weight(
                given.get("class_weight", AUTO), about, exclusive=labels.exclusive
            ),
            held_out=held_out(given.get("held_out", AUTO), about),
            grounds=Grounds(**_some(given, *GROUNDS)),
            **_some(given, *_PLAIN),
        )
    except InputError as error:
        raise _placed(settings, error) from None
    return plan


def _some(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Of these settings those that were given."""
    return {name: given[name] for name in names if name in given}


def _labelling(settings: SettingsText, given: Mapping[str, Any]) -> tuple[Labels, Labelling | None]:
    scheme = Scheme(given.get("labelling", Scheme.LABEL))
    if scheme is Scheme.LABEL:
        if "types" in given:
            raise settings.fault(
                ("study", "types"),
                "nothing without a labelling by entities",
                shown(given["types"]),
                'labelling = "types"',
            )
        if "labels" not in given:
            raise settings.missing(("study", "labels"), "the study's labels", _EXAMPLES["labels"])
        return Labels(given["labels"], **_some(given, "exclusive")), None
    for key in ("exclusive",) if scheme is Scheme.LEVELS else ("labels", "exclusive"):
        if key in given:
            raise settings.fault(
                ("study", key),
                f"nothing: with labelling {scheme} the labels follow from types",
                shown(given[key]),
                "leave it out",
            )
    if "types" not in given:
        raise settings.missing(("study", "types"), "the entity types", 'types = ["Drug"]')
    if scheme is Scheme.LEVELS:
        if "labels" not in given:
            raise settings.missing(
                ("study", "labels"), "the documents' labels", _EXAMPLES["labels"]
            )
        labelling = Labelling.by_levels(given["types"], given["labels"])
    else:
        labelling = Labelling.by_entity(scheme, given["types"])
    return labelling.labels, labelling


def _row(given: Mapping[str, Any], about: Circumstances) -> Columns:
    """Return the parts of a row: as given, and by the rules where they are left open."""
    asked = _some(given, "features", "ngrams", "characters", "letters", *BESIDE)
    if "encoder" in asked:
        asked["encoder"] = encoder_setting(asked["encoder"])
    if about.dictionary is DictionaryKind.GIVEN:
        asked.setdefault("features", len(given.get("words", ())) or FEATURES)
    return columns(asked, about)


def _about(given: Mapping[str, Any], labels: Labels) -> Circumstances:
    """The figures that the rules look at."""
    dictionary = DictionaryKind(given.get("dictionary", DictionaryKind.JOINT))
    engine = Engine(given.get("engine", Engine.AUTO))
    documents, words = given.get("documents"), given.get("words_per_document")
    return Circumstances(len(labels.names), _level(given), dictionary, engine, documents, words)


def _level(given: Mapping[str, Any]) -> Level:
    return Level(given.get("level", Level.DOCUMENT))


def _window(given: Mapping[str, Any]) -> Window:
    return Window(**_some(given, "reach", "affix"))


def _without_text(settings: SettingsText, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of rows that are [columns] alone, with one word that every row has."""
    if not settings.table("columns"):
        raise settings.fault(
            ("study", "features"),
            "at least 1, or 0 with the [columns] of rows that have no text",
            "0 without them",
            "features = 2048",
        )
    stray = next((key for key in given if key in _OF_TEXT), None)
    if stray is not None:
        raise settings.fault(
            ("study", stray),
            "nothing: with features = 0 rows are [columns] alone",
            shown(given[stray]),
            "leave it out",
        )
    # The word that every row has is the intercept; a bias beside it would be a second.
    intercept = {"tf_cap": 1, "idf": False, "bias": 0.0}
    return {**given, "features": 1, "dictionary": "given", "words": (ROW,), **intercept}


def _arrangement(settings: SettingsText, given: Mapping[str, Any]) -> Arrangement:
    """Return the holders of columns, and the stand-in for others' columns in a query."""
    held = settings.table("holdings")
    if given.get("partition", Partition.DOCUMENTS) == Partition.DOCUMENTS:
        for path in (*(("study", key) for key in _OF_FEATURES), ("holdings",)):
            if path[-1] in (given if len(path) > 1 else settings.values):
                hint = 'partition = "features"'
                raise settings.fault(path, "nothing in partition documents", path[-1], hint)
        return Arrangement(**_some(given, "weights"))
    # In the order of [peers], whichever they are written in.
    peers = [*settings.table("peers")]
    for name in held:
        if name not in peers:
            near = get_close_matches(name, peers, n=1)
            raise settings.fault(
                ("holdings", name),
                f"a name from [peers] ({', '.join(peers)})",
                repr(name),
                *(f"did you mean {known}?" for known in near),
            )
    bare = next((peer for peer in peers if peer not in held), None)
    if held and bare is not None:
        raise settings.missing(
            ("holdings", bare), "columns that this peer alone has", f'{bare} = ["COLUMN"]'
        )
    ordered = sorted(held, key=peers.index)
    own = tuple(
        Holding(peer, settings.take(("holdings", peer), TEXTS, (), f'{peer} = ["pulse"]'))
        for peer in ordered
    )
    return Arrangement(Partition.FEATURES, own=own, **_some(given, *_OF_FEATURES, "weights"))


def _distrusted(settings: SettingsText, given: Mapping[str, Any], before: int) -> tuple[int, ...]:
    """Words of a given dictionary, or columns, that get a penalty of their own, as their places."""
    return distrusted_places(
        given.get("distrusted", ()),
        words=given.get("words", ()),
        before=before,
        columns=_columns(settings),
    )


def _columns(settings: SettingsText) -> tuple[Column, ...]:
    tables = settings.table("columns")
    return tuple(_column(settings, name, value) for name, value in tables.items())


def _column(settings: SettingsText, name: str, value: Any) -> Column:
    path = ("columns", name)
    try:
        if isinstance(value, list):
            return Categorical(name, listed(TEXT.read)(value))
        if isinstance(value, dict) and set(value) == {"words"}:
            return Wording(name, listed(TEXT.read)(value["words"]))
        if isinstance(value, dict) and {"low", "high"} <= set(value) <= {"low", "high", "missing"}:
            return Numeric(name, **{key: is_number(number) for key, number in value.items()})
    except (TypeError, InputError):
        pass
    raise settings.fault(
        path,
        "a list of different values, bounds low < high, or different words of a text",
        "another table" if isinstance(value, dict) else shown(value),
        f'{name} = ["a", "b"]',
        f"{name} = {{ low = 0, high = 120, missing = 50 }}",
        f'{name} = {{ words = ["fever", "cough"] }}',
    )


def refuse_other_names(settings: SettingsText, *table: str) -> None:
    """Refuse the names that federations in memory have for what study.toml says otherwise."""
    held = settings.table(table[0]) if table else settings.values
    key = next((key for key in held if key in _CALLED_OTHERWISE), None)
    if key is not None:
        raise settings.fault(
            (*table, key),
            "a setting of studies between machines",
            f"{key}, which is called otherwise here",
            f"{_CALLED_OTHERWISE[key]}, see docs/arrangements.md",
        )


def _placed(settings: SettingsText, error: InputError) -> InputError:
    """The plan's own complaint, with the line of what it complains about."""
    if error.line:
        return error
    return settings.in_file(error, *("study", *filter(None, (error.setting,))))


def _hint(key: str) -> tuple[str, ...]:
    return (_EXAMPLES[key],) if key in _EXAMPLES else ()
