"""The record of an evaluation that is kept and shown later: plain JSON, read strictly."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.errors import DamagedFileError
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.evaluations.roc import Roc
from sottovoce.text.labels import Labels

_VERSION = 1


@dataclass(frozen=True)
class KeptEvaluation:
    """An evaluation's time, this site's own figures if it has any, and the joint figures.

    `at` is in seconds since 1970. The coordinator has only joint figures; a site whose joint
    evaluation was not opened has only its own.
    """

    at: float
    own: Evaluation | None = None
    joint: Evaluation | None = None

    def encode(self) -> bytes:
        """The bytes on disk."""
        content = {
            "version": _VERSION,
            "at": self.at,
            "own": None if self.own is None else figures(self.own),
            "joint": None if self.joint is None else figures(self.joint),
        }
        return json.dumps(content).encode()

    @classmethod
    def decode(cls, data: bytes, *, name: str) -> "KeptEvaluation":
        """Return the record in these bytes; raise `DamagedFileError` if they hold none."""
        try:
            fields = json.loads(data)
            if fields["version"] == _VERSION:
                own, joint = (None if fields[key] is None else _read(fields[key]) for key in _SIDES)
                return cls(float(fields["at"]), own, joint)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            pass
        raise DamagedFileError(f"{name}: expected an evaluation that was kept")


_SIDES = ("own", "joint")


def figures(evaluation: Evaluation) -> dict[str, Any]:
    """Return all figures of an evaluation, for scripts and for the record."""
    return {
        "accuracy": evaluation.accuracy,
        "f1": evaluation.f1,
        "confusion": evaluation.counts.tolist(),
        "left_out": evaluation.left_out.tolist(),
        "fewest": evaluation.fewest,
        "labels": list(evaluation.labels.names),
        "exclusive": evaluation.labels.exclusive,
        "peers": list(evaluation.peers),
        "roc": {name: _curve(curve) for name, curve in evaluation.roc.items()},
    }


def _curve(curve: Roc) -> dict[str, Any]:
    return {
        "auc": curve.auc,
        "auc_range": curve.auc_range,
        "thresholds": list(curve.thresholds),
        "false_positive_rate": list(curve.false_positive_rate),
        "true_positive_rate": list(curve.true_positive_rate),
    }


def _read(record: Mapping[str, Any]) -> Evaluation:
    labels = Labels(tuple(map(str, record["labels"])), exclusive=bool(record["exclusive"]))
    width = len(labels.names)
    shape = (width, width) if labels.exclusive else (width, 2, 2)
    roc = {
        str(name): Roc(
            tuple(map(float, curve["thresholds"])),
            tuple(map(float, curve["false_positive_rate"])),
            tuple(map(float, curve["true_positive_rate"])),
        )
        for name, curve in record["roc"].items()
    }
    counts = np.array(record["confusion"], np.int64).reshape(shape)
    left_out = np.array(record["left_out"], np.bool_).reshape(shape)
    peers = tuple(map(str, record["peers"]))
    return Evaluation(labels, counts, left_out, int(record["fewest"]), peers, roc)
