"""What a terminal of 80 columns shows: lines break between words, and a long card can be read."""

import os

import pytest

from sottovoce.cli import consent
from sottovoce.cli.commands import serve
from sottovoce.cli.screen import folded

WAITS = (
    "r6m6zevlhqwj3hyz: coordinator: waits for north, member-north, harbour, member-harbour, "
    "stanmore, member-stanmore (enrolment) until 2026-11-24 22:21:06 UTC"
)


def test_long_lines_break_between_words() -> None:
    lines = folded(f"{WAITS}\n\n    {WAITS}", 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == f"{WAITS} {WAITS}"
    assert {line[:4] for line in lines[-3:]} == {"    "}


def test_a_command_stays_on_one_line() -> None:
    hint = f"hint: sottovoce join --data {'folder/' * 20}notes.csv --label urgency"
    assert folded(hint, 80) == hint
    command = "`sottovoce join --study r6m6zevlhqwj3hyz --home elsewhere`"
    said = folded(f"the study begins when everybody has come, and {command} goes on", 80)
    assert command in said
    assert "\n" in said


def test_a_question_keeps_its_place_for_the_answer() -> None:
    assert folded("word " * 30 + "[y/N]: ", 80).endswith("[y/N]: ")


@pytest.mark.parametrize(
    ("environment", "installed", "shown"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"LESS": "-FRX"}, True, True),
        ({"LESS": "-i"}, True, False),
        ({"PAGER": "more"}, True, False),
    ],
)
def test_styles_go_to_a_pager_that_draws_them(
    environment: dict[str, str], *, installed: bool, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LESS", "PAGER", "MANPAGER"):
        # Set first, so that what the function sets is taken away afterwards.
        monkeypatch.setenv(name, "")
        del os.environ[name]
    os.environ.update(environment)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/less" if installed else None)
    assert consent._pager_shows_styles() is shown


@pytest.mark.parametrize(
    ("addresses", "host"),
    [
        ([], "0.0.0.0"),  # noqa: S104
        (["https://127.0.0.1:8443"], "127.0.0.1"),
        (["https://127.0.0.1:8443", "https://cate.example:8443"], "0.0.0.0"),  # noqa: S104
    ],
)
def test_serve_listens_where_the_invitations_say(
    addresses: list[str], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Named:
        def __init__(self, address: str) -> None:
            self.address = address

    found = [Named(address) for address in addresses]
    monkeypatch.setattr("sottovoce.node.coordinator.serving.registries", lambda _: found)
    assert serve._host(None) == host  # type: ignore[arg-type]
