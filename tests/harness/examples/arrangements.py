"""The paper's arrangements with toy keys, between machines and in memory.

Whatever is random about a result is drawn from one seed here (`one_draw`), so that a study between
processes, killed or not, gives the labels of the same study in memory.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from benchmarks.studies.arranged import ARRANGEMENTS, ASKER, FEWEST, ArrangedStudy, Parts
from benchmarks.studies.arrangements import trained
from harness.entropy import SeededEntropy
from harness.network import read_toy
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.study.stages import sampling
from sottovoce.study.stages.encrypted import descent_numbers, uploads
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.text.documents import Document

_SEED = b"\x07" * 32
_SIGNS = 11
_STEPS = 3


@contextmanager
def one_draw() -> Iterator[None]:
    """Signatures of rados from one seed wherever they are drawn, and few steps of a descent."""
    taken, signatures, signs = DescentNumbers.taken, sampling.signatures, uploads.draw_signs

    def same_taken(self: DescentNumbers, documents: int, **_: Any) -> Any:
        return taken(self, documents, seed=_SEED)

    def same_signatures(count: int, documents: int, **_: Any) -> Any:
        return signatures(count, documents, seed=_SEED)

    def same_signs(count: int, documents: int, **_: Any) -> Any:
        return signs(count, documents, entropy=SeededEntropy(_SIGNS))

    with (
        patch.object(DescentNumbers, "taken", same_taken),
        patch.object(sampling, "signatures", same_signatures),
        patch.object(uploads, "draw_signs", same_signs),
        patch.object(descent_numbers, "STEPS", _STEPS),
    ):
        yield


@dataclass(frozen=True)
class ToyArrangement:
    """One of them, small."""

    arrangement: ArrangedStudy

    @property
    def name(self) -> str:
        return self.arrangement.name.replace(", ", "-").replace(" ", "-")

    @property
    def text(self) -> str:
        return self.arrangement.text(key_bits=768)

    @property
    def parts(self) -> Parts:
        return self.arrangement.parts(FEWEST)

    @property
    def sites(self) -> tuple[str, ...]:
        """A seat of every organisation that was invited."""
        return tuple(invited.seats[0].name for invited in read_toy(self.text).organisations)

    @property
    def asked(self) -> Sequence[Document]:
        return self.parts[ASKER][:12]

    def in_memory(self, seed: int = 3) -> StudyOutcome:
        """The trained study; within `one_draw` it is always the same."""
        description, entropy = read_toy(self.text), SeededEntropy(seed)
        return trained(self.arrangement, FEWEST, description=description, entropy=entropy)


BY_NAME = {toy.name: toy for toy in map(ToyArrangement, ARRANGEMENTS)}
