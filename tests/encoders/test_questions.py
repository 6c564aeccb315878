"""Documents to label are read with the encoder with which their site joined."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.commands import call
from sottovoce import encoders
from sottovoce.cli.commands import classify
from sottovoce.cli.source_choice import SourceChoice, remember
from sottovoce.config.study_file import example
from sottovoce.entropy import SystemEntropy
from sottovoce.node.api import Classified
from sottovoce.node.invitations import Invitation
from sottovoce.node.site.site_folder import open_site
from sottovoce.text.encoding import EncoderName

NAME = EncoderName.read(f"static:3:{'ab' * 32}")


def join(home: Path, encoder: str) -> None:
    """Make a site that joined a study with an encoder, which it found in this place."""
    site, until = open_site(home, entropy=SystemEntropy()), datetime(2030, 1, 1, tzinfo=UTC)
    names = ("s-1", "urgency", "north", ("north",))
    study = site.accept(Invitation("https://a:1", bytes(32), *names, bytes(32), until))
    study.keep_text(example().replace('# encoder = "none"', f'encoder = "{NAME}"'))
    remember(site, study, SourceChoice("notes.csv", text=("note",), encoder=encoder))


@pytest.mark.parametrize(("flags", "place"), [((), "/a"), (("--encoder", "/b"), "/b")])
def test_a_question_opens_the_encoder_before_rows_are_read(
    flags: tuple[str, ...], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join(tmp_path / "home", "/a")
    opened: list[object] = []

    def ask(_: object, documents: list[object], deliver: object, **__: object) -> Classified:
        opened.append(len(documents))
        return Classified([("urgent",)], 7, charged=16)

    monkeypatch.setattr(encoders, "ready", lambda *given: opened.append(given))
    monkeypatch.setattr(classify, "_ask", ask)
    (tmp_path / "new.csv").write_text("note\nfever\n", encoding="utf-8")
    given = (tmp_path / "new.csv", "--out", tmp_path / "out.csv", "--home", tmp_path / "home")
    call("classify", *given, *flags)
    assert opened == [(NAME, place), 1]
