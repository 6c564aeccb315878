"""What each block of columns costs a site: CPU seconds to read and to add up, bytes to send.

The same made-up documents are read with one block more each time. Bytes are those of one peer's
contribution in engine shares: a triangle of second moments and a right-hand side for each class.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.accuracy import KEY
from benchmarks.studies.text import LABELLING, synthetic_documents
from sottovoce.cli.terminal.measurements import Row
from sottovoce.rados import Moments, solve
from sottovoce.study import StudyPlan
from sottovoce.study.automatic_features import CHARACTERS, WORDS
from sottovoce.study.stages.contributions import MomentPlan
from sottovoce.study.totals import Totals
from sottovoce.text.blocks import Blocks
from sottovoce.text.dictionary.selection import chosen
from sottovoce.text.documents import Document
from sottovoce.text.encoding import EncoderName
from sottovoce.text.features import FeatureSpace
from sottovoce.text.passes import rounded_count, training_examples
from sottovoce.text.reading import NGrams, Reading


@dataclass(frozen=True)
class BlockTrial:
    """How many documents are read, and how wide the blocks are."""

    documents: int = 10_000
    features: int = 2048
    tail: int = 2048
    kernel: int = 2048
    encoder: EncoderName | None = None

    def rows(self) -> Iterator[Row]:
        """A line for each set of blocks, with what it costs more than the first."""
        documents = list(synthetic_documents(self.documents))
        for name, blocks in self._settings():
            yield {"blocks": name, **_measured(self._plan(blocks), documents)}

    def _settings(self) -> Iterator[tuple[str, Blocks]]:
        yield "words", Blocks()
        yield "words, tail", Blocks(tail=self.tail)
        if self.encoder is not None:
            yield "words, tail, encoder", Blocks(tail=self.tail, encoder=self.encoder)
        wide = Blocks(tail=self.tail, encoder=self.encoder, kernel=self.kernel, kernel_width=1.0)
        yield "words, tail, kernel" if self.encoder is None else "all", wide

    def _plan(self, blocks: Blocks) -> StudyPlan:
        reading = Reading(ngrams=NGrams(WORDS, CHARACTERS))
        return StudyPlan(
            "blocks", LABELLING.labels, features=self.features, reading=reading, beside=blocks
        )


def _measured(plan: StudyPlan, documents: Sequence[Document]) -> Row:
    began = time.process_time()
    counts = rounded_count(documents, plan.count_plan, key=KEY)
    words = chosen(counts, plan.selection, exclusive=True)
    counted = time.process_time()
    space = FeatureSpace(words, plan.reading, plan.weighting, plan.columns, plan.beside)
    moments = Moments(space.width, plan.labels.width)
    for block in training_examples(
        documents, space, plan.labelled, fewest=plan.min_documents, key=KEY
    ):
        moments.add(block.rows, block.targets)
    added = time.process_time()
    solve(moments.second, moments.products, penalty=1.0)
    solved = time.process_time()
    totals = Totals(counts.rows, (), (), absent=plan.features - words.size)
    return {
        "columns": space.width,
        "counting_s": round(counted - began, 2),
        "rows_s": round(added - counted, 2),
        "plain_solve_s": round(solved - added, 2),
        "sent_mb": round(8 * MomentPlan.of(plan, totals).length / 1e6, 1),
    }
