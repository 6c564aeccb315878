import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import InputError
from sottovoce.text.columns import GRID, Categorical, Numeric
from sottovoce.text.dictionary.dictionaries import (
    GivenDictionary,
    HashedDictionary,
    JointDictionary,
)
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.documents import Document, Origin
from sottovoce.text.features import ONE_HOT, FeatureReader, FeatureRows, FeatureSpace, Weighting
from sottovoce.text.reading import Level, Reading

KEY = DictionaryKey(bytes(range(32)))
WORDS = ("fever", "cough", "pain")
SEX, AGE = Categorical("sex", ("f", "m")), Numeric("age", 0, 100)


def joint(halves: dict[str, int]) -> JointDictionary:
    word = KEY.words()
    entries = sorted((word(name) >> 46, half) for name, half in halves.items())
    return JointDictionary(tuple(b for b, _ in entries), tuple(h for _, h in entries))


def rows_of(space: FeatureSpace, *texts: str) -> FeatureRows:
    return FeatureReader(space, KEY).read([Document(text) for text in texts])


def test_rows_are_capped_tf_times_idf_at_unit_length_with_a_bias() -> None:
    space = FeatureSpace(GivenDictionary(WORDS))
    unit = rows_of(space, "fever Fever FEVER fever fever pain").unit().toarray()
    norm = math.sqrt(3**2 + 1)
    assert unit.tolist() == [[3 / norm, 0, 1 / norm, 0.3]]


def test_idf_weighs_and_can_be_left_out() -> None:
    dictionary = joint({"fever": 4, "cough": 7})
    order = np.argsort([KEY.words()(w) for w in ("fever", "cough")])
    weighed = rows_of(FeatureSpace(dictionary), "fever cough").unit().toarray()[0, :2]
    norm = math.hypot(2.0, 3.5)
    assert weighed == pytest.approx(np.array([2.0 / norm, 3.5 / norm])[order])
    plain = FeatureSpace(dictionary, weighting=Weighting(tf_cap=1, idf=False))
    flat = rows_of(plain, "fever cough cough").unit().toarray()[0, :2]
    assert flat == pytest.approx([math.sqrt(0.5)] * 2)


def test_one_hot_rows_are_not_scaled_to_learn_from_or_to_score_with() -> None:
    space = FeatureSpace(GivenDictionary(WORDS), weighting=ONE_HOT)
    rows = rows_of(space, "fever fever pain", "unheard of")
    assert rows.unit().toarray().tolist() == [[1, 0, 1, 0.3], [0, 0, 0, 0.3]]
    assert rows.integers().toarray().tolist() == [[1, 0, 1, 16], [0, 0, 0, 16]]
    with pytest.raises(InputError, match="not scaled to have no idf"):
        Weighting(scaled=False)


@pytest.mark.parametrize("text", ["", "  ", "unheard of", "…", "不明"])
def test_a_document_without_any_known_feature_has_norm_one_and_the_bias_alone(text: str) -> None:
    rows = rows_of(FeatureSpace(GivenDictionary(WORDS)), text)
    assert rows.unit().toarray().tolist() == [[0, 0, 0, 0.3]]
    assert rows.integers().toarray().tolist() == [[0, 0, 0, 16]]


def test_integers_are_tf_and_the_norm_in_sixteenths() -> None:
    rows = rows_of(FeatureSpace(GivenDictionary(WORDS)), "fever fever pain")
    # sqrt(5) · 16 = 35.78
    assert rows.integers().toarray().tolist() == [[2, 0, 1, 36]]


@given(
    st.lists(st.text(alphabet="abc ", max_size=30), min_size=1, max_size=5),
    st.lists(st.floats(-2, 2), min_size=12, max_size=12),
    st.integers(1, 4),
)
def test_both_forms_give_the_same_score_up_to_the_rounded_norm(
    texts: list[str], weights: list[float], cap: int
) -> None:
    dictionary = joint({"a": 2, "b": 3, "c": 5, "ab": 7, "bc": 11, "ca": 4, "abc": 9})
    columns = (SEX, AGE)
    space = FeatureSpace(dictionary, weighting=Weighting(tf_cap=cap), columns=columns)
    documents = [
        Document(text, columns={"sex": "fm"[n % 2], "age": 7 * n}) for n, text in enumerate(texts)
    ]
    rows = FeatureReader(space, KEY).read(documents)
    theta = np.array(weights[: space.width])
    real = rows.unit() @ theta
    whole = rows.integers()
    assert whole.dtype.kind == "i"
    scored = whole @ (space.factors * theta)
    rest = np.abs(theta[7:]).sum()
    slack = rest / 32 / rows.norms + 1e-9
    assert (np.abs(scored / rows.norms - real) <= slack).all()
    # With the norm rounded the same way both are equal.
    unrounded = rows.unit()[:, :7] @ theta[:7] * rows.norms
    same = unrounded + rows.rounded_norms / 16 * (rows.unit()[:, 7:] @ theta[7:])
    assert scored == pytest.approx(same, abs=1e-9)


@given(st.lists(st.text(alphabet="abcdefgh ", max_size=20), max_size=8), st.integers(1, 7))
def test_rows_do_not_depend_on_how_documents_are_chunked(texts: list[str], chunk: int) -> None:
    reader = FeatureReader(FeatureSpace(HashedDictionary(16)), KEY)
    documents = [Document(text) for text in texts]
    parts = [
        reader.read(documents[start : start + chunk]).unit().toarray()
        for start in range(0, len(documents), chunk)
    ]
    whole = reader.read(documents).unit().toarray()
    assert np.array_equal(np.vstack([*parts, np.zeros((0, 17))]), whole)


def test_unit_rows_are_sorted_and_have_no_duplicates() -> None:
    unit = rows_of(FeatureSpace(HashedDictionary(4)), "a b c d e f g a b", "x").unit()
    assert unit.has_canonical_format
    assert np.sqrt((unit[:, :4].toarray() ** 2).sum(axis=1)) == pytest.approx([1, 1])


def test_further_columns_stand_between_text_and_bias() -> None:
    space = FeatureSpace(GivenDictionary(WORDS), columns=(SEX, AGE))
    document = Document("cough", columns={"sex": "m", "age": "75"})
    rows = FeatureReader(space, KEY).read([document])
    assert rows.unit().toarray().tolist() == [[0, 1, 0, 0, 1, 0.5, 0.3]]
    assert rows.integers().toarray().tolist() == [[0, 1, 0, 0, 16 * GRID, 16 * GRID // 2, 16]]
    assert space.width == 7


def test_rows_of_one_document_share_its_columns() -> None:
    space = FeatureSpace(GivenDictionary(WORDS), Reading(Level.SENTENCE), columns=(SEX,))
    rows = FeatureReader(space, KEY).read([Document("Fever. Cough.", columns={"sex": "f"})])
    assert rows.unit().toarray().tolist() == [[1, 0, 0, 1, 0, 0.3], [0, 1, 0, 1, 0, 0.3]]


@pytest.mark.parametrize(
    ("value", "grid"), [(0, -64), (100, 64), (50, 0), (-7, -64), ("1e9", 64), (True, -63)]
)
def test_numbers_are_scaled_by_public_bounds(value: float | str | bool, grid: int) -> None:  # noqa: FBT001
    assert AGE.encode(value, where="x") == [grid]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "something else"),
        ("old", "something else"),
        (None, "nothing"),
        ("", "nothing"),
        ("inf", "something else"),
    ],
)
def test_a_value_that_is_no_number_is_refused_with_its_place(
    value: float | str | None, shown: str
) -> None:
    space = FeatureSpace(GivenDictionary(WORDS), columns=(AGE,))
    document = Document("x", columns={"age": value}, origin=Origin("notes.csv", 4))
    with pytest.raises(InputError, match=rf"notes\.csv row 4: .*column age, found {shown}"):
        FeatureReader(space, KEY).read([document])


def test_a_missing_number_can_have_a_stand_in() -> None:
    assert Numeric("age", 0, 100, missing=50).encode(None, where="x") == [0]


def test_other_categories_are_none_of_the_known() -> None:
    assert [SEX.encode(v, where="x") for v in ("f", "x", None)] == [[64, 0], [0, 0], [0, 0]]
    assert Categorical("ward", ("1", "2")).encode(2.0, where="x") == [0, 64]


def test_a_missing_column_is_refused_with_the_nearest() -> None:
    space = FeatureSpace(GivenDictionary(WORDS), columns=(AGE,))
    with pytest.raises(InputError, match="expected a column age, found agee, sex") as caught:
        FeatureReader(space, KEY).read([Document("x", columns={"agee": 1, "sex": "f"})])
    assert caught.value.hints == ("did you mean agee?",)


def test_columns_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="column ward: expected different values, found a, a"):
        Categorical("ward", ("a", "a"))
    with pytest.raises(InputError, match="column ward: expected different values, found none"):
        Categorical("ward", ())
    with pytest.raises(InputError, match="column age: expected finite bounds low < high"):
        Numeric("age", 5, 5)


@pytest.mark.parametrize(("cap", "bias"), [(0, 0.3), (256, 0.3), (3, -1), (3, 17)])
def test_weightings_out_of_range_are_refused(cap: int, bias: float) -> None:
    with pytest.raises(InputError, match="weighting: expected a tf cap from 1 to 255"):
        Weighting(tf_cap=cap, bias=bias)


def test_every_setting_changes_the_space_s_fingerprint() -> None:
    dictionary = HashedDictionary(8)
    spaces = [
        FeatureSpace(dictionary),
        FeatureSpace(HashedDictionary(9)),
        FeatureSpace(dictionary, Reading(Level.SENTENCE)),
        FeatureSpace(dictionary, weighting=ONE_HOT),
        FeatureSpace(dictionary, columns=(SEX,)),
        FeatureSpace(dictionary, columns=(AGE,)),
    ]
    assert len({space.fingerprint for space in spaces}) == len(spaces)
