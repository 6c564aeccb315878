"""Pictures are well-formed, say in words what they show, and hold nothing that runs."""

from xml.etree import ElementTree as ET

import pytest

from sottovoce.pictures.charts import Bar, Flow, amount, bars, confusion, cut, flows, roc
from sottovoce.pictures.html import Html, table, tag, text
from sottovoce.pictures.markdown import html_of
from sottovoce.pictures.page import page, section

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def parsed(html: str) -> ET.Element:
    return ET.fromstring(html)  # noqa: S314 - our own pictures


@pytest.mark.parametrize("rows", [0, 1, 12])
def test_bars_have_a_bar_a_row_and_say_their_values(rows: int) -> None:
    drawn = bars("Seconds", [Bar(f"stage {index}", index, f"{index} s") for index in range(rows)])
    result = parsed(drawn)
    assert sum(element.get("class") == "bar" for element in result.iter()) == rows
    title = next(element.text or "" for element in result.iter() if element.tag.endswith("title"))
    assert all(f"stage {stage} {stage} s" in title for stage in range(rows))


@pytest.mark.parametrize("classes", [2, 8, 20])
def test_a_confusion_picture_has_a_cell_a_pair(classes: int) -> None:
    names = [f"class {index}" for index in range(classes)]
    cells = [[(float(a * b), f"{a * b}") for b in range(classes)] for a in range(classes)]
    result = parsed(confusion("Confusion", names, cells))
    assert sum(element.tag.endswith("rect") for element in result.iter()) == classes**2
    zeros = sum(element.text == "0" for element in result.iter())
    assert zeros == (0 if classes > 8 else 2 * classes - 1), "zeros of many classes hide the rest"


def test_a_roc_begins_and_ends_in_the_corners() -> None:
    result = parsed(roc("ROC", {"urgent": ((0, 0.2, 1), (0, 0.9, 1), "0.850")}))
    line = next(element for element in result.iter() if element.tag.endswith("polyline"))
    assert line.get("points", "").split()[0] == "52.0,310.0"
    assert line.get("points", "").split()[-1] == "352.0,10.0"
    shown = ET.tostring(result, encoding="unicode")
    for words in ("urgent: area 0.850", "false positive rate", "true positive rate", ">0.25<"):
        assert words in shown


def test_a_number_in_a_dark_cell_has_the_colour_of_the_paper() -> None:
    result = parsed(
        confusion("Confusion", ("a", "b"), [[(9.0, "9"), (1.0, "1")], [(0.0, "0")] * 2])
    )
    kinds = [
        element.get("class") for element in result.iter() if "count" in element.get("class", "")
    ]
    assert kinds == ["count middle over", "count middle", "count middle", "count middle"]


def test_flows_are_thicker_where_more_went() -> None:
    result = parsed(flows("Flows", [Flow("a", "b", 1, 10**3), Flow("b", "a", 2, 10**7)]))
    widths = [
        float(element.get("stroke-width", 0))
        for element in result.iter()
        if element.tag.endswith("path")
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[1]
    assert "b to a: 2 messages, 10.0 MB" in ET.tostring(result, encoding="unicode")


def test_hostile_names_are_shown_harmlessly() -> None:
    for drawn in (
        bars(HOSTILE, [Bar(HOSTILE, 1, HOSTILE)]),
        confusion(HOSTILE, [HOSTILE], [[(1.0, HOSTILE)]]),
        roc(HOSTILE, {HOSTILE: ((0, 1), (0, 1), 0.5)}),
        flows(HOSTILE, [Flow(HOSTILE, HOSTILE, 1, 1)]),
        table((HOSTILE, HOSTILE), [(HOSTILE, HOSTILE)], caption=HOSTILE),
        tag("p", HOSTILE, title=HOSTILE),
    ):
        assert "<script" not in drawn
        assert "\x1b" not in drawn
        assert "\u202e" not in drawn
        parsed(drawn)


def test_markdown_of_a_card_becomes_html_and_html_in_it_becomes_text() -> None:
    shown = html_of(
        "# Title\n\n**bold** `code` <img src=x> [a](javascript:x)\n\n| a |\n|---|\n| b |\n"
    )
    assert "<h1>Title</h1>" in shown
    assert "<strong>bold</strong>" in shown
    assert "<table>" in shown
    assert "<img" not in shown
    assert "<a " not in shown


def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    whole = page("Title", section("Part one", tag("p", "words")))
    assert "default-src 'none'" in whole.replace("&#x27;", "'")
    assert "<script" not in whole
    assert 'id="part-one"' in whole
    for address in ("http://", "https://", "url("):
        assert address not in whole.replace("http://www.w3.org/2000/svg", "")


def test_what_is_html_already_is_not_escaped_twice() -> None:
    assert text(Html("<b>")) == "<b>"
    assert text("<b>") == "&lt;b&gt;"
    assert tag("input", name="a", value=None) == '<input name="a">'


def test_names_are_cut_in_their_middle() -> None:
    assert cut("short") == "short"
    assert ">member-north: contributions<" in bars(
        "Seconds", [Bar("member-north: contributions", 1, "1 s")]
    )
    assert len(cut("a" * 90)) == 20
    assert cut("a" * 90 + "1") != cut("a" * 90 + "2")


@pytest.mark.parametrize(
    ("count", "said"), [(12, "12 bytes"), (2_500, "2.5 kB"), (3 * 10**6, "3.0 MB")]
)
def test_bytes_are_said_as_people_do(count: int, said: str) -> None:
    assert amount(count) == said
