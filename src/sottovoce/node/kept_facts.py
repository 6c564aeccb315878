"""Facts that commands show later: totals, evaluations, and the cost of each stage."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.course.news import StageEnded
from sottovoce.errors import KeyFileError
from sottovoce.keyfiles import storage
from sottovoce.node.events import EvaluationHeld, Event, Moved, OnEvent, TotalsPublished
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation

if TYPE_CHECKING:
    from sottovoce.study.totals import Totals

_EVALUATIONS = "evaluations"
_COSTS = "costs.json"
_ALONE = "alone.json"
_TOTALS = "totals.json"
_LARGEST = 2**22
_log = logging.getLogger("sottovoce.facts")


def keep_evaluation(folder: Path, kept: KeptEvaluation) -> None:
    """Keep an evaluation beside the earlier ones."""
    into = folder / _EVALUATIONS
    try:
        storage.make_folder(into)
    except KeyFileError as error:
        _log.warning("an evaluation is not kept: %s", error.message)
        return
    before = sorted(into.glob("*.json"))
    last = _read(before[-1]) if before else None
    # A site's own figures come first, and are replaced when the joint ones arrive.
    goes_on = last is not None and last.joint is None
    path = before[-1] if goes_on else into / f"{len(before) + 1:04}.json"
    storage.write_for_information(path, kept.encode())


def kept_evaluations(folder: Path) -> tuple[KeptEvaluation, ...]:
    """Every readable evaluation, the oldest first."""
    into = folder / _EVALUATIONS
    paths = sorted(into.glob("*.json")) if into.is_dir() else ()
    return tuple(evaluation for evaluation in map(_read, paths) if evaluation is not None)


def _read(path: Path) -> KeptEvaluation | None:
    try:
        data = storage.read_whole(path, limit=_LARGEST).data
        return KeptEvaluation.decode(data, name=str(path))
    except KeyFileError:
        _log.warning("%s: cannot be read as an evaluation, and is left out", path)
        return None


def keep_alone(folder: Path, accuracy: float, *, joint: float | None = None) -> None:
    """Keep the accuracy of this site's own model on the held-out documents.

    `joint` is that of the joint model at this site's class frequencies, where it was asked for.
    """
    content = {"accuracy": accuracy} | ({} if joint is None else {"joint": joint})
    storage.write_for_information(folder / _ALONE, json.dumps(content).encode())


def kept_alone(folder: Path) -> float | None:
    """The accuracy of this site's own model, if it was measured."""
    return _kept_accuracy(folder, "accuracy")


def kept_joint(folder: Path) -> float | None:
    """The accuracy of the joint model at this site's class frequencies, if it was measured."""
    return _kept_accuracy(folder, "joint")


def _kept_accuracy(folder: Path, name: str) -> float | None:
    path = folder / _ALONE
    if not path.exists():
        return None
    try:
        kept = json.loads(storage.read_whole(path, limit=_LARGEST).data).get(name)
        return None if kept is None else float(kept)
    except (ValueError, AttributeError, TypeError, KeyFileError):
        _log.warning("%s: cannot be read as an accuracy, and is left out", path)
        return None


def keep_totals(folder: Path, totals: "Totals") -> None:
    """Keep how many words and documents all sites together learnt from, as published."""
    storage.write_for_information(folder / _TOTALS, json.dumps(asdict(totals)).encode())


def kept_totals(folder: Path) -> "Totals | None":
    """Return how many words and documents all sites learnt from, if it was kept."""
    from sottovoce.study.totals import Totals

    path = folder / _TOTALS
    if not path.exists():
        return None
    try:
        kept = json.loads(storage.read_whole(path, limit=_LARGEST).data)
        by_class = tuple(int(rows) for rows in kept["by_class"])
        peers = tuple(str(peer) for peer in kept["peers"])
        return Totals(int(kept["rows"]), by_class, peers, int(kept["absent"]))
    except (ValueError, TypeError, KeyError, KeyFileError):
        _log.warning("%s: cannot be read as totals, and is left out", path)
        return None


@dataclass(frozen=True)
class StageCosts:
    """Seconds and bytes of every finished stage, by its name."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)


def kept_costs(folder: Path) -> StageCosts:
    """The costs of the stages that were kept."""
    path = folder / _COSTS
    if not path.exists():
        return StageCosts()
    try:
        status = json.loads(storage.read_whole(path, limit=_LARGEST).data)
        seconds = {str(stage): float(amount) for stage, amount in status["seconds"].items()}
        sent = {str(stage): int(amount) for stage, amount in status["bytes"].items()}
        return StageCosts(seconds, sent)
    except (ValueError, KeyError, TypeError, AttributeError, KeyFileError):
        _log.warning("%s: cannot be read as costs of stages, and is written again", path)
        return StageCosts()


class FactKeeper:
    """Passes events on, and keeps facts that people ask for after the study.

    The files only inform: if one is damaged or cannot be written, the study continues.
    """

    def __init__(self, folder: Path, on_event: OnEvent) -> None:
        self._folder = folder
        self._on_event = on_event
        self._moved: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Pass an event on, after its facts are on disk."""
        match event:
            case Moved(_, _, stage, _, size):
                self._moved[stage] = size
            case StageEnded(_, _, stage, _, seconds):
                self._add(stage, seconds)
            case TotalsPublished():
                keep_totals(self._folder, event.totals)
            case EvaluationHeld():
                kept = KeptEvaluation.decode(event.figures.encode(), name="the evaluation")
                keep_evaluation(self._folder, kept)
        self._on_event(event)

    def _add(self, stage: str, seconds: float) -> None:
        before = kept_costs(self._folder)
        content = {
            "seconds": {**before.seconds, stage: before.seconds.get(stage, 0.0) + seconds},
            "bytes": {**before.bytes, stage: self._moved.get(stage, before.bytes.get(stage, 0))},
        }
        storage.write_for_information(self._folder / _COSTS, json.dumps(content).encode())
