"""The limits of learner `rado-descent`: the error about any other setting names that setting."""

from collections.abc import Iterator
from typing import Protocol

from sottovoce.errors import SettingFault
from sottovoce.hints import PlanSetting
from sottovoce.study.arrangement import Arrangement
from sottovoce.study.choices import Contribution, Engine
from sottovoce.text.labels import Labels

# Its cost grows with columns × rados × classes. Exponents are counted from the rados' mean, which
# is exact if their number is a power of two.
DESCENT_RADOS = (32, 64, 128, 256, 512, 1024)
MOST_DESCENT_COLUMNS = 128
MOST_DESCENT_CLASSES = 8


class DescentSettings(Protocol):
    """The settings of a plan that the learner uses."""

    @property
    def labels(self) -> Labels:
        """The labels of the study."""

    @property
    def engine(self) -> Engine:
        """The engine."""

    @property
    def contribution(self) -> Contribution:
        """The basis of the moments."""

    @property
    def rados(self) -> int:
        """The number of rados."""

    @property
    def arrangement(self) -> Arrangement:
        """The arrangement."""

    @property
    def distrusted(self) -> tuple[int, ...]:
        """The columns with a penalty of their own."""

    @property
    def width(self) -> int:
        """The largest number of columns of a row."""

    @property
    def alphas(self) -> tuple[float, ...]:
        """The penalties to choose from."""


def descent_faults(plan: DescentSettings) -> Iterator[SettingFault]:
    """Yield the settings with which learner rado-descent does not work."""
    closed = PlanSetting("learner", "closed-form")
    partition, distrusted = plan.arrangement.partition, len(plan.distrusted)
    for setting, fits, wanted, actual, hint in (
        (
            "contribution",
            plan.contribution is Contribution.RADOS,
            "contribution 'rados'",
            plan.contribution,
            PlanSetting("contribution", "rados"),
        ),
        (
            "rados",
            plan.rados in DESCENT_RADOS,
            f"{', '.join(map(str, DESCENT_RADOS))} rados",
            plan.rados,
            PlanSetting("rados", 128),
        ),
        (
            "engine",
            plan.engine in {Engine.AUTO, Engine.PAILLIER},
            "engine paillier",
            plan.engine,
            PlanSetting("engine", "paillier"),
        ),
        ("partition", not plan.arrangement.by_features, "partition documents", partition, closed),
        (
            "alpha",
            len(plan.alphas) == 1,
            "one penalty",
            len(plan.alphas),
            PlanSetting("alpha", 1.0),
        ),
        ("distrusted", not distrusted, "no distrusted columns", distrusted, closed),
        (
            "features",
            plan.width <= MOST_DESCENT_COLUMNS,
            f"at most {MOST_DESCENT_COLUMNS} columns",
            plan.width,
            closed,
        ),
        (
            "labels",
            plan.labels.width <= MOST_DESCENT_CLASSES,
            f"at most {MOST_DESCENT_CLASSES} classes",
            plan.labels.width,
            closed,
        ),
    ):
        text = f"learner rado-descent needs {wanted}, found {actual}"
        yield SettingFault(not fits, setting, text, hint)
