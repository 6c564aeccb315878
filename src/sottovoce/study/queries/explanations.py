"""The words that decided a label, found by asking about copies that each lack one word.

A query is padded to whole ciphertexts, and every place in them is charged, also an empty one.
Copies take the empty places, so nothing more is sent or counted than without them, and nobody else
learns more. If the peer has the weights there is no query, and every document has all its copies.

A word carried the label if the label changes without it. Where scores are released, the word's
weight is how much the label's score falls. If many words support the label, it stays the same
without any single one of them, and no word is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.stages.holdings import integer_rows
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Classes, Labels
from sottovoce.text.passes import scored_rows
from sottovoce.text.reading import Level, Reading

MOST_WORDS = 5
"""The most words that one explanation names."""


@dataclass(frozen=True, slots=True)
class CarryingWord:
    """A word that carried a label: the label without it, and how far the score falls, if known."""

    word: str
    without: Classes
    fall: float | None = None


Explanation = tuple[CarryingWord, ...] | None
"""The words that carried a label, the heaviest first; None if there was no room to ask."""


@dataclass(frozen=True)
class Copies:
    """Copies of documents, each without one word."""

    count: int = 0
    words: tuple[tuple[int, str], ...] = field(default=(), repr=False)
    """For each copy, the number of its document and the word that it lacks."""
    documents: tuple[Document, ...] = field(default=(), repr=False)
    explained: int = 0
    """The number of documents that have all useful copies."""

    def because(
        self, labels: Labels, classes: Sequence[Classes], scores: NDArray[np.float64] | None
    ) -> tuple[Explanation, ...]:
        """Return the explanation of every document, from the answers for documents and copies."""
        carrying: list[list[CarryingWord] | None] = [
            [] if number < self.explained else None for number in range(self.count)
        ]
        for place, (number, word) in enumerate(self.words, self.count):
            own = carrying[number]
            own = carrying[number] = [] if own is None else own
            fall = None
            if scores is not None:
                fall = _support(labels, scores[number], classes[number]) - _support(
                    labels, scores[place], classes[number]
                )
            if classes[place] != classes[number] or (fall is not None and fall > 0):
                own.append(CarryingWord(word, classes[place], fall))
        return tuple(None if words is None else _heaviest(words) for words in carrying)


@dataclass(frozen=True)
class DocumentQuestion:
    """The rows of a query: those of its documents, then those of their copies."""

    rows: sparse.csr_array = field(repr=False)
    count: int
    wordless: tuple[int, ...] = field(repr=False)
    """The numbers of rows that have no word known to the model."""
    copies: Copies = field(repr=False)

    @classmethod
    def of(
        cls, documents: Sequence[Document], model: PeerModel | QuorumModel, *, explain: bool
    ) -> Self:
        """Read documents; with `explain`, fill the places of the last batch with copies."""
        rows, marks = scored_rows(documents, model.space, key=model.key)
        count, wordless = int(rows.shape[0]), tuple(np.flatnonzero(marks).tolist())
        if not explain:
            return cls(rows, count, wordless, Copies())
        reader = FeatureReader(model.space, model.key)
        room = None if model.released is not None else -count % model.scores.batch
        made = copies(documents, reader, model.space.reading, room=room)
        more, _ = scored_rows(made.documents, model.space, key=model.key)
        rows = sparse.csr_array(sparse.vstack([rows, more], format="csr"))
        return cls(rows, count, wordless, made)

    @classmethod
    def held(
        cls, documents: Sequence[Document], model: PeerModel | QuorumModel, *, party: PartyContext
    ) -> Self:
        """Return rows of the columns that a peer holds, in partition `features`."""
        rows = integer_rows(party.study, model.space, party.name, documents, key=model.key)
        return cls(rows, len(documents), (), Copies())


def copies(
    documents: Sequence[Document], reader: FeatureReader, reading: Reading, *, room: int | None
) -> Copies:
    """Return as many copies as there is room for (None: all), document by document, in order.

    Words that the model does not use get no copy. If not all fit, words whose absence changes the
    row most come first.
    """
    if reading.level is not Level.DOCUMENT:
        raise InputError(f"explain: expected level document, found {reading.level}")
    words: list[tuple[int, str]] = []
    made: list[Document] = []
    whole = 0
    for number, document in enumerate(documents):
        left = None if room is None else room - len(made)
        if left == 0:
            break
        candidates = _without_each(document, reader, reading)
        chosen = candidates[:left]
        words += [(number, word) for word, _ in chosen]
        made += [copy for _, copy in chosen]
        whole += len(chosen) == len(candidates)
    return Copies(len(documents), tuple(words), tuple(made), whole)


def _without_each(
    document: Document, reader: FeatureReader, reading: Reading
) -> list[tuple[str, Document]]:
    """Return copies without one word each, for words that the model uses, the heaviest first."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for token in reading.tokenizer.locate(document.text):
        places.setdefault(token.folded, []).append((token.start, token.end))
    copies = [
        (words, replace(document, text=_cut(document.text, at))) for words, at in places.items()
    ]
    if not copies:
        return []
    rows = reader.read([document, *(copy for _, copy in copies)]).unit().toarray()
    change = np.abs(rows[1:] - rows[0]).sum(axis=1)
    order = np.argsort(-change, kind="stable")
    return [(" ".join(copies[at][0]), copies[at][1]) for at in order if change[at] > 0]


def _cut(text: str, places: list[tuple[int, int]]) -> str:
    kept, begin = [], 0
    for start, end in places:
        kept.append(text[begin:start])
        begin = end
    return " ".join([*kept, text[begin:]])


def _support(labels: Labels, scores: NDArray[np.float64], classes: Classes) -> float:
    """Return how strongly scores support these classes; two exclusive classes share one number."""
    if labels.width == 1:
        return float(scores[0]) if classes == labels.names[-1:] else -float(scores[0])
    return float(sum(scores[labels.names.index(name)] for name in classes))


def _heaviest(words: list[CarryingWord]) -> tuple[CarryingWord, ...]:
    ordered = sorted(words, key=lambda word: -(word.fall or 0.0))
    return tuple(ordered[:MOST_WORDS])
