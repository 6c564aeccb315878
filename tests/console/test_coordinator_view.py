"""What a coordinator reads on her page at every point of a study, without a browser."""

import re
import time
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from harness.commands import call
from sottovoce.config.study_file import example, parse_study
from sottovoce.console.coordinator_view import coordinator_sections
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.progress_view import SENTENCES
from sottovoce.course.phases import Phase
from sottovoce.entropy import SystemEntropy
from sottovoce.node.coordinator.registry import Registry
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.site.site_folder import open_site

WORDS = tuple(f"word{number}" for number in range(16))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    study, home = tmp_path / "study.toml", tmp_path / "cate"
    study.write_text(example().replace('features = "auto"', "features = 64"), encoding="utf-8")
    call("study", "create", study, "--home", home, "--address", "https://127.0.0.1:8443")
    (made,) = registries(open_site(home, entropy=SystemEntropy()).coordinator_place())
    return made


def page_of(registry: Registry, *, read_only: bool = False, **changes: object) -> str:
    described = parse_study(registry.text)
    registry.write_status(replace(registry.status(described), **changes))
    guard = ConsoleGuard(SystemEntropy(), read_only=read_only)
    page = "".join(coordinator_sections(registry, guard, ()))
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


def test_a_study_that_was_only_made_says_what_to_do(registry: Registry) -> None:
    text = page_of(registry)
    assert "Waited for: Northfield Hospital, Harbour Clinic, Stanmore Practice (to join)" in text
    assert "once sottovoce serve runs" in text
    assert "7 days from now" in text
    assert text.count("New line") == text.count("Revoke") == 3
    assert "Stop this study" in text
    assert "New line" not in page_of(registry, read_only=True)


def test_time_left_stands_on_the_page(registry: Registry) -> None:
    everybody = registry.status(parse_study(registry.text)).expected
    for seat in everybody:
        (registry.folder / "seats" / seat).mkdir()
    now, seen = time.time(), tuple((seat, time.time()) for seat in everybody)
    text = page_of(registry, phase=Phase.TRAINING, done=0.25, ends=now + 90, seen=seen)
    assert "Training: 25% done, about 1 minute left" in text
    assert "Nobody is waited for: every site was seen within two minutes." in text
    text = page_of(registry, phase=Phase.TRAINING, done=0.02, ends=0.0, seen=())
    assert "Training: 2% done" in text
    assert " left" not in text
    assert "Not seen for two minutes: Northfield Hospital, Harbour Clinic, Stanmore" in text


def test_who_is_waited_for_is_named_once_an_organisation(registry: Registry) -> None:
    waits = {"waits_what": "consent", "waits_until": time.time() + 3 * 3600}
    whom = ("north", "member-north", "harbour")
    text = page_of(registry, phase=Phase.AGREEMENT, waits_for=whom, words=WORDS, **waits)
    assert "Waited for: Northfield Hospital, Harbour Clinic (to consent), until" in text
    assert "3 hours from now" in text
    assert "word0 word1 word2 word3" in text


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (Phase.FINISHED, ("None was held yet", "Close this study", "The model is there")),
        (Phase.STOPPED, ("ended without a model", "too few peers", "It is over")),
        (Phase.CLOSED, ("What labels need is deleted", "It is over")),
    ],
)
def test_everything_stays_after_the_end(
    registry: Registry, phase: Phase, said: tuple[str, ...]
) -> None:
    text = page_of(registry, phase=phase, reason="too few peers" * (phase is Phase.STOPPED))
    for words in (*said, "Sites"):
        assert words in text
    assert ("New line" in text) == (phase is Phase.FINISHED), "for a site that lost its disk"


def test_every_phase_has_a_sentence(registry: Registry) -> None:
    for phase in (Phase.DICTIONARY, Phase.CONTRIBUTIONS, Phase.TRAINING):
        assert f"{phase} {SENTENCES[phase]}" in page_of(registry, phase=phase)
