"""Accuracy of each peer alone, of the joint model, and of a model of pooled text."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sottovoce.pictures.quality import compared_html
from sottovoce.pictures.shown import notebook_html


@dataclass(frozen=True)
class Comparison:
    """Accuracies on the documents that all peers hold out, each model on the same ones.

    `alone` and `pooled` are learnt in plaintext, which only a federation in memory can do: there
    all documents lie side by side.
    """

    alone: Mapping[str, float]
    joint: float
    pooled: float
    growth: Mapping[int, float] = field(default_factory=dict)
    """The accuracies of the first peer, the first two and so on, pooled in plaintext."""

    @property
    def accuracies(self) -> dict[str, float]:
        """Every accuracy by its name."""
        alone = {f"{peer}, alone": value for peer, value in self.alone.items()}
        return {**alone, "all, sealed": self.joint, "all text pooled, in plaintext": self.pooled}

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value:.1%}" for name, value in self.accuracies.items())

    def _repr_html_(self) -> str:
        return notebook_html(compared_html(self.accuracies))
