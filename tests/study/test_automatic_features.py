"""How wide the blocks of a row are, by rules that ask for public numbers alone."""

import pytest

from sottovoce.study.automatic_features import Circumstances, columns
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.text.blocks import Blocks
from sottovoce.text.reading import Level

KERNEL = {"kernel": 2048, "kernel_weight": 2.0, "kernel_width": 1.0}


@pytest.mark.parametrize(
    ("about", "features", "beside"),
    [
        (Circumstances(2), 2048, Blocks(tail=2048, tail_idf=2.0)),
        (Circumstances(2, documents=100), 2048, Blocks(tail=256, tail_idf=2.0)),
        (Circumstances(2, documents=700), 2048, Blocks(tail=2048, tail_idf=2.0)),
        (Circumstances(32, documents=1024), 3072, Blocks(tail=2048, tail_idf=2.0)),
        (Circumstances(32, documents=9000), 3072, Blocks(tail=3072, tail_idf=2.0)),
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
    found = columns({}, about)
    assert (found.features, found.beside) == (features, beside)


def test_what_is_given_holds_and_a_number_of_features_has_nothing_beside() -> None:
    about = Circumstances(40, documents=9000)
    assert columns({"features": 500}, about).beside == Blocks()
    given = columns({"tail": 64, "tail_idf": 4.0, "kernel": 0}, Circumstances(2))
    assert given.beside == Blocks(tail=64, tail_idf=4.0)
