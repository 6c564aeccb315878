"""Every arrangement of the paper as a small study: one list, for costs and for kills in tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sottovoce.text.columns import ROW
from sottovoce.text.documents import Document, Fragment, Span

Parts = Mapping[str, Sequence[Document]]

ORGANISATIONS = {
    "north": "Northfield Hospital",
    "harbour": "Harbour Clinic",
    "valley": "Valley Practice",
    "hill": "Hill Practice",
}
ASKER = "north"
# Blocks of fewer entities than the plan allows would be zeroed.
FEWEST = 48
HEAD = """
[study]
name = "sick or well"
coordinator = "{coordinator}"
labels = ["well", "sick"]
{settings}
held_out = 0.0
key_bits = {key_bits}
kappa = 40
query_budget = 4000
[peers]
{peers}
[deadlines]
enrolment = "10 minutes"
stage = "10 minutes"
"""
TABLE = "features = 0"
# Room for every word, whichever they are: of words that tell as much, a study's own key decides
# which are chosen, and without some of them labels are others.
WORDS_ALONE = 'ngrams = [1, 1]\ncharacters = "none"'
TEXTS = f"features = 8\n{WORDS_ALONE}"
NOTED_TEXTS = f"features = 16\n{WORDS_ALONE}"
PAILLIER = 'engine = "paillier"'
DESCENT = 'learner = "rado-descent"\ncontribution = "rados"\nrados = 32'
ROWS = """
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
"""
COLUMNS = """
[columns]
ward = ["eye", "heart", "lung"]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
sight = { words = ["dim", "clear"] }
[holdings]
north = ["pulse"]
harbour = ["sugar"]
valley = ["sight"]
"""
TRUST = '\n[roles]\nevaluator = "trust"\n[helpers]\ntrust = "Data Trust"\n'
SHARES = TRUST.replace("[helpers]", 'dealer = "archive"\n[helpers]') + 'archive = "Archive"\n'
CLOUD = TRUST + 'cloud = "Blue Cloud"\n[intermediaries]\nnorth = "cloud"\n'
LENT = TRUST.replace("trust", "cloud").replace("Data Trust", "Blue Cloud")
WARDS = ("eye", "heart", "lung")
HELD = {"north": "pulse", "harbour": "sugar", "valley": "sight"}
WORDS = {"sick": "fever cough", "well": "calm rested"}


def rows_of(peers: int) -> Callable[[int], Parts]:
    """Every peer has rows of its own, of patients who are sick if one number is above the other."""

    def made(rows: int) -> Parts:
        rng = np.random.default_rng(1)
        values = np.rint(64 * rng.uniform(-1, 1, (rows, 2))) / 64
        sick = values[:, 0] - values[:, 1] + rng.choice([-0.125, 0.125], rows) > 0
        documents = [
            Document(ROW, _label(mark), f"row {number}", {"pulse": pulse, "sugar": sugar})
            for number, (mark, (pulse, sugar)) in enumerate(zip(sick, values.tolist(), strict=True))
        ]
        return {site: documents[n::peers] for n, site in enumerate([*ORGANISATIONS][:peers])}

    return made


def texts_of(rows: int) -> Parts:
    """Every peer has texts of its own; no word is in both classes, and every text has one alone."""
    labels = ["sick", "well"] * (rows // 6)
    return {
        site: [Document(f"{WORDS[label]} {site}{n}", label) for n, label in enumerate(labels)]
        for site in [*ORGANISATIONS][:3]
    }


def columns_of(rows: int) -> Parts:
    """Every peer has a column of its own of the same patients, one of them a text."""
    rng = np.random.default_rng(1)
    wards, dim = rng.integers(0, len(WARDS), rows), rng.random(rows) < 0.5
    values = np.rint(64 * rng.uniform(-1, 1, (rows, 2))) / 64
    sick = values.sum(axis=1) + np.where(dim, 1, -1) + wards - 1 > 0
    columns: Mapping[str, Sequence[float | str]] = {
        "pulse": values[:, 0].tolist(),
        "sugar": values[:, 1].tolist(),
        "sight": [f"Vision {'was dim' if mark else 'is clear'} today." for mark in dim],
    }
    return {
        site: [
            Document(
                ROW,
                _label(sick[number]),
                f"patient {number}",
                {"ward": WARDS[wards[number]], column: columns[column][number]},
            )
            for number in rng.permutation(rows)
        ]
        for site, column in HELD.items()
    }


def noted_of(rows: int) -> Parts:
    """Texts in which drugs are marked: documents have labels, and so have sentences.

    One label has more drugs than the other: a sentence that both have equally often would score
    zero, and rounding alone would decide its label.
    """
    return {
        site: [_noted(document, drug=number % 4 > 0) for number, document in enumerate(documents)]
        for site, documents in texts_of(rows).items()
    }


def _noted(document: Document, *, drug: bool) -> Document:
    """The same with one more sentence."""
    text = f"{document.text}. {'Took aspirin' if drug else 'Slept well'}."
    start = text.find("aspirin")
    span = Span("Drug", (Fragment(start, start + len("aspirin")),)) if drug else None
    return replace(document, text=text, spans=() if span is None else (span,))


def _label(sick: bool) -> str:
    return "sick" if sick else "well"


@dataclass(frozen=True)
class ArrangedStudy:
    """What its study.toml says, who has what, and who must be there when the first peer asks."""

    name: str
    settings: tuple[str, ...]
    after: str
    parts: Callable[[int], Parts] = field(default=rows_of(3), repr=False)
    coordinator: str = "Institute"
    stays: tuple[str, ...] = ("evaluator",)

    def text(self, *, key_bits: int) -> str:
        """Its study.toml."""
        head = HEAD.format(
            coordinator=self.coordinator,
            settings="\n".join(self.settings),
            key_bits=key_bits,
            peers="\n".join(f'{name} = "{ORGANISATIONS[name]}"' for name in self.parts(FEWEST)),
        )
        return head + self.after


def _by_columns(remote: str, engine: str) -> ArrangedStudy:
    settings = (
        TABLE,
        'partition = "features"',
        'shared = ["ward"]',
        f'remote = "{remote}"',
        f'engine = "{engine}"',
    )
    stays = ("evaluator", *(("dealer",) if engine == "shares" else ()))
    stays += ("harbour", "valley") if remote == "full" else ()
    helpers = SHARES if engine == "shares" else TRUST
    name = f"features, {remote}, {engine}"
    return ArrangedStudy(name, settings, helpers + COLUMNS, columns_of, stays=stays)


def _owned(name: str, *settings: str) -> ArrangedStudy:
    """One owner of data and key lends its work, and asks nobody."""
    owner = ORGANISATIONS["north"]
    return ArrangedStudy(name, (TABLE, *settings), LENT + ROWS, rows_of(1), owner, ())


# The usual studies, which the others are compared with.
PARTNERS = {
    engine: ArrangedStudy(
        f"rows, {engine}",
        (TABLE, f'engine = "{engine}"'),
        (SHARES if engine == "shares" else TRUST) + ROWS,
        stays=("evaluator", "dealer") if engine == "shares" else ("evaluator",),
    )
    for engine in ("shares", "paillier")
}
_ENCRYPTED = (TABLE, PAILLIER)
_LEVELS = 'level = "sentence"\nlabelling = "levels"\ntypes = ["Drug"]'
_SAMPLED = 'contribution = "rados"\nrados = 64'
_RING = 'addition = "ring"'
_LISTS = 'weights = "reveal_feature_lists_to_coordinator"'
ARRANGEMENTS = (
    *(_by_columns(remote, "shares") for remote in ("zero", "normalised", "full")),
    *(_by_columns(remote, "paillier") for remote in ("normalised", "full")),
    ArrangedStudy(
        "distrusted columns, shares",
        (TABLE, 'engine = "shares"', 'distrusted = ["sugar"]', "epsilon = 0.5"),
        SHARES + ROWS,
        stays=("evaluator", "dealer"),
    ),
    ArrangedStudy(
        "labels of two levels, shares",
        (
            NOTED_TEXTS,
            'engine = "shares"',
            'level = "sentence"\nlabelling = "levels"\ntypes = ["Drug"]',
        ),
        SHARES,
        noted_of,
        stays=("evaluator", "dealer"),
    ),
    ArrangedStudy("intermediary", _ENCRYPTED, CLOUD + ROWS),
    ArrangedStudy("intermediary, sampled rados", (*_ENCRYPTED, _SAMPLED), CLOUD + ROWS),
    ArrangedStudy("intermediary, texts", (TEXTS, PAILLIER), CLOUD, texts_of),
    _owned("outsourced"),
    ArrangedStudy("ring", (*_ENCRYPTED, _RING), TRUST + ROWS, rows_of(4)),
    ArrangedStudy("feature lists", (*_ENCRYPTED, _LISTS), TRUST + ROWS),
    ArrangedStudy("two peers", (*_ENCRYPTED, "min_peers = 2"), TRUST + ROWS, rows_of(2)),
    ArrangedStudy("descent", (*_ENCRYPTED, DESCENT), TRUST + ROWS),
    ArrangedStudy("descent, ring", (*_ENCRYPTED, DESCENT, _RING), TRUST + ROWS, rows_of(4)),
    ArrangedStudy("descent, intermediary, texts", (TEXTS, PAILLIER, DESCENT), CLOUD, texts_of),
    _owned("descent, outsourced", DESCENT),
)
# What sites write to files, a third party learns from.
EXPORTED = ArrangedStudy(
    "exported rados", (*_ENCRYPTED, DESCENT, 'class_weight = "none"'), TRUST + ROWS
)
