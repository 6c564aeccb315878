"""How fast documents become moments, beside scikit-learn's hashing, and in how much memory.

Partner: `HashingVectorizer(n_features=…)` (words) and then `X.T @ X`, which is
what one would write without us. Ours reads the same texts into the rows of a
dictionary of the same size and adds them to `Moments`.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from subprocess import run
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, peak_megabytes
from sottovoce.cli.terminal.measurements import Row
from sottovoce.clusters import LocalCores
from sottovoce.rados import Moments
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.dictionary.dictionaries import Dictionary, HashedDictionary
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.dictionary.selection import Selection, chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.passes import CountPlan, count, examples

WORDS = 30_000
LENGTH = 100
_BATCH = 500
LABELLING = Labelling(Labels(("even", "odd")))


@dataclass(frozen=True, slots=True)
class TextTrial:
    """How much is read, by how many processes, into how many features."""

    documents: int = 60_000
    features: int = 2048
    workers: int = 2
    rounds: int = 3


def synthetic_documents(number: int, *, random_state: int = 0) -> Iterator[Document]:
    """Made-up documents of two classes, as long and as repetitive as notes (Zipf's law)."""
    rng = np.random.default_rng(random_state)
    forms = _word_forms(rng)
    ranks = np.cumsum(1 / np.arange(1, WORDS + 1))
    ranks /= ranks[-1]
    # Half of the words swap their frequency with another word in the second class.
    swapped = np.arange(WORDS)
    swapped[1::2] = rng.permutation(swapped[1::2])
    for start in range(0, number, _BATCH):
        picked = np.searchsorted(ranks, rng.random((_BATCH, LENGTH)))
        picked[1::2] = swapped[picked[1::2]]
        # Mostly plain; now and then a comma, a full stop, a capital letter.
        kinds = np.searchsorted([0.8, 0.88, 0.95], rng.random((_BATCH, LENGTH)))
        for index, words in enumerate(forms[kinds, picked][: number - start]):
            yield Document(" ".join(words), LABELLING.labels.names[index % 2])


def _word_forms(rng: np.random.Generator) -> Any:
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lengths = rng.integers(2, 11, WORDS)
    plain = ["".join(rng.choice(letters, length)) for length in lengths]
    forms = [plain, [f"{w}," for w in plain], [f"{w}." for w in plain], [w.title() for w in plain]]
    return np.array(forms, dtype=object)


def joint_dictionary(documents: Iterator[Document], features: int) -> Dictionary:
    """The dictionary that a peer with these documents would choose."""
    return chosen(count(documents, CountPlan(LABELLING), key=PUBLIC), Selection(features))


def read(
    documents: Iterator[Document] | Sequence[Document],
    dictionary: Dictionary,
    *,
    cores: LocalCores | None = None,
) -> Moments:
    """Ours: from documents to moments, in this process or with these cores."""
    space = FeatureSpace(dictionary)
    sums = Moments(space.width)
    workers = None if cores is None else Workers(lambda: cores, ahead=2 * cores.count)
    with working_with(workers):
        for block in examples(documents, space, LABELLING, key=PUBLIC):
            sums.add(block.rows, block.targets)
    return sums


def hash_with_sklearn(texts: Sequence[str], features: int) -> Any:
    """The partner: from texts to the second moment."""
    from sklearn.feature_extraction.text import HashingVectorizer

    rows = HashingVectorizer(n_features=features).transform(texts)
    return rows.T @ rows


def throughput(trial: TextTrial) -> list[Row]:
    """Documents and megabytes a second of both, in turns; the partner knows one core only."""
    documents = list(synthetic_documents(trial.documents))
    texts = [document.text for document in documents]
    joint = joint_dictionary(islice(documents, 5_000), trial.features)
    hashed = HashedDictionary(trial.features)
    partner = "sklearn hashing + X.T @ X"
    one_core = interleaved(
        {
            partner: lambda: hash_with_sklearn(texts, trial.features),
            "ours, joint": lambda: read(documents, joint),
            "ours, hashed": lambda: read(documents, hashed),
        },
        rounds=trial.rounds,
    )
    with LocalCores(trial.workers) as cores:
        several = interleaved(
            {
                partner: lambda: hash_with_sklearn(texts, trial.features),
                "ours, joint, 1 core": lambda: read(documents, joint),
                # Other work: the processes run, and what they remember of the texts is forgotten.
                "": lambda: read(documents, hashed, cores=cores),
                f"ours, joint, {trial.workers} cores": lambda: read(documents, joint, cores=cores),
            },
            rounds=trial.rounds,
            clock=time.perf_counter,
        )
    del several[""]
    megabytes = sum(len(text) for text in texts) / 1e6
    return [
        *_rates(one_core, "CPU", len(texts), megabytes),
        *_rates(several, "wall", len(texts), megabytes),
    ]


def _rates(seconds: dict[str, float], clock: str, documents: int, megabytes: float) -> list[Row]:
    """Rates, and how many times as fast as the partner, which comes first."""
    theirs = next(iter(seconds.values()))
    return [
        {
            "reader": name,
            "clock": clock,
            "documents_s": round(documents / spent),
            "MB_s": megabytes / spent,
            "times": theirs / spent,
        }
        for name, spent in seconds.items()
    ]


def memory(sizes: Sequence[int] = (10_000, 200_000)) -> list[Row]:
    """Peak memory of both passes over more and more documents, each in a process of its own."""
    peaks = [_peak_in_child(size) for size in sizes]
    return [
        {"documents": size, "peak_MB": peak, "growth": peak / peaks[0]}
        for size, peak in zip(sizes, peaks, strict=True)
    ]


def _peak_in_child(documents: int) -> float:
    code = f"from benchmarks.studies.text import print_peak; print_peak({documents})"
    done = run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 - this very interpreter
    return float(done.stdout)


def print_peak(documents: int) -> None:
    """In the child: both passes over documents made on the fly, then the peak in MB."""
    dictionary = joint_dictionary(synthetic_documents(documents), 2048)
    read(synthetic_documents(documents), dictionary)
    print(peak_megabytes())  # noqa: T201 - read by the parent
