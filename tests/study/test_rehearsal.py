"""Documents that would end a study are refused at the peer, before it takes its seat."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from harness.studies import notes
from sottovoce.config.study_file import parse_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.study import InsecureToyPlan, Study, rehearsal
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.rare_classes import without_rare
from sottovoce.study.rehearsal import Rehearsed, check_documents, refuse_unfit
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.contributions import scales_of
from sottovoce.text.blocks import Blocks
from sottovoce.text.columns import ROW, Numeric, as_row
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments, PartTask
from sottovoce.text.reading import NGrams, Reading
from sottovoce.text.splits import Side
from sottovoce.text.tokenizing.tokens import WordTokenizer

PLAN = InsecureToyPlan(
    "page", Labels(("routine", "urgent")), features=8, key_bits=768, bucket_bits=10
)
NORTH = [note for note in notes(90)["north"] if PLAN.split.side(note) == "train"]


def study(**changes: object) -> Study:
    changes = {"rare": "stop"} | changes
    roster, _ = draw_roster(("north", "harbour", "valley"), entropy=SystemEntropy())
    return Study(replace(PLAN, **changes), roster)


def of(label: str, count: int) -> list[Document]:
    return [document for document in NORTH if document.label == label][:count]


def test_documents_of_two_classes_pass() -> None:
    many = check_documents(study(), "north", NORTH)
    few = check_documents(study(), "north", [*of("routine", 3), *of("urgent", 3)])
    assert (many.documents, few.documents) == (len(NORTH), 6)
    assert many.features > few.features > 0
    said = " ".join(many.sentences(study().plan))
    assert f"{many.features} words are in at least 3" in said
    rich = replace(PLAN, reading=Reading(ngrams=NGrams((1, 2), (3, 5))))
    said = " ".join([said, *many.sentences(rich)])
    assert f"{many.features} words and stretches of characters are in at least 3" in said
    assert "takes at most 8" in said


@dataclass
class CountedPart:
    """Notes that know how often they were read."""

    reads: int = 0

    def documents(self) -> Iterator[Document]:
        self.reads += 1
        yield from NORTH


def test_parts_are_read_twice_and_their_classes_are_still_known_in_the_study() -> None:
    part, plan = CountedPart(), study(rare="leave out").plan
    documents = PartedDocuments(PartTask((part,)))
    rehearsed = check_documents(study(rare="leave out"), "north", documents)
    assert rehearsed == check_documents(study(rare="leave out"), "north", NORTH)
    # Classes and words; then features.
    assert part.reads == 2
    training = plan.choice_split.part(plan.split.part(documents, Side.TRAIN), Side.TRAIN)
    without_rare(plan, training)
    assert part.reads == 2


def test_a_class_that_no_row_has_is_named() -> None:
    labels = Labels(("never", "routine", "urgent"))
    rehearsed = check_documents(study(labels=labels), "north", NORTH)
    said = " ".join(rehearsed.sentences(study().plan))
    assert "no row here has 'never': other sites must bring such rows" in said


def test_rows_of_a_table_have_no_words() -> None:
    words = {"dictionary": DictionaryKind.GIVEN, "words": (ROW,), "features": 1}
    table = replace(PLAN, columns=(Numeric("pulse", 0, 200),), **words)
    assert list(Rehearsed(9, 1, 1, {}).sentences(table)) == ["9 rows to train with"]


@pytest.mark.parametrize(
    ("length", "tail_of", "tail", "reads"),
    [
        (100, "all", 64, "short"),
        (99, "words", 64, "long"),
        (100, "words", 64, None),
        (99, "all", 64, None),
        (100, "all", 0, None),
    ],
)
def test_a_peer_is_told_where_the_plan_expects_texts_of_another_length(
    length: int, tail_of: str, tail: int, reads: str | None
) -> None:
    plan = replace(PLAN, beside=Blocks(tail=tail, tail_of=tail_of))
    said = " ".join(Rehearsed(9, length, 20, {}).sentences(plan))
    assert f"9 documents to train with, of {length} words on average" in said
    assert (f"the plan reads {reads} texts" in said) == (reads is not None)
    assert (f"words_per_document = {length} in study.toml" in said) == (reads is not None)


@pytest.mark.parametrize(
    ("documents", "says", "fix"),
    [
        ([], "north: expected at least 3 documents to train with, found 0", "bring more"),
        (NORTH[:2], "at least 3 documents to train with, found 2", "bring more"),
        (of("urgent", 9), "at least two classes, found only 'urgent'", "would tell it"),
        (
            [*of("routine", 9), *of("urgent", 2)],
            "class 'urgent': expected at least 3 rows to train with, or none, found 2",
            "bring 1 more of class 'urgent'",
        ),
        (
            [
                Document(f"word{n} other{n} third{n}", ("routine", "urgent")[n % 2])
                for n in range(8)
            ],
            "no feature occurs in 3 of its documents",
            "bring more documents",
        ),
    ],
    ids=["none", "two", "one class", "a class below the minimum", "nothing left"],
)
def test_what_would_end_the_study_is_refused_with_the_fix(
    documents: list[Document], says: str, fix: str
) -> None:
    here = study(held_out=0.0) if len(documents) < 9 else study()
    for check in (check_documents, refuse_unfit):
        with pytest.raises(InputError, match=says) as refused:
            check(here, "north", documents)
        assert any(fix in hint for hint in refused.value.hints)


def test_a_penalty_that_is_too_small_for_the_documents_is_refused_with_one_that_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Every document stands for a million.
    monkeypatch.setattr(rehearsal, "scales_of", lambda plan, rows: scales_of(plan, rows * 10**6))
    for check in (check_documents, refuse_unfit):
        with pytest.raises(InputError, match="north: moments: a spectrum from 1e-06 to") as refused:
            check(study(engine="shares", alpha=1e-6), "north", NORTH)
    (hint,) = refused.value.hints
    enough = float(hint.removeprefix("agree on alpha = ").partition(" ")[0])
    assert check_documents(study(engine="shares", alpha=enough), "north", NORTH)


def test_the_short_check_reads_every_label_and_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Document(f"the same words {n}", ("routine", "urgent")[n % 2]) for n in range(300)]
    here, read = study(held_out=0.0), []
    split = WordTokenizer.pieces

    def pieces(self: WordTokenizer, text: str) -> list[str]:
        read.append(text)
        return split(self, text)

    monkeypatch.setattr(WordTokenizer, "pieces", pieces)
    refuse_unfit(here, "north", many)
    assert len(read) < 100
    with pytest.raises(InputError, match="north: ") as short:
        refuse_unfit(here, "north", [*many, Document("the same words", "unheard of")])
    with pytest.raises(InputError) as whole:
        check_documents(here, "north", [*many, Document("the same words", "unheard of")])
    assert str(short.value) == str(whole.value)


def test_a_class_that_only_others_have_is_no_mistake() -> None:
    three = study(labels=Labels(("routine", "urgent", "rare")))
    check_documents(three, "north", NORTH)


def test_a_rare_class_is_told_by_name_where_the_study_does_without_it() -> None:
    tolerant = study(rare="leave out")
    assert not check_documents(tolerant, "north", NORTH).rare
    documents = [*of("routine", 9), *of("urgent", 9)]
    three = study(rare="leave out", labels=Labels(("odd", "routine", "urgent")))
    kept = [document for document in documents if three.plan.split.side(document) == "train"]
    odd = [Document(f"an odd note {number}", "odd") for number in range(40)]
    odd = [document for document in odd if three.plan.split.side(document) == "train"][:2]
    result = check_documents(three, "north", [*kept, *odd])
    assert result.rare == {"odd": 2}
    assert "class 'odd' is left out here: 2 of its documents" in " ".join(
        result.sentences(three.plan)
    )


BY_WARD = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
partition = "features"
shared = ["ward"]
held_out = 0.0
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[roles]
evaluator = "north"
dealer = "harbour"
[columns]
ward = ["eye", "heart", "lung"]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
sight = { low = -1, high = 1 }
[holdings]
north = ["pulse"]
harbour = ["sugar"]
valley = ["sight"]
"""


def patients(ward: str, label: str, count: int) -> list[Document]:
    return [
        as_row(
            Document("", label, f"{ward} {label} {number}", columns={"ward": ward, "pulse": 0.5})
        )
        for number in range(count)
    ]


def test_rows_in_blocks_that_are_too_small_are_counted() -> None:
    by_ward = parse_study(BY_WARD).rehearsed()
    fewest = by_ward.plan.min_documents
    large = patients("eye", "well", fewest) + patients("eye", "sick", fewest + 1)
    assert not check_documents(by_ward, "north", large).small
    rows = [*large, *patients("lung", "sick", 1), *patients("heart", "well", fewest - 1)]
    rehearsed = check_documents(by_ward, "north", rows)
    assert sorted(rehearsed.small) == [1, fewest - 1]
    said = " ".join(rehearsed.sentences(by_ward.plan))
    assert f"{fewest} of them are left out: they stand in 2 blocks of fewer than {fewest}" in said


def test_a_site_whose_blocks_are_all_too_small_is_refused_before_consent() -> None:
    by_ward = parse_study(BY_WARD).rehearsed()
    small = by_ward.plan.min_documents - 1
    wards, names = ("eye", "heart", "lung"), ("well", "sick")
    rows = [row for ward in wards for name in names for row in patients(ward, name, small)]
    says = rf"north: expected at least one block of {small + 1} rows .* the largest of {small}"
    for check in (check_documents, refuse_unfit):
        with pytest.raises(InputError, match=says):
            check(by_ward, "north", rows)


def test_too_few_rows_to_choose_a_penalty_with_are_refused_before_anybody_waits() -> None:
    several = BY_WARD.replace("held_out", "alpha = [0.5, 2.0]\nheld_out")
    by_ward, rows = parse_study(several).rehearsed(), patients("eye", "well", 30)
    rows += patients("eye", "sick", 30)
    with pytest.raises(InputError, match=r"north: expected at least 20 held back .* of 60 rows"):
        check_documents(by_ward, "north", rows)
    assert check_documents(by_ward, "north", rows * 3)
    # With rows of their own, peers hold back enough together.
    two = study(alpha=(0.5, 2.0))
    held = [note for note in NORTH if two.plan.choice_split.side(note) == "validation"]
    kept = [note for note in NORTH if note not in held]
    assert check_documents(two, "north", [*kept, held[0]])
    with pytest.raises(InputError, match=r"north: expected at least 1 held back"):
        refuse_unfit(two, "north", kept)
