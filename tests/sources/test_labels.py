"""Label maps: pairs, files, all others, and what is wrong with them."""

from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import LabelMap, ProblemKind, SourceOptions, open_source


def test_pairs_are_read() -> None:
    result = LabelMap.parse("spam=1, ham = 0")
    assert (result["spam"], result["ham"], result["eggs"]) == ("1", "0", None)


def test_a_star_names_all_others() -> None:
    result = LabelMap.parse("yes=1,*=0")
    assert (result["yes"], result["no"], result[3]) == ("1", "0", "0")


def test_labels_are_looked_up_by_their_one_name() -> None:
    result = LabelMap.parse("1=yes,true=on")
    assert (result[1], result[1.0], result["1"], result[True]) == ("yes", "yes", "yes", "on")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("map.json", '{"spam": 1, "h,am": 0}'),
        ("map.json", '\ufeff{"spam": "1", "h,am": "0"}'),
        ("map.csv", 'spam,1\r\n"h,am",0\n\n'),
        ("map.tsv", "spam\t1\nh,am\t0\n"),
    ],
)
def test_files_are_read(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert LabelMap.of(str(path)).names == {"spam": "1", "h,am": "0"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("spam=1,ham", "expected name=label, found 'ham'"),
        ("spam=", "expected a label on both sides"),
        ("=1", "expected a label on both sides"),
        ("a=1,a=2", "expected one label for 'a', found '1' and '2'"),
        ("no-such-file.json", "cannot be read: No such file"),
    ],
)
def test_a_bad_map_is_refused(given: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        LabelMap.of(given)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": [1]}', "expected a JSON object of labels"),
        (b'{"a": ', "expected a JSON object of labels"),
        (b"a,b,c\n", "line 1: expected two fields, found 3"),
        (b"", "there is no pair in it"),
        (b"a,\xff\n", "expected UTF-8, found byte 0xff at byte 2"),
        (b"x" * (2**20 + 1), "expected at most 1,048,576 bytes, found more"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "map"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        LabelMap.load(path)


def test_a_label_outside_the_map_costs_its_row() -> None:
    source = open_source(
        [("a", "spam"), ("b", "ham"), ("c", "eggs")],
        SourceOptions(label_map=LabelMap.parse("spam=1,ham=0")),
    )
    assert [document.label for document in source.documents()] == ["1", "0"]
    (problem,) = source.problems
    assert str(problem) == "data item 3: label of 4 characters is not in the label map"


def test_a_label_that_the_study_does_not_have_costs_its_row() -> None:
    options = SourceOptions(labels=("1", "0"))
    source = open_source([("a", 1), ("b", "maybe"), ("c", 0.0)], options)
    assert [document.label for document in source.documents()] == [1, 0.0]
    (problem,) = source.problems
    assert problem.kind is ProblemKind.UNKNOWN_LABEL
    assert (
        problem.reason == "expected one of the study's labels ('1', '0'), found one of 5 characters"
    )


def test_a_long_label_is_never_shown_whole() -> None:
    options = SourceOptions(labels=("1",))
    source = open_source([("a", 1), ("b", "a confidential sentence " * 20)], options)
    list(source.documents())
    (problem,) = source.problems
    assert len(problem.reason) < 130
