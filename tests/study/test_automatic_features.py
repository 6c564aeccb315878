"""How wide the blocks of a row are, by rules that ask for public numbers alone."""

from dataclasses import replace
from typing import Any

import pytest

from sottovoce.errors import InputError
from sottovoce.study.automatic_features import (
    AUTO,
    Circumstances,
    columns,
    held_out,
    penalty,
)
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.text.blocks import Blocks
from sottovoce.text.encoding import EncoderName
from sottovoce.text.reading import Level, NGrams

KERNEL = {"kernel": 2048, "kernel_weight": 2.0, "kernel_width": 1.0}


@pytest.mark.parametrize(
    ("about", "features", "beside"),
    [
        (Circumstances(2), 2048, Blocks(tail=2048, tail_idf=2.0)),
        (Circumstances(2, documents=100), 2048, Blocks(tail=256, tail_idf=2.0)),
        (Circumstances(2, documents=700), 2048, Blocks(tail=1024, tail_idf=2.0)),
        (Circumstances(2, Level.SENTENCE, documents=700), 2048, Blocks(tail=2048, tail_idf=2.0)),
        (Circumstances(33, documents=1000), 2048, Blocks(tail=2048, **KERNEL)),
        (Circumstances(32, documents=1024), 4096, Blocks(tail=1024, tail_idf=2.0)),
        (Circumstances(32, documents=9000), 4096, Blocks(tail=1024, tail_idf=2.0)),
        (Circumstances(33, documents=9000), 2048, Blocks(tail=2048, **KERNEL)),
        (Circumstances(33), 2048, Blocks(tail=2048, **KERNEL)),
        (Circumstances(33, Level.TOKEN, documents=9000), 2048, Blocks()),
        (Circumstances(2, engine=Engine.PAILLIER, documents=9000), 128, Blocks()),
        (Circumstances(2, dictionary=DictionaryKind.HASHED, documents=9000), 2048, Blocks()),
    ],
)
def test_rows_grow_with_documents_and_get_a_kernel_with_many_classes(
    about: Circumstances, features: int, beside: Blocks
) -> None:
    result = columns({}, about)
    assert (result.features, result.beside) == (features, beside)


LONG = Blocks(tail=2048, tail_idf=2.0, tail_of="words")


@pytest.mark.parametrize(
    ("about", "features", "beside", "characters"),
    [
        (Circumstances(2, documents=2048, words=100), 4096, LONG, None),
        (Circumstances(2, documents=2048, words=99), 4096, Blocks(tail=1024, tail_idf=2.0), (3, 5)),
        (Circumstances(2, documents=2047, words=300), 4096, replace(LONG, tail=1024), (3, 5)),
        (Circumstances(2, documents=200, words=300), 4096, replace(LONG, tail=512), (3, 5)),
        (Circumstances(2, words=300), 4096, replace(LONG, tail=1024), (3, 5)),
        (Circumstances(2, Level.SENTENCE, words=300), 2048, replace(LONG, tail_of="all"), (3, 5)),
    ],
)
def test_of_long_texts_the_tail_is_of_words_and_of_many_no_characters_are_read(
    about: Circumstances, features: int, beside: Blocks, characters: tuple[int, int] | None
) -> None:
    result = columns({}, about)
    assert (result.features, result.beside) == (features, beside)
    assert result.ngrams == NGrams((1, 2), characters, letters=7 if characters is None else None)


def test_of_many_long_texts_of_many_classes_single_words_are_read() -> None:
    ten, nine = (Circumstances(classes, documents=2048, words=100) for classes in (10, 9))
    result = columns({}, ten)
    assert result.ngrams == NGrams((1, 1), letters=7)
    assert (result.features, result.beside) == (4096, replace(LONG, tail_idf=5.0))
    assert columns({}, nine).ngrams == NGrams((1, 2), letters=7)
    assert (penalty(AUTO, ten, features=AUTO), penalty(AUTO, nine, features=AUTO)) == (1.0, 2.0)
    assert columns({"ngrams": (1, 2)}, ten).ngrams == NGrams((1, 2), letters=7)
    assert columns({"letters": "none"}, ten).ngrams == NGrams((1, 1))
    assert columns({"letters": 5, "features": 9}, nine).ngrams == NGrams((1, 2), (3, 5), 5)
    assert columns({"features": 500}, ten).ngrams == NGrams((1, 2), (3, 5))


def test_what_is_told_about_characters_holds_for_long_texts() -> None:
    about = Circumstances(2, documents=5000, words=300)
    assert columns({"characters": (2, 4)}, about).ngrams == NGrams((1, 2), (2, 4))
    assert columns({"features": 500}, about).ngrams.characters == (3, 5)
    assert columns({"tail_of": "all"}, about).beside.tail_of == "all"


def test_the_vector_of_a_long_text_weighs_half_unless_topics_are_told_apart() -> None:
    encoder = EncoderName.read(f"static:256:{'0' * 64}")
    long, short = Circumstances(2, words=300), Circumstances(2)
    topics = Circumstances(10, documents=2048, words=300)

    def weight(about: Circumstances, **given: Any) -> float:
        return columns({"encoder": encoder, **given}, about).beside.encoder_weight

    assert (weight(long), weight(short), weight(topics)) == (0.5, 1.0, 1.0)
    assert weight(long, encoder_weight=2.0) == 2.0
    assert columns({}, long).beside.encoder_weight == 1.0


def test_what_is_given_holds_and_a_number_of_features_has_nothing_beside() -> None:
    about = Circumstances(40, documents=9000)
    assert columns({"features": 500}, about).beside == Blocks()
    given = columns({"tail": 64, "tail_idf": 4.0, "kernel": 0}, Circumstances(2))
    assert given.beside == Blocks(tail=64, tail_idf=4.0)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("kernel_width", (0.5, "wide"), "a number"), ("tail", "wide", "a whole number"),
     ("kernel", 2.5, "a whole number"), ("encoder_weight", "heavy", "a number")],
)  # fmt: skip
def test_settings_of_blocks_that_are_no_numbers_are_refused_by_name(
    name: str, value: Any, expected: str
) -> None:
    with pytest.raises(InputError, match=f"{name}: expected {expected}, found"):
        columns({name: value}, Circumstances(2))


def test_the_penalty_is_stronger_where_the_rules_add_a_tail_and_no_kernel() -> None:
    few, many = Circumstances(2), Circumstances(40)
    assert penalty(AUTO, few, features=AUTO) > penalty(AUTO, few, features=500) == 1.0
    assert penalty(AUTO, many, features=AUTO) == 0.5
    assert penalty(AUTO, Circumstances(2, engine=Engine.PAILLIER), features=AUTO) == 1.0
    assert penalty(AUTO, Circumstances(2, Level.TOKEN), features=AUTO) == 1.0
    assert penalty((0.3, 1.0), few, features=AUTO) == (0.3, 1.0)


@pytest.mark.parametrize(
    ("documents", "share"),
    [(None, 0.2), (0, 0.2), (150, 0.2), (300, 0.13), (800, 0.1), (1_250, 0.08), (90_000, 0.05)],
)
def test_as_many_documents_are_held_out_as_it_takes_to_judge(
    documents: int | None, share: float
) -> None:
    assert held_out(AUTO, Circumstances(2, documents=documents)) == share
    assert held_out(0.3, Circumstances(2, documents=documents)) == 0.3
