"""A whole sealed study behind scikit-learn's contract: what every such estimator has in common."""

import dataclasses
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sottovoce.clusters import executor_workers
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.estimators.asking import PeerClassifier
from sottovoce.estimators.federation import LocalFederation
from sottovoce.estimators.operating_point import OperatingPoint, written
from sottovoce.estimators.own_model import OwnModel, own_thresholds, rows_by_class
from sottovoce.estimators.peer_parts import LeftOutWarning
from sottovoce.estimators.plain_text import accuracy, on_side
from sottovoce.estimators.probabilities import (
    Numbers,
    bin_numbers,
    calibrations,
    from_bins,
    from_labels,
    from_margins,
    from_scores,
    held,
)
from sottovoce.estimators.progress import FitProgress
from sottovoce.keyfiles.models import PartSummary, look, read_model, write_model
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.quorum.members import fewest_members
from sottovoce.protocols.runner import Meddler
from sottovoce.study import Study, StudyPlan
from sottovoce.study.candidates import Candidate
from sottovoce.study.choices import Engine
from sottovoce.study.evaluations.calibration import MARGINS, Calibration
from sottovoce.study.evaluations.figures import Evaluation, own_view
from sottovoce.study.in_memory import Setting
from sottovoce.study.policy import Policy
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.queries.thresholds import operating_faults, scored_names
from sottovoce.study.rare_classes import rare_classes, rare_sentences
from sottovoce.study.release import Opens, Release
from sottovoce.study.roster import Roster, draw_outsourced, draw_roster
from sottovoce.study.stages.training import OnStage
from sottovoce.study.study import suits_quorum
from sottovoce.text.chunks import working_with
from sottovoce.text.documents import Document
from sottovoce.text.labels import Classes
from sottovoce.text.splits import Side


class SealedEstimator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """Fits on a `LocalFederation`, and answers as one of its peers."""

    _plan_type: ClassVar[type[StudyPlan]] = StudyPlan
    _meddler: ClassVar[Meddler | None] = None
    # Views hold every message of every party: some gigabytes of a study of usual size.
    _keeps_views: ClassVar[bool] = False
    engine: str

    def fit(self, federation: Any, y: None = None, *, executor: Any = None) -> Self:
        """Run the study: every peer's documents in, one sealed model out.

        An `executor`, as `concurrent.futures` and dask have them, reads documents where they are
        many; the model is the same to the last bit.
        """
        if not isinstance(federation, LocalFederation) or y is not None:
            raise InputError(
                f"fit: expected a LocalFederation alone, found a {type(federation).__name__}",
                hints=('fit(LocalFederation({"alice": (texts, labels), "bob": …}))',),
            )
        entropy = SystemEntropy()
        plan = self._plan(federation)
        if federation.outsourced_to is not None:
            plan = dataclasses.replace(plan, release=Release.PEERS)  # the model is the owner's own
        roster, identities = self._seats(federation, plan, entropy)
        study = Study(plan, roster)
        if not study.outsourced:  # a lone owner consents to what it asks for
            _check_policy(federation.policy, study)
        clock = _StageClock()
        with FitProgress() as progress, working_with(executor_workers(executor)):
            self.study_: StudyOutcome = run_study(
                study,
                federation.documents,
                identities=identities,
                entropy=entropy,
                setting=Setting(
                    on_stage=_both(clock.enter, progress.enter),
                    on_steps=progress.stepped,
                    meddler=self._meddler,
                    views=self._keeps_views,
                ),
            )
        clock.enter("")
        _warn_of_rare(plan, federation)
        self.seconds_ = clock.seconds
        self.federation_ = federation
        self.engine_ = str(study.engine)
        self._names = self._given_names(federation)
        self.classes_ = np.array(list(self._names.values()))
        return self

    def _seats(
        self, federation: LocalFederation, plan: StudyPlan, entropy: Entropy
    ) -> tuple[Roster, dict[str, Identity]]:
        """Everybody's seat, with identities made up on the spot."""
        if federation.outsourced_to is not None:
            (owner,) = federation.peers
            return draw_outsourced(owner, evaluator_at=federation.outsourced_to, entropy=entropy)
        helped = plan.engine is not Engine.QUORUM
        if plan.engine is Engine.AUTO and not federation.names_helpers:
            helped = not suits_quorum(plan, federation.peers)
        return draw_roster(
            federation.peers,
            entropy=entropy,
            evaluator_at=federation.evaluator_at,
            dealer_at=federation.dealer_at,
            with_dealer=helped and plan.engine is not Engine.PAILLIER,
            with_evaluator=helped,
            intermediaries=federation.intermediaries,
            members=federation.peers[: fewest_members(len(federation.peers))],
            answerers=plan.arrangement.answerers,
        )

    def at(self, peer: str, *, own: bool = False) -> PeerClassifier:
        """This study as one of its peers sees it: a plain scikit-learn classifier.

        With `own` it answers at the peer's own class frequencies, or with a model of the peer's
        documents alone where that was clearly better on those held out (`evaluate()` first). To
        compare, these are asked about once more where the joint model is not ahead anyway.
        """
        self._part(peer)
        return PeerClassifier(self, peer, own=self._own_model(peer) if own else None)

    @property
    def is_calibrated(self) -> bool:
        """Whether there was a joint evaluation that probabilities follow from."""
        evaluation = getattr(self, "evaluation_", None)
        sealed = evaluation and self._outcome.study.plan.release.opens is Opens.LABELS
        return evaluation is not None and bool(sealed or evaluation.calibration)

    def _own_model(self, peer: str) -> OwnModel:
        if not hasattr(self, "evaluation_"):
            raise MisuseError(
                "at: there is no evaluation yet to compare a peer's own model with",
                hints=("evaluate() first",),
            )
        plan = self._settled_plan
        documents, joint = self.federation_.documents[peer], self.evaluate(peer=peer).accuracy
        thresholds = own_thresholds(
            plan,
            np.array(self._outcome.trained.totals.by_class, np.float64),
            rows_by_class(plan, documents),
            accuracy=self.evaluation_.accuracy,
        )
        own = OwnModel.learn(plan, documents, joint=joint, thresholds=thresholds)
        if not own.is_preferred:
            return own
        held_out = on_side(plan, documents, Side.VALIDATION)
        classes = self.classes_at(held_out, peer, thresholds)
        return dataclasses.replace(own, joint=accuracy(plan, held_out, classes))

    def classes_at(
        self, documents: Sequence[Document], peer: str, thresholds: NDArray[np.float64]
    ) -> list[Classes]:
        """The classes of a peer's documents at thresholds of its own: a query, charged as one."""
        if not documents:
            return []
        return self._outcome.classify(peer, documents, own=thresholds).classes

    def evaluate(self, *, peer: str | None = None) -> Evaluation:
        """The joint confusion table and ROC over all peers' held-out documents, from blind sums.

        With `peer` what that peer itself sees of its own held-out documents: the whole table,
        which stays at its site (and a ROC of its own, where the study releases scores). A lone
        owner sees its own.
        """
        documents = self._fitted().federation_.documents
        if peer is None and self._outcome.study.outsourced:
            (peer,) = documents  # there is nobody to join with
        if peer is None:
            self.evaluation_: Evaluation = self._outcome.evaluate(documents)
            self._calibrated: dict[str, Calibration] = {}
            return self.evaluation_
        self._part(peer)
        tested = self._outcome.last_tested(peer, documents[peer])
        return own_view(self._outcome.study.plan, tested, peer)

    def operate_at(
        self, point: str | OperatingPoint = None, *, sensitivity: float | None = None
    ) -> Self:
        """Set the threshold above which a score speaks for its class, for queries from now on.

        A number of two classes, else a threshold by class; or a rule by which one is taken from the
        joint ROC: "youden" (the largest difference of both rates), or a `sensitivity` (the
        strictest threshold that finds at least this share of its class).
        """
        outcome, labels = self._outcome, self._outcome.study.plan.labels
        if isinstance(point, str) or sensitivity is not None:
            chosen = self._from_roc(point if isinstance(point, str) else sensitivity)
        else:
            chosen = written(labels, point)
        for fault in operating_faults(labels, chosen):
            if fault.wrong:
                raise InputError(f"operate_at: {fault.message}")
        outcome.models = {
            name: dataclasses.replace(model, operating_point=chosen)
            for name, model in outcome.models.items()
        }
        return self

    def _from_roc(self, rule: str | float | None) -> tuple[float, ...]:
        if not hasattr(self, "evaluation_"):
            raise MisuseError(
                "operate_at: there is no evaluation yet, so no joint ROC to choose from",
                hints=("evaluate() first",),
            )
        assert rule is not None
        return self.evaluation_.operating_point(rule)

    @property
    def alpha_(self) -> float:
        """The penalty of the model: the one that was chosen, where there was a list of them."""
        return self._candidate.alpha

    @property
    def kernel_width_(self) -> float | None:
        """The width of the kernel that was chosen; None where there was no choice."""
        return self._candidate.kernel_width

    @property
    def _candidate(self) -> Candidate:
        return next(iter(self._outcome.models.values())).candidate

    @property
    def _settled_plan(self) -> StudyPlan:
        """The plan of a study with the chosen model alone."""
        return self._outcome.study.plan.settled(self._candidate)

    @property
    def operating_point_(self) -> dict[Any, float]:
        """The threshold of every score, by its class."""
        names = scored_names(self._outcome.study.plan.labels)
        point = next(iter(self._outcome.models.values())).operating_point or (0.0,) * len(names)
        return {self._names[name]: threshold for name, threshold in zip(names, point, strict=True)}

    def save(self, path: str | PathLike[str], *, peer: str, replace: bool = False) -> None:
        """Store one peer's part: signed by it, and for the owner of the file alone to read."""
        model, study = self._part(peer), self._outcome.study
        identity = self._outcome.parties[peer].identity
        write_model(Path(path), model, study, identity=identity, replace=replace)

    @classmethod
    def load(cls, path: str | PathLike[str], *, study: Self) -> Self:
        """A classifier that holds one peer's stored part alone, and asks in the running `study`.

        The labels of a sealed model need its coordinator: `study` is the fitted classifier
        in whose study the part was trained.
        """
        name, model = read_model(Path(path), study._outcome.study)
        alone = cls(**study.get_params())
        for fitted, value in vars(study).items():
            if fitted not in alone.get_params():
                setattr(alone, fitted, value)
        alone.study_ = dataclasses.replace(study._outcome, models={name: model})
        alone.seconds_ = {}
        return alone

    @staticmethod
    def look(path: str | PathLike[str]) -> PartSummary:
        """Read a stored part's summary: its peer, its study, its labels and features.

        It needs no study, and is refused unless it is as its peer signed it.
        """
        return look(Path(path))

    @abstractmethod
    def _plan(self, federation: LocalFederation) -> StudyPlan:
        """The plan that follows from the parameters."""

    def _given_names(self, federation: LocalFederation) -> dict[str, Any]:
        """Every class by its name, as its owners wrote it; "other" may be nobody's."""
        given = federation.labels_as_given
        return {name: given.get(name, name) for name in self._outcome.study.plan.labels.names}

    def _fitted(self) -> Self:
        if not hasattr(self, "study_"):
            raise NotFittedError(f"{type(self).__name__}: expected fit(federation) first")
        return self

    @property
    def _outcome(self) -> StudyOutcome:
        return self._fitted().study_

    def _asker(self, peer: str | None) -> str:
        return peer if peer is not None else next(iter(self._outcome.models))

    def _part(self, peer: str) -> PeerModel | QuorumModel:
        if peer not in self._outcome.models:
            known = ", ".join(self._outcome.models)
            raise InputError(
                f"model: expected a peer that has one ({known}), found {peer!r}",
                hints=(f"peer={next(iter(self._outcome.models))!r}",),
            )
        return self._outcome.models[peer]

    def _scores(self, documents: Sequence[Document], asker: str) -> NDArray[np.float64]:
        # Asked before anything is spent: a refusal must not cost queries.
        if self._outcome.study.plan.release.opens is Opens.LABELS:
            raise MisuseError(
                "decision_function: this study gives labels only, scores are sealed",
                hints=(
                    f'{type(self).__name__}(release="margin") gives scores to the peer that asks',
                ),
            )
        scores = self._outcome.classify(asker, documents).scores
        assert scores is not None
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _probabilities(self, documents: Sequence[Document], asker: str) -> NDArray[np.float64]:
        plan = self._outcome.study.plan
        evaluation = held(getattr(self, "evaluation_", None))
        exclusive = plan.labels.exclusive
        if plan.release.opens is not Opens.LABELS:
            scores = self._scores(documents, asker).reshape(len(documents), -1)
            return from_scores(scores, calibrations(evaluation), exclusive=exclusive)
        if not exclusive:
            raise MisuseError(
                "predict_proba: expected classes that exclude each other, or scores, found sealed "
                f"scores of {len(plan.labels.names)} classes that overlap",
                hints=(
                    f'{type(self).__name__}(release="margin") gives scores to the peer that asks',
                ),
            )
        if plan.labels.width > 1:
            return self._from_margins(documents, asker, evaluation)
        if not evaluation.calibration:
            predicted = self._outcome.classify(asker, documents).classes if documents else []
            return from_labels(predicted, evaluation)
        point = np.array(self._part(asker).operating_point or (0.0,))

        def above(numbers: Numbers, thresholds: NDArray[np.float64]) -> NDArray[np.bool_]:
            asked = [documents[number] for number in numbers]
            predicted = self.classes_at(asked, asker, thresholds[:, np.newaxis] - point)
            return np.array([classes == plan.labels.names[-1:] for classes in predicted], np.bool_)

        return from_bins(len(documents), calibrations(evaluation)[0], above)

    def _from_margins(
        self, documents: Sequence[Document], asker: str, evaluation: Evaluation
    ) -> NDArray[np.float64]:
        """Probabilities of more than two sealed classes."""
        if asker not in self._calibrated:
            own = self._outcome.held_out(asker, self.federation_.documents[asker])
            predicted, numbers = self._margins(own, asker)
            true = map(self._outcome.study.plan.labels.classes, own)
            right = [label == other for label, other in zip(true, predicted, strict=True)]
            self._calibrated[asker] = Calibration.of_margins(
                numbers, np.array(right, np.bool_), accuracy=evaluation.accuracy
            )
        predicted, numbers = self._margins(documents, asker)
        return from_margins(predicted, numbers, self._calibrated[asker], evaluation)

    def _margins(
        self, documents: Sequence[Document], asker: str
    ) -> tuple[Sequence[Classes], Numbers]:
        """Labels, and the bin of the margin by which each won: four queries, charged as such.

        A label that is the same at a threshold of its class has at least that margin.
        """
        if not documents:
            return [], np.zeros(0, np.int64)
        labels = self._outcome.study.plan.labels
        predicted = self._outcome.classify(asker, documents).classes
        places = np.array([labels.names.index(name) for (name,) in predicted])

        def above(numbers: Numbers, thresholds: NDArray[np.float64]) -> NDArray[np.bool_]:
            own = np.zeros((len(numbers), labels.width))
            own[np.arange(len(numbers)), places[numbers]] = thresholds
            again = self.classes_at([documents[number] for number in numbers], asker, own)
            before = [predicted[number] for number in numbers]
            return np.array([now == then for now, then in zip(again, before, strict=True)])

        return predicted, bin_numbers(len(documents), MARGINS, above)

    def _label(self, classes: Classes) -> Any:
        if self._outcome.study.plan.labels.exclusive:
            return self._names[classes[0]]
        return tuple(self._names[name] for name in classes)

    def labels_of(self, predicted: Sequence[Classes]) -> Any:
        """Classes as their owners wrote them: an array where a row has one."""
        labels = [self._label(classes) for classes in predicted]
        if not self._outcome.study.plan.labels.exclusive:
            return labels
        return np.array(labels, dtype=self.classes_.dtype)

    def __getstate__(self) -> NoReturn:
        """Refuse to be pickled: a fitted study holds every party's secrets side by side."""
        raise MisuseError(
            f"{type(self).__name__}: never pickled, it holds keys and encrypted weights",
            hints=("save(path, peer=…) stores one peer's part",),
        )


def _check_policy(policy: Policy, study: Study) -> None:
    """Refuse a plan that the peers of a federation did not consent to; toy keys are for tests."""
    if max(study.plan.key_sizes) < policy.key_bits:
        policy = dataclasses.replace(policy, key_bits=min(study.plan.key_sizes))
    try:
        policy.check(study)
    except InputError as error:
        wanted = "" if study.plan.release.usual else f"releases={{'{study.plan.release}'}}"
        hint = f"where the peers consent: LocalFederation(…, policy=Policy({wanted or '…'}))"
        imported = "from sottovoce.study import Policy"
        raise InputError(error.message, hints=(hint, imported)) from None


def _warn_of_rare(plan: StudyPlan, federation: LocalFederation) -> None:
    """Name the classes of which a peer has too few documents."""
    for peer, documents in federation.documents.items():
        rare = rare_classes(plan, plan.split.part(documents, Side.TRAIN))
        lines = list(rare_sentences(plan, rare))
        if lines:
            further = f"; and {len(lines) - 1} more classes" if len(lines) > 1 else ""
            warnings.warn(f"{peer}: {lines[0]}{further}", LeftOutWarning, stacklevel=3)


def check_labels(labels: Any) -> None:
    """Refuse what is no list of labels, before a query is spent on it."""
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        given = "nothing" if labels is None else f"a {type(labels).__name__}"
        raise InputError(f"score: expected a list of labels, found {given}")


def share_found(predicted: Sequence[Any], labels: Sequence[Any]) -> float:
    """The share of rows whose label was found."""
    if len(predicted) != len(labels):
        raise MismatchError(f"score: expected {len(predicted)} labels, found {len(labels)}")
    return float(
        np.mean([label == true_label for label, true_label in zip(predicted, labels, strict=True)])
    )


def _both(first: OnStage, second: OnStage) -> OnStage:
    def on_stage(stage: str) -> None:
        first(stage)
        second(stage)

    return on_stage


class _StageClock:
    """Measures the stages of a study from its progress events."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.perf_counter()

    def enter(self, stage: str) -> None:
        """Book the time since the last call to the stage that ends now."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now
