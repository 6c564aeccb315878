import pytest

from sottovoce.errors import InputError
from sottovoce.text.documents import Document
from sottovoce.text.reading import Level, Reading
from sottovoce.text.tokenizing.windows import EDGE, Window, shape


def features(text: str, index: int, window: Window) -> set[str]:
    reading = Reading(Level.TOKEN, window=window)
    row = reading.rows(Document(text))[index]
    return {feature for piece in row.pieces for feature in reading.fold(piece)}


def test_a_token_sees_itself_its_neighbours_affixes_shape_and_gaps() -> None:
    seen = features("of Diabetes, type", 1, Window(reach=1, affix=2))
    assert seen == {
        "-1=of", "-1$of", "-1shape=x",
        "0=diabetes", "0shape=Xx", "0^d", "0^di", "0$s", "0$es",
        "1=type", "1$pe", "1shape=x",
        "<of diabetes", ">diabetes type",
        "(", "),",
    }  # fmt: skip


def test_edges_of_a_text_are_seen_as_edges() -> None:
    seen = features("pain", 0, Window(reach=2, affix=0, pairs=False, gaps=False))
    edges = {f"{offset}={EDGE}" for offset in (-2, -1, 1, 2)}
    assert seen == edges | {"0=pain", "0shape=x"}


def test_a_window_of_nothing_is_the_word_alone() -> None:
    seen = features("a pain b", 1, Window(reach=0, affix=0, gaps=False))
    assert seen == {"0=pain", "0shape=x"}


@pytest.mark.parametrize(
    ("word", "expected"),
    [("pain", "x"), ("Pain", "Xx"), ("McDonald", "XxXx"), ("T4", "X0"), ("12.5", "0.0"),
     ("A", "X1"), ("病", "x1"), ("£", "£1"), ("x" * 30 + "Y" * 3, "xX")],
)  # fmt: skip
def test_shapes(word: str, expected: str) -> None:
    assert shape(word) == expected


@pytest.mark.parametrize(("reach", "affix"), [(-1, 0), (9, 0), (0, 9)])
def test_windows_out_of_range_are_refused(reach: int, affix: int) -> None:
    with pytest.raises(InputError, match="window: expected a reach and affixes from 0 to 8"):
        Window(reach, affix)
