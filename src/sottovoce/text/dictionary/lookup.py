"""Finds words of a peer's own documents in a dictionary, for that peer alone.

A `joint` dictionary is published as bucket ids. A peer can only name words of its own documents,
but any holder of the study's key can confirm a word that it guesses. `confirms` is that test; the
study card mentions it.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from sottovoce.text.dictionary.dictionaries import entry_id, gram_id
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace


def confirms(word: str, space: FeatureSpace, *, key: DictionaryKey) -> bool:
    """Return whether the dictionary has the feature of this word (or sequence of words)."""
    ids = np.array([entry_id(word, space.reading, key)], np.uint64)
    return bool(space.dictionary.locator(space.reading, key)(ids)[0] >= 0)


def own_words(
    documents: Iterable[Document], space: FeatureSpace, *, key: DictionaryKey, most: int = 5
) -> dict[int, list[str]]:
    """Return for each column up to `most` words of these documents in it, by frequency.

    Sequences are written with a space between their words, in full where only their first letters
    count; character n-grams are left out.
    """
    seen: dict[int, Counter[str]] = {}
    locate = space.dictionary.locator(space.reading, key)
    for document in documents:
        grams = _grams(document, space)
        if not grams:
            continue
        cut = space.reading.cut
        ids = np.array([gram_id(tuple(map(cut, gram)), key) for gram in grams], np.uint64)
        for gram, column in zip(grams, locate(ids).tolist(), strict=True):
            words = seen.setdefault(column, Counter())
            # Four times as many as are shown, because later words may turn out to be more frequent.
            if column >= 0 and (" ".join(gram) in words or len(words) < 4 * most):
                words[" ".join(gram)] += 1
    seen.pop(-1, None)
    return {column: [w for w, _ in seen[column].most_common(most)] for column in sorted(seen)}


def _grams(document: Document, space: FeatureSpace) -> list[tuple[str, ...]]:
    grams = []
    for row in space.reading.rows(document):
        tokens = [token for piece in row.pieces for token in space.reading.whole(piece)]
        for size in range(space.reading.shortest, space.reading.longest + 1):
            grams += [tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)]
    return grams
