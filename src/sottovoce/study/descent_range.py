"""What learner `rado-descent` is for: everything else in a plan is refused by name."""

from collections.abc import Iterator
from typing import Protocol

from sottovoce.errors import SettingFault
from sottovoce.study.arrangement import Arrangement
from sottovoce.study.choices import Contribution, Engine
from sottovoce.text.labels import Labels

# Its cost grows with columns × rados × classes. Exponents are counted from the mean of the rados,
# which is exact for a power of two of them.
DESCENT_RADOS = (32, 64, 128, 256, 512, 1024)
MOST_DESCENT_COLUMNS = 128
MOST_DESCENT_CLASSES = 8


class DescentSettings(Protocol):
    """What of a plan the learner looks at."""

    @property
    def labels(self) -> Labels:
        """What is told apart."""

    @property
    def engine(self) -> Engine:
        """How the sealed work is done."""

    @property
    def contribution(self) -> Contribution:
        """What peers bring."""

    @property
    def rados(self) -> int:
        """How many rados."""

    @property
    def arrangement(self) -> Arrangement:
        """Who holds what."""

    @property
    def distrusted(self) -> tuple[int, ...]:
        """Columns with a penalty of their own."""

    @property
    def width(self) -> int:
        """How many columns a row has at most."""

    @property
    def alphas(self) -> tuple[float, ...]:
        """The penalties to choose from."""


def descent_faults(plan: DescentSettings) -> Iterator[SettingFault]:
    """What of a plan with learner rado-descent it cannot do."""
    closed = "learner='closed-form'"
    partition, distrusted = plan.arrangement.partition, len(plan.distrusted)
    for setting, fits, wanted, found, hint in (
        (
            "contribution",
            plan.contribution is Contribution.RADOS,
            "contribution 'rados'",
            plan.contribution,
            "contribution='rados'",
        ),
        (
            "rados",
            plan.rados in DESCENT_RADOS,
            f"{', '.join(map(str, DESCENT_RADOS))} rados",
            plan.rados,
            "rados=128",
        ),
        (
            "engine",
            plan.engine in {Engine.AUTO, Engine.PAILLIER},
            "engine paillier",
            plan.engine,
            "engine='paillier'",
        ),
        ("partition", not plan.arrangement.by_features, "partition documents", partition, closed),
        ("alpha", len(plan.alphas) == 1, "one penalty", len(plan.alphas), "alpha=1.0"),
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
        text = f"learner rado-descent needs {wanted}, found {found}"
        yield SettingFault(not fits, setting, text, hint)
