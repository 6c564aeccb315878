"""The settings of a study in memory, and the record of its conversations."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sottovoce.paillier import SecretKey
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.view import Traffic, View
from sottovoce.study.policy import Policy
from sottovoce.study.stages.training import OnStage

AFTER_TRAINING = "queries and evaluations"


@dataclass
class Record:
    """Every party's view and the traffic so far, over all conversations.

    Without `keeps_views` the views stay empty: they hold every message.
    """

    keeps_views: bool = True
    views: dict[str, View] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    stage_bytes: Counter[str] = field(default_factory=Counter)

    def add(self, views: Mapping[str, View], traffic: Traffic, *, stage: str) -> None:
        """Add one conversation of a stage, a query or an evaluation."""
        for name, view in views.items() if self.keeps_views else ():
            self.views.setdefault(name, View(name)).received.extend(view.received)
        self.traffic.add(traffic)
        self.stage_bytes[stage] += traffic.total_bytes


@dataclass(frozen=True)
class Setting:
    """The settings of a study in memory: an existing key, policies, a meddler, views or none."""

    key: SecretKey | None = None
    policies: Mapping[str, Policy] | None = None
    meddler: Meddler | None = None
    on_stage: OnStage = lambda _: None
    on_steps: Callable[[int], None] | None = None
    views: bool = True
