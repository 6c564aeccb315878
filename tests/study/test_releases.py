"""A release mode is one object: registered once, it is known to plan, policy, card, report, CLI."""

from pathlib import Path

import pytest

from harness.commands import call
from sottovoce.config.site_settings import read_settings
from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import InputError
from sottovoce.node.site.shown_card import card_of
from sottovoce.report.facts import ReportFacts
from sottovoce.report.statements import dpia
from sottovoce.study.policy import Policy
from sottovoce.study.release import RELEASES, Opens, Release

TOY = Release(
    "rounded margin",
    Opens.SCORES,
    to="the peer that asks",
    usual=False,
    agreed="a sealed model; peers get rounded scores.",
    first_page="A peer gets rounded scores of its own documents, at most {budget}.",
    caveat="Scores are rounded.",
    risk="Rounded scores tell about the model.",
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Release:
    monkeypatch.setitem(RELEASES, TOY.name, TOY)
    return TOY


def study_text(release: str) -> str:
    line = '# release = "sealed"'
    assert line in example()
    return example().replace(line, f'release = "{release}" #')


def test_one_object_is_known_everywhere(toy: Release, tmp_path: Path) -> None:
    described = parse_study(study_text(toy.name))
    assert described.plan.release is toy
    assert dict(described.plan.settings())["release"] == toy.name
    card = card_of(described, "Northfield Hospital")
    assert f"- Comes out: {toy.agreed}" in card.markdown()
    budget = f"{described.plan.budget:,}"
    assert toy.first_page.format(budget=budget) in " ".join(card.first_page().split())
    page = "".join(map(str, dpia(ReportFacts(card, "north", "1"))))
    assert toy.risk in page
    settings = tmp_path / "sottovoce.toml"
    with pytest.raises(InputError, match="release: expected sealed, found rounded margin"):
        Policy(key_bits=3072).check(card.study)
    settings.write_text(f'[policy]\nreleases = ["{toy.name}"]\n', encoding="utf-8")
    read_settings(settings).policy.check(card.study)


def test_the_command_reads_it(toy: Release, tmp_path: Path) -> None:
    written = tmp_path / "study.toml"
    written.write_text(study_text(toy.name), encoding="utf-8")
    call(
        "study",
        "create",
        written,
        "--address",
        "https://127.0.0.1:8443",
        "--home",
        tmp_path / "c",
        "--out",
        tmp_path / "invitations",
    )
    shown = call("study", "show", "--card", "--home", tmp_path / "c")
    assert toy.agreed in " ".join(shown.split())


def test_an_unknown_mode_is_named_with_those_there_are() -> None:
    known = ", ".join(RELEASES)
    with pytest.raises(InputError, match=f"expected one of {known}, found 'open'"):
        parse_study(study_text("open"))


@pytest.mark.parametrize("mode", RELEASES.values(), ids=str)
def test_every_mode_says_what_it_opens(mode: Release) -> None:
    study = card_of(parse_study(study_text(mode.name)), "Northfield Hospital").study
    assert mode.opens in Opens
    assert (study.plan.release.opens is Opens.WEIGHTS) == (mode.to == "every peer")
    assert all((mode.agreed, mode.first_page, mode.caveat, mode.risk))


@pytest.mark.parametrize("name", [mode for mode in RELEASES if mode != Release.SEALED.name])
def test_the_comments_that_list_modes_for_people_list_each(name: str) -> None:
    (in_example,) = [line for line in example().splitlines() if line.startswith("# release = ")]
    page = Path(__file__).parents[2] / "docs" / "commands.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    (in_policy,) = [line for line in lines if line.startswith("releases = ")]
    assert f'"{name}"' in in_example
    assert f'"{name}"' in in_policy
