import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.text.documents import Fragment
from sottovoce.text.tokenizing.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in sentences(text)]


CASES = {
    "two plain sentences": ("One here. Two there.", ["One here.", "Two there."]),
    "question and exclamation": ("Really?! Yes. No!", ["Really?!", "Yes.", "No!"]),
    "titles": ("Dr. Smith met Prof. Jones. Fine.", ["Dr. Smith met Prof. Jones.", "Fine."]),
    "initials": (
        "J. R. Smith left. Then I. He knew.",
        ["J. R. Smith left.", "Then I.", "He knew."],
    ),
    "a unit is no initial": ("Temp. of 38.5 C. No fever.", ["Temp. of 38.5 C.", "No fever."]),
    "decimals": ("It was 3.5 cm. It grew 1.2.", ["It was 3.5 cm.", "It grew 1.2."]),
    "counters before numbers": (
        "See Fig. 3 and No. 5. No. It is.",
        ["See Fig. 3 and No. 5.", "No.", "It is."],
    ),
    "dates": (
        "Seen Sept. 3 and Mar. 4. He is on Mar. Next.",
        ["Seen Sept. 3 and Mar. 4.", "He is on Mar.", "Next."],
    ),
    "e.g. and i.e.": (
        "Some, e.g. Aspirin, i.e. ASA. End.",
        ["Some, e.g. Aspirin, i.e. ASA.", "End."],
    ),
    "dosage": ("Take 2 mg b.i.d. with food. Stop.", ["Take 2 mg b.i.d. with food.", "Stop."]),
    "a.m. at the end": ("At 10 a.m. He left.", ["At 10 a.m.", "He left."]),
    "ellipsis": ("Well... maybe. Well... Maybe.", ["Well... maybe.", "Well...", "Maybe."]),
    "quotes and brackets": (
        '"Yes." (Not shown.) Next [1]. End.',
        ['"Yes."', "(Not shown.)", "Next [1].", "End."],
    ),
    "said in between": ('"Really?" she said. Yes.', ['"Really?" she said.', "Yes."]),
    "heading with colon": ("HISTORY:\nthe pain began.", ["HISTORY:", "the pain began."]),
    "heading without": ("PLAN\nDischarge home.", ["PLAN", "Discharge home."]),
    "bullets": ("- one\n- two, with\n  more\n• three", ["- one", "- two, with\n  more", "• three"]),
    "numbered": (
        "1. Aspirin 81 mg.\n2) Rest.\n(a) Sleep. Well.",
        ["1. Aspirin 81 mg.", "2) Rest.", "(a) Sleep.", "Well."],
    ),
    "wrapped line": ("The patient was\nseen today.", ["The patient was\nseen today."]),
    "wrapped full line": (
        "A line that an editor broke off after more than sixty characters\nAspirin was given.",
        ["A line that an editor broke off after more than sixty characters\nAspirin was given."],
    ),
    "wrapped after a title": (
        "He was seen by Dr.\nJones here.",
        ["He was seen by Dr.\nJones here."],
    ),
    "blank line": ("No stop here\n\nand there", ["No stop here", "and there"]),
    "speakers": (
        "Doctor: How?\r\nPatient: fine\r\nDoctor: Good.",
        ["Doctor: How?", "Patient: fine", "Doctor: Good."],
    ),
    "Chinese": ("病人发热。没有咳嗽！好", ["病人发热。", "没有咳嗽！", "好"]),
    "Arabic": ("هذا نص. وهذا آخر.", ["هذا نص.", "وهذا آخر."]),
    "nothing": ("", []),
    "white space": (" \n\t\r\n ", []),
    "far indented": ("a\n" + " " * 200 + "b", ["a\n" + " " * 200 + "b"]),
}


@pytest.mark.parametrize("name", CASES)
def test_sentences_are_cut_where_people_would(name: str) -> None:
    text, expected = CASES[name]
    assert cut(text) == expected


@given(st.text(max_size=200) | st.text(alphabet='aB.!?: \n\r-1)("•。', max_size=60))
def test_sentences_hold_all_ink_in_order_and_nothing_twice(text: str) -> None:
    end = 0
    kept = ""
    for sentence in sentences(text):
        piece = text[sentence.start : sentence.end]
        assert isinstance(sentence, Fragment)
        assert sentence.start >= end
        assert piece == piece.strip() != ""
        kept += piece
        end = sentence.end
    assert "".join(kept.split()) == "".join(text.split())
