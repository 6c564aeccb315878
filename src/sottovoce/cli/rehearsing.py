"""Try a plan on your own text, before anybody is invited.

The text is dealt at random to as many peers as the study has. Each part is checked as `join` checks
it, and a model is learnt in plaintext. No site's text is needed, and nothing is sent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sottovoce.config.study_file import StudyDescription
from sottovoce.errors import InputError
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.study.card.stage_bytes import stage_bytes
from sottovoce.study.rehearsal import Rehearsed, check_documents
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.text.reading import Level
from sottovoce.text.splits import Side, position


@dataclass(frozen=True)
class PlanRehearsal:
    """Each peer's documents and bytes, and the accuracy of the plan on this text."""

    described: StudyDescription
    peers: dict[str, Rehearsed]
    words: int
    columns: int
    accuracy: float | None

    @classmethod
    def of(cls, described: StudyDescription, documents: Sequence[Document]) -> "PlanRehearsal":
        """Try the plan on documents; refuses what would stop the study."""
        plan, study = described.plan, described.rehearsed()
        if plan.arrangement.by_features:
            raise InputError(
                "rehearse: expected partition documents, found features: one table cannot stand "
                "for the columns of several peers"
            )
        parts = _dealt(documents, study.roster.peers)
        rehearsed = {name: _checked(study, name, part) for name, part in parts.items()}
        model = PlainText.learn(plan, list(parts.values()))
        held_out = on_side(plan, documents, Side.VALIDATION)
        judged = plan.level is Level.DOCUMENT and held_out
        reached = model.accuracy(held_out) if judged else None
        words = model.space.dictionary.size
        return cls(described, rehearsed, words, model.space.width, reached)

    @property
    def sent(self) -> int:
        """The number of bytes that each peer moves in a training with as many words."""
        study = self.described.rehearsed()
        moved = stage_bytes(replace(study, plan=replace(study.plan, features=self.words)))
        return max(
            sum(size for (peer, _), size in moved.items() if peer == name) for name in self.peers
        )

    def sentences(self) -> Iterator[str]:
        """The numbers as sentences."""
        for name, brought in self.peers.items():
            yield from (f"{name}: {line}" for line in brought.sentences(self.described.plan))
        yield f"a row has {self.columns:,} columns; each peer moves about {self.sent / 1e6:,.1f} MB"
        if self.accuracy is not None:
            yield f"in plaintext the model is right on {self.accuracy:.1%} of the held-out text"

    def facts(self) -> dict[str, object]:
        """The same for scripts."""
        return {
            "peers": {
                name: {
                    "documents": rehearsed.documents,
                    "words": round(rehearsed.words),
                    "features": rehearsed.features,
                    "rare": dict(rehearsed.rare),
                }
                for name, rehearsed in self.peers.items()
            },
            "columns": self.columns,
            "bytes": self.sent,
            "accuracy": self.accuracy,
        }


def _checked(study: Study, name: str, part: Sequence[Document]) -> Rehearsed:
    """A part as `join` checks it; what is wrong may be that it is too small."""
    try:
        return check_documents(study, name, part)
    except InputError as error:
        few = f"{len(part):,} documents were dealt to {name}, as to each peer: bring more of them"
        raise InputError(error.message, hints=(few, *error.hints)) from error


def _dealt(documents: Sequence[Document], peers: Sequence[str]) -> dict[str, list[Document]]:
    """The documents of each peer, dealt at random; copies stay together."""
    parts: dict[str, list[Document]] = {name: [] for name in peers}
    for document in documents:
        share = position(document, purpose="rehearsed peers")
        parts[peers[int(len(peers) * share)]].append(document)
    return parts
