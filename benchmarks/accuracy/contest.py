"""What a newcomer gets, beside what one place with all the text would get, and each site alone.

Joint is the plaintext twin of a study with default settings: the same peers, suppression, rows
and penalty, which sealing does not change (tests compare label by label), and, as by default, some
of the documents held out to evaluate with. Beside it stand
`LogisticRegression(C=10)` and `LinearSVC()` on `TfidfVectorizer(sublinear_tf=True, min_df=2)` of
all text in one place, and the same logistic regression at each site alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.accuracy import KEY, SplitPair, label_of, simulated_peers
from sottovoce.estimators.own_model import OwnModel, own_thresholds, rows_by_class
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.study import StudyPlan
from sottovoce.study.automatic_features import (
    AUTO,
    Circumstances,
    class_weight,
    columns,
    held_out,
    penalty,
)
from sottovoce.text.census import census
from sottovoce.text.documents import Document
from sottovoce.text.encoding import EncoderName
from sottovoce.text.labels import Labels, label_name
from sottovoce.text.reading import Reading
from sottovoce.text.splits import Side, position

Names = NDArray[np.str_]

IID, BY_TOPIC = "iid", "by topic"
# By topic, so much of each class is with one site, and the rest anywhere.
_AT_HOME = 0.7
# What scores of a site's own model may weigh.
_OWN_WEIGHTS = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class CorpusContest:
    """One corpus: its splits, how many sites there are, and an encoder for a second joint model."""

    name: str
    pairs: Sequence[SplitPair]
    peers: int = 4
    encoder: EncoderName | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    own_scores: bool = False

    def rows(self) -> Iterator[dict[str, object]]:
        """For each way of spreading documents over sites, everybody's accuracy and macro-F1."""
        for spread in (IID, BY_TOPIC):
            splits = [self._figures(pair, spread) for pair in self.pairs]
            yield {"set": self.name, "sites": spread, **_averaged(splits)}

    def _figures(self, pair: SplitPair, spread: str) -> dict[str, tuple[float, float]]:
        truth = _names(pair.test)
        parts = spread_documents(pair.train, self.peers, spread)
        said = {"joint": self._joint(pair, parts, None)}
        if self.encoder is not None:
            said["joint, encoder"] = self._joint(pair, parts, self.encoder)
        said |= {kind: _pooled(pair.train, pair.test, kind) for kind in ("LR", "SVC")}
        alone = [_scored(truth, _pooled(part, pair.test, "LR")) for part in parts]
        figures = {who: _scored(truth, names) for who, names in said.items()}
        best = max(alone)
        middle = (mean(figures[0] for figures in alone), mean(figures[1] for figures in alone))
        return {**figures, "best alone": best, "mean alone": middle}

    def askers(self) -> Iterator[dict[str, object]]:
        """For each spread, how sites fare with documents of their own kind, in per cent.

        `alone` is a site's own model, `joint` the joint one, `own or joint` the joint one at the
        site's class frequencies, or its own where that is clearly better on documents held out;
        means over the sites' test documents, and the site that loses most by not being alone. With
        `own_scores` also the joint model of rows with scores of the site's own model, by their
        weight.
        """
        for spread in (IID, BY_TOPIC):
            sites = [site for pair in self.pairs for site in self._sites(pair, spread)]
            sizes = [size for size, _ in sites]
            figures = np.array([[*by_name.values()] for _, by_name in sites])
            names = tuple(sites[0][1])
            means = 100 * np.average(figures, axis=0, weights=sizes)
            worst = 100 * (figures[:, 1:] - figures[:, :1]).min(axis=0)
            yield {
                "set": self.name,
                "sites": spread,
                **{name: f"{mean:.1f}" for name, mean in zip(names, means, strict=True)},
                **{
                    f"{name}, worst site": f"{least:+.1f}"
                    for name, least in zip(names[1:], worst, strict=True)
                },
            }

    def _sites(self, pair: SplitPair, spread: str) -> Iterator[tuple[int, dict[str, float]]]:
        """For every site its test documents, and its accuracy alone, joint, and by its choice."""
        plan = self._plan(pair, None)
        parts = spread_documents(pair.train, self.peers, spread)
        joint = PlainText.learn(plan, parts, key=KEY)
        held_out = [on_side(plan, part, Side.VALIDATION) for part in parts]
        judged_by = [document for some in held_out for document in some]
        totals, right = rows_by_class(plan, pair.train), joint.accuracy(judged_by)
        tests = spread_documents(pair.test, self.peers, spread)
        further = {
            f"own scores {weight:g}": PlainText.learn(_with_own(plan, weight), parts, key=KEY)
            for weight in (_OWN_WEIGHTS if self.own_scores else ())
        }
        for number, part in enumerate(parts):
            judged, test = held_out[number], tests[number]
            mine = rows_by_class(plan, part)
            at = own_thresholds(plan, totals, mine, accuracy=right)
            own = OwnModel.learn(plan, part, joint=joint.accuracy(judged, at), thresholds=at)
            alone, together = own.model.accuracy(test), joint.accuracy(test)
            chosen = alone if own.is_preferred else joint.accuracy(test, at)
            yield (
                len(test),
                {
                    "alone": alone,
                    "joint": together,
                    "own or joint": chosen,
                    **{name: model.at(number).accuracy(test) for name, model in further.items()},
                },
            )

    def _joint(
        self, pair: SplitPair, parts: Sequence[Sequence[Document]], encoder: EncoderName | None
    ) -> Names:
        learnt = PlainText.learn(self._plan(pair, encoder), parts, key=KEY)
        return np.array([classes[0] for classes in learnt.predict(pair.test)])

    def _plan(self, pair: SplitPair, encoder: EncoderName | None) -> StudyPlan:
        """The plan of somebody who changes nothing."""
        labels = Labels.distinct(label_of(document) for document in pair.train)
        length = census(pair.train).mean_words
        about = Circumstances(len(labels.names), documents=len(pair.train), words=length)
        row = columns({"encoder": encoder, **self.settings}, about)
        return StudyPlan(
            "contest",
            labels,
            features=row.features,
            reading=Reading(ngrams=row.ngrams),
            beside=row.beside,
            alpha=penalty(AUTO, about, features=self.settings.get("features", AUTO)),
            class_weight=class_weight(AUTO, about, exclusive=True),
            held_out=held_out(AUTO, about),
        )


def _with_own(plan: StudyPlan, weight: float) -> StudyPlan:
    return replace(plan, beside=replace(plan.beside, own_weight=weight))


def spread_documents(
    documents: Sequence[Document], peers: int, spread: str
) -> list[list[Document]]:
    """The documents of each site: by chance, or most of a class with one site."""
    if spread == IID:
        return simulated_peers(documents, peers)
    homes = {name: number for number, name in enumerate(sorted({*_names(documents).tolist()}))}
    parts: list[list[Document]] = [[] for _ in range(peers)]
    for document in documents:
        home = homes[label_name(label_of(document))] % peers
        chance = position(document, purpose="simulated topics")
        # The rest of the unit interval says where the others go.
        away = int(peers * (chance - _AT_HOME) / (1 - _AT_HOME))
        parts[home if chance < _AT_HOME else away].append(document)
    return [part for part in parts if part]


def _pooled(train: Sequence[Document], test: Sequence[Document], kind: str) -> Names:
    """What scikit-learn says with this text in one place."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    names = _names(train)
    if len(set(names.tolist())) < 2:
        return np.full(len(test), names[0])
    vectors = TfidfVectorizer(sublinear_tf=True, min_df=2)
    model = LogisticRegression(C=10, max_iter=1000) if kind == "LR" else LinearSVC()
    model.fit(vectors.fit_transform([document.text for document in train]), names)
    return np.asarray(model.predict(vectors.transform([document.text for document in test])))


def _names(documents: Sequence[Document]) -> Names:
    return np.array([label_name(label_of(document)) for document in documents])


def _scored(truth: Names, said: Names) -> tuple[float, float]:
    from sklearn.metrics import f1_score

    known = sorted(set(truth.tolist()))
    macro = f1_score(truth, said, labels=known, average="macro", zero_division=0)
    return float(np.mean(truth == said)), float(macro)


def _averaged(splits: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, object]:
    """Accuracy and macro-F1 in per cent, over all splits."""
    rows: dict[str, object] = {}
    for who in splits[0]:
        numbers = np.mean([figures[who] for figures in splits], axis=0)
        rows[who] = f"{100 * numbers[0]:.1f}/{100 * numbers[1]:.1f}"
    return rows
