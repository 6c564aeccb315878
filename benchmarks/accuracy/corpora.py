"""The sets that `bench accuracy` knows by name, and any labelled source that a user names."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy.accuracy import (
    AccuracyComparison,
    AccuracySetting,
    SplitPair,
    compare_documents,
    split_pairs,
)
from benchmarks.accuracy.entities import compare_tokens
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions, open_source

ENTITIES = ("Disease_disorder", "Sign_symptom")


def _sms(path: Path, setting: AccuracySetting) -> list[AccuracyComparison]:
    """SMS Spam: words and word pairs, three splits, copies of a message on one side."""
    pairs = split_pairs(list(open_source(path)))
    return [compare_documents("SMS", pairs, setting, allowed=0.003)]


def _mts(path: Path, setting: AccuracySetting) -> list[AccuracyComparison]:
    """MTS-Dialog, words alone."""
    pair = mts_pair(path)
    words = AccuracySetting(
        setting.features, setting.peers, setting.min_documents, (1, 1), setting.alpha
    )
    return [compare_documents("MTS", [pair], words, allowed=0.01)]


def mts_pair(path: Path) -> SplitPair:
    """MTS-Dialog's own training rows against all others."""
    documents = list(open_source(path, SourceOptions(categorical=("split",))))
    train = [document for document in documents if document.columns["split"] == "train"]
    return SplitPair(
        train, [document for document in documents if document.columns["split"] != "train"]
    )


def _maccrobat(path: Path, setting: AccuracySetting) -> list[AccuracyComparison]:
    """MACCROBAT: tokens of diseases and symptoms, split by document."""
    pairs = split_pairs(list(open_source(path)))
    return compare_tokens("MACCROBAT", pairs, ENTITIES, setting, allowed=0.01)


KNOWN: dict[str, Callable[[Path, AccuracySetting], list[AccuracyComparison]]] = {
    "sms_spam.csv": _sms,
    "mts_dialog.jsonl": _mts,
    "maccrobat_brat": _maccrobat,
}


def document_sets(folder: Path, *, splits: int = 1) -> list[tuple[str, list[SplitPair]]]:
    """The sets known by name whose documents have labels of their own; MTS-Dialog has one split."""
    sets = []
    sms, mts = folder / "sms_spam.csv", folder / "mts_dialog.jsonl"
    if sms.exists():
        sets.append(("SMS", split_pairs(list(open_source(sms)), splits=splits)))
    if mts.exists():
        sets.append(("MTS", [mts_pair(mts)]))
    return sets


def known_sets(folder: Path) -> list[str]:
    """Which of the sets known by name lie in a folder."""
    return [name for name in KNOWN if (folder / name).exists()]


def compare_known(folder: Path, setting: AccuracySetting) -> Iterator[AccuracyComparison]:
    """Each set known by name that lies in the folder."""
    for name in known_sets(folder):
        yield from KNOWN[name](folder / name, setting)


def compare_source(
    place: Path, options: SourceOptions, setting: AccuracySetting, *, types: Sequence[str] = ()
) -> list[AccuracyComparison]:
    """Any labelled source; with entity `types`, a BRAT folder at token level."""
    documents = list(open_source(place, options))
    pairs = split_pairs(documents)
    if any(not pair.train or not pair.test for pair in pairs):
        raise InputError(f"{place}: expected enough documents for a split, found {len(documents)}")
    if types:
        return compare_tokens(place.name, pairs, types, setting, allowed=0.01)
    return [compare_documents(place.name, pairs, setting, allowed=0.01)]
