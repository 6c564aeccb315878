"""Which text from outside may stand in a study, and how any other is shown."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import MalformedError
from sottovoce.wire import Codec, Value
from sottovoce.wire.printable import (
    MAX_NAME,
    escaped,
    escaped_json,
    escaped_lines,
    fault_in,
    is_path_name,
    is_printable,
    markdown,
    unprintable_in,
)

BIDIRECTIONAL = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
DRAWN_AS_NOTHING = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\u2800\ufe0f\U000e0041"


class Named(Value, frozen=True):
    name: str
    further: tuple[str, ...] = ()


@pytest.mark.parametrize("text", ["Northfield", "Żółć", "病院", "مستشفى", "a (b) [c] & d", "é"])
def test_names_of_all_languages_may_stand(text: str) -> None:
    assert fault_in(text) is None
    assert escaped(text) == text


@pytest.mark.parametrize("character", [*BIDIRECTIONAL, *DRAWN_AS_NOTHING, *map(chr, range(32))])
def test_what_moves_the_cursor_or_reorders_a_line_may_not(character: str) -> None:
    fault = fault_in(f"Stan{character}more")
    assert fault is not None
    assert f"U+{ord(character):04X} at character 5" in fault
    assert character not in fault
    assert character not in escaped(f"Stan{character}more")


@given(st.characters())
def test_no_control_and_no_format_character_is_printable(character: str) -> None:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        assert not is_printable(character)


@pytest.mark.parametrize("text", ["", " a", "a ", "a  b", "x" * (MAX_NAME + 1)])
def test_nothing_long_or_wide_enough_for_a_line_of_its_own(text: str) -> None:
    assert fault_in(text) is not None


@given(st.text())
def test_escaped_text_is_printable_and_says_the_same(text: str) -> None:
    shown = escaped(text)
    assert unprintable_in(shown) is None
    assert unprintable_in(escaped_lines(text).replace("\n", "")) is None
    assert escaped_lines(text).count("\n") == text.count("\n")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_escaped_json_is_the_same_value(text: str) -> None:
    shown = escaped_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(shown) == {"text": text}
    assert unprintable_in(shown) is None


@given(st.text())
def test_a_record_from_another_party_holds_printable_text_only(text: str) -> None:
    data = Codec().encode(Named("a", (text,))) if _encodes(text) else b""
    if data and unprintable_in(text) is None:
        assert Codec().decode(data, Named).further == (text,)
    elif data:
        with pytest.raises(MalformedError, match=r"Named.further: expected printable characters"):
            Codec().decode(data, Named)


def _encodes(text: str) -> bool:
    return not any(unicodedata.category(character) == "Cs" for character in text)


@pytest.mark.parametrize(
    "name", ["../x", "/x", ".", "..", ".x", "a/b", "a\\b", "", "a\n", "é", "-a"]
)
def test_a_name_that_becomes_a_path_leads_nowhere_else(name: str) -> None:
    assert not is_path_name(name)


def test_marks_of_a_page_are_shown_as_they_stand() -> None:
    assert markdown("a | b") == "a \\| b"
    assert markdown("[click](http://x) <b> *c* `d`") == (
        "\\[click\\](http://x) \\<b\\> \\*c\\* \\`d\\`"
    )


def test_marks_that_pile_up_over_other_lines_are_refused_and_escaped() -> None:
    struck = "north" + "\u0336" * 50
    assert fault_in(struck) == "expected printable characters only, found U+0336 at character 10"
    assert escaped(struck) == "north" + "\u0336" * 4 + "\\u0336" * 46
    for name in ("Nordklinik Köln", "No\u0308rd", "Bệnh viện", "अस्पताल क्ष्मी", "בְּרֵאשִׁית"):
        assert fault_in(name) is None
        assert escaped(name) == name
