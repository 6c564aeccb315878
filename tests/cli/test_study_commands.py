"""Studies from the command line: what is made, what is told, and every mistake by its name."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from harness.commands import call
from sottovoce import cli
from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import InputError, OpenPermissionsError, SottovoceError
from sottovoce.node.coordinator.registry import Registry
from sottovoce.node.invitations import Invitation
from sottovoce.node.kept_facts import keep_evaluation, keep_totals
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.totals import Totals
from sottovoce.text.labels import Labels


def test_without_a_file_an_example_is_printed() -> None:
    assert call("study", "create") == call("study", "create", "--example") == example()


def test_a_plan_is_tried_on_text_at_hand_before_anybody_is_invited(
    tmp_path: Path, study: Path
) -> None:
    rows = [
        f"{word} case {number},{label}\n"
        for number in range(60)
        for word, label in (("fever", "urgent"), ("checkup", "routine"))
    ]
    (tmp_path / "notes.csv").write_text("note,dx\n" + "".join(rows), encoding="utf-8")
    given = ("study", "rehearse", study, "--data", tmp_path / "notes.csv", "--text", "note")
    tried = json.loads(call(*given, "--label", "dx", "--json"))
    assert list(tried["peers"]) == ["north", "harbour", "stanmore"]
    assert 60 < sum(peer["documents"] for peer in tried["peers"].values()) < 120
    assert tried["accuracy"] == 1.0
    assert tried["columns"] <= 65
    assert "in plaintext the model is right on 100.0% of the held-out text" in call(
        *given, "--label", "dx"
    )
    # Words that may be chosen, and that this text does not have, are not sent.
    study.write_text(study.read_text().replace("features = 64", "features = 4096"))
    assert json.loads(call(*given, "--label", "dx", "--json"))["bytes"] == tried["bytes"]
    foreign = "".join(rows) + "a visit,Urgent\n"
    (tmp_path / "notes.csv").write_text("note,dx\n" + foreign, encoding="utf-8")
    output = CliRunner().invoke(cli.app, [*map(str, given), "--label", "dx"]).stderr
    assert "notes.csv: 1 row is left out (1 × unknown label)" in output
    assert "to take them: --label-map Urgent=urgent" in output
    (tmp_path / "notes.csv").write_text("note,dx\n" + "".join(rows[:9]), encoding="utf-8")
    with pytest.raises(InputError, match="expected at least 3") as refused:
        call(*given, "--label", "dx")
    assert "were dealt to north, as to each peer: bring more of them" in refused.value.hints[0]


def test_a_study_is_made_with_an_invitation_for_each(tmp_path: Path, study: Path) -> None:
    printed = call(
        "study", "create", study, "--home", tmp_path / "cate",
        "--address", "https://study.example.org:8443", "--json",
    )  # fmt: skip
    made = json.loads(printed)
    names = ["north", "harbour", "stanmore"]
    assert list(made["invitations"]) == names
    parsed = [Invitation.parse(made["invitations"][name]["invitation"]) for name in names]
    assert {invitation.address for invitation in parsed} == {"https://study.example.org:8443"}
    assert {invitation.study for invitation in parsed} == {made["study"]}
    assert [invitation.short_name for invitation in parsed] == names
    # Nobody evaluates and nobody deals: every organisation computes.
    assert [invitation.seats for invitation in parsed] == [
        (name, f"member-{name}") for name in names
    ]
    assert datetime.now(UTC) + timedelta(days=6) < parsed[0].expires
    tokens = {Invitation.parse(line["invitation"]).token for line in made["invitations"].values()}
    assert len(tokens) == 3
    for path in (tmp_path / "cate").rglob("*"):
        if path.is_file():
            assert not any(token in path.read_bytes() for token in tokens), path
            assert path.stat().st_mode & 0o077 == 0 or path.name == "certificate.pem", path


def test_invitations_go_to_files_of_their_own(tmp_path: Path, coordinator_home: Path) -> None:
    for name in ("north", "harbour", "stanmore"):
        path = tmp_path / "sent" / name
        assert path.stat().st_mode & 0o777 == 0o600
        assert Invitation.parse(path.read_text()).short_name == name


def test_a_new_invitation_differs(tmp_path: Path, coordinator_home: Path) -> None:
    old = Invitation.parse((tmp_path / "sent" / "north").read_text())
    made = json.loads(call("study", "invite", "north", "--home", coordinator_home, "--json"))
    new = Invitation.parse(made["invitations"]["north"]["invitation"])
    assert new.token != old.token
    assert (new.study, new.fingerprint, new.seats) == (old.study, old.fingerprint, old.seats)
    with pytest.raises(InputError, match=r"expected an organisation of it .*found 'east'"):
        call("study", "invite", "east", "--home", coordinator_home)


def test_a_study_is_made_again_under_another_name(coordinator_home: Path) -> None:
    call("study", "create", "--from", "urgency of clinical notes", "--name", "second round",
         "--home", coordinator_home)  # fmt: skip
    names = {
        study["name"]
        for study in json.loads(call("study", "list", "--home", coordinator_home, "--json"))
    }
    assert names == {"urgency of clinical notes", "second round"}
    text = call("study", "show", "second round", "--home", coordinator_home, "--toml")
    assert parse_study(text).plan.name == "second round"
    with pytest.raises(InputError, match="expected FILE or --from, found both"):
        call("study", "create", "study.toml", "--from", "x", "--home", coordinator_home)


def test_the_card_is_shown(coordinator_home: Path) -> None:
    page = call("study", "show", "--home", coordinator_home)
    assert len(page.splitlines()) < 70
    assert "the whole card: sottovoce study show" in page
    card = call("study", "show", "--home", coordinator_home, "--card")
    assert card.startswith("# Study card: urgency of clinical notes")
    assert "Ethics Committee North, no. 2026-17" in card
    assert "compare the words for: 1 week" in card
    assert "| contributions | contribution-plane | members |" in card
    assert "| course of the study | `begin` |" in card


def test_what_the_first_sums_showed_is_shown(coordinator_home: Path) -> None:
    (listed,) = json.loads(call("study", "list", "--home", coordinator_home, "--json"))
    asked = ("study", "show", "--home", coordinator_home)
    assert json.loads(call(*asked, "--json"))["sums"] is None
    assert "words were chosen" not in call(*asked)
    folder = coordinator_home / "coordinator" / "studies" / listed["study"]
    totals = Totals(960, (960, 0), ("north", "harbour", "stanmore"), absent=100)
    keep_totals(folder, totals)
    shown = json.loads(call(*asked, "--json"))
    most = shown["sums"]["most"]
    by_class = {"routine": 960, "urgent": 0}
    assert shown["sums"] == {"words": most - 100, "most": most, "rows": 960, "by_class": by_class}
    few = f"{most - 100:,} words were chosen, of at most {most:,}"
    assert few in call(*asked)
    assert few in shown["card"]
    assert "too few documents of urgent: what they have is left out" in call(*asked)


def test_the_card_is_a_page_to_print(coordinator_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "card.html"
    assert "to open in a browser" in call(
        "study", "show", "--home", coordinator_home, "--html", path
    )
    assert "Signatures" in path.read_text(encoding="utf-8")
    with pytest.raises(SottovoceError, match=r"card\.html"):
        call("study", "show", "--home", coordinator_home, "--html", path)


def test_the_coordinator_reports_and_shows_evaluations_again(
    coordinator_home: Path, tmp_path: Path
) -> None:
    (listed,) = json.loads(call("study", "list", "--home", coordinator_home, "--json"))
    with pytest.raises(InputError, match="it was not evaluated yet"):
        call("evaluate", "--last", "--home", coordinator_home)
    labels = Labels(("routine", "urgent"))
    table = np.array([[40, 5], [6, 30]])
    joint = Evaluation.of(labels, table, ("north", "harbour", "stanmore"), fewest=3)
    folder = coordinator_home / "coordinator" / "studies" / listed["study"]
    keep_evaluation(folder, KeptEvaluation(0.0, joint=joint))
    again = call("evaluate", "--last", "--home", coordinator_home)
    assert "all of north, harbour, stanmore: accuracy 86.4%" in again
    assert "accuracy 86.4%" in call("study", "show", "--home", coordinator_home)
    shown = json.loads(call("study", "show", "--home", coordinator_home, "--json"))
    assert shown["evaluation"]["joint"]["confusion"] == table.tolist()
    out = tmp_path / "report.html"
    call("report", "--home", coordinator_home, "--out", out)
    page = out.read_text(encoding="utf-8")
    assert "Accuracy 86.4%" in page
    assert "Institute for Health Data (coordinator)" in page


def test_two_studies_and_none_named(coordinator_home: Path, study: Path) -> None:
    call("study", "create", study, "--home", coordinator_home)
    with pytest.raises(InputError, match=r"there are 2 .*name one"):
        call("study", "show", "--home", coordinator_home)
    with pytest.raises(InputError, match=r"this site knows .*found 'nothing'"):
        call("study", "show", "nothing", "--home", coordinator_home)


def test_a_site_without_studies(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert call("study", "list", "--home", home).startswith("no study here")
    for words in (("study", "show"), ("join",), ("ledger", "show")):
        with pytest.raises(
            InputError, match=r"there is no study|has not joined|there is no ledger"
        ):
            call(*words, "--home", home)
    with pytest.raises(InputError, match="this site runs no study"):
        call("study", "cancel", "--home", home)


def test_stopping_a_study_is_asked_for(coordinator_home: Path) -> None:
    done = CliRunner().invoke(
        cli.app, ["study", "cancel", "--home", str(coordinator_home)], input="n\n"
    )
    assert (done.exit_code, "nothing was changed" in done.output) == (4, True)
    for command in ("cancel", "close"):
        if command == "close":
            in_phase(coordinator_home, "finished")
        with pytest.raises(InputError, match="nobody is here to answer") as caught:
            call("study", command, "--home", coordinator_home)
        assert caught.value.hints == ("add --yes to answer in advance",)
    assert "the server ends it as closed" in call(
        "study", "close", "--home", coordinator_home, "--yes"
    )


def in_phase(coordinator_home: Path, phase: str, reason: str = "") -> str:
    """What the server would have written down; the study's name there."""
    (folder,) = (coordinator_home / "coordinator" / "studies").iterdir()
    registry = Registry(folder)
    now = registry.status(parse_study(registry.text))
    registry.write_status(replace(now, phase=phase, reason=reason))
    return registry.id


@pytest.mark.parametrize(
    ("command", "phase", "says", "hint"),
    [
        ("close", "enrolment", "expected a finished one, found its phase enrolment", "cancel"),
        ("close", "training", "expected a finished one, found its phase training", "cancel"),
        ("close", "stopped", "expected a finished one, found it stopped: too few", ""),
        ("cancel", "finished", "expected one that is not finished, found its phase", "close"),
        ("cancel", "closed", "expected one that is not finished, found it closed", ""),
    ],
)
def test_an_order_that_comes_too_late_is_refused(
    coordinator_home: Path, command: str, phase: str, says: str, hint: str
) -> None:
    study = in_phase(coordinator_home, phase, "too few" if phase == "stopped" else "")
    with pytest.raises(InputError, match=says) as caught:
        call("study", command, "--home", coordinator_home, "--yes")
    assert caught.value.hints == ((f"sottovoce study {hint} {study}",) if hint else ())
    assert not any((coordinator_home / "coordinator" / "studies" / study / "orders").iterdir())


def test_scripts_read_what_was_ordered(coordinator_home: Path) -> None:
    for command, phase, what in (
        ("cancel", "training", "stopped"),
        ("close", "finished", "closed"),
    ):
        study = in_phase(coordinator_home, phase)
        parsed = json.loads(call("study", command, "--home", coordinator_home, "--yes", "--json"))
        assert parsed == {"study": study, "name": "urgency of clinical notes", "ordered": what}


def test_an_invitation_remembers_the_address(tmp_path: Path, study: Path) -> None:
    home, first, second = tmp_path / "cate", "https://a.example:1", "https://b.example:2"
    call("study", "create", study, "--home", home, "--address", first)

    def invited(*words: str) -> str:
        made = json.loads(call("study", "invite", "north", "--home", home, "--json", *words))
        invitation = Invitation.parse(made["invitations"]["north"]["invitation"])
        assert invitation.address == made["address"]
        return invitation.address

    assert invited() == first
    assert invited("--address", second) == second
    assert invited() == second
    made = json.loads(call("study", "create", "--from", "urgency", "--home", home, "--json"))
    assert made["address"] == second


@pytest.mark.parametrize("phase", ["stopped", "closed"])
def test_nobody_is_invited_to_a_study_that_is_over(coordinator_home: Path, phase: str) -> None:
    study = in_phase(coordinator_home, phase, "approval was withdrawn")
    with pytest.raises(InputError, match=f"it is {phase}: approval was withdrawn") as caught:
        call("study", "invite", "north", "--home", coordinator_home)
    assert caught.value.hints == (f"sottovoce study create --from {study}",)


def test_nobody_is_invited_to_a_study_that_will_stop(coordinator_home: Path) -> None:
    call("study", "cancel", "--home", coordinator_home, "--yes")
    with pytest.raises(InputError, match="it is stopped"):
        call("study", "invite", "north", "--home", coordinator_home)


def test_after_the_beginning_only_who_was_there_is_invited_again(coordinator_home: Path) -> None:
    study = in_phase(coordinator_home, "finished")
    registry = Registry(coordinator_home / "coordinator" / "studies" / study)
    ticket = next(ticket for ticket in registry.tickets() if "stanmore" in ticket.seats)
    registry.enrol("stanmore", bytes(32), ticket, replacing=False)
    assert "sottovoce-1-" in call("study", "invite", "stanmore", "--home", coordinator_home)
    with pytest.raises(
        InputError, match=r"over \(finished\), and Northfield Hospital did not join in"
    ):
        call("study", "invite", "north", "--home", coordinator_home)


def test_an_invitation_is_never_overwritten_silently(tmp_path: Path, study: Path) -> None:
    home, out = tmp_path / "cate", tmp_path / "inv"
    call("study", "create", study, "--home", home, "--out", out)
    sent = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InputError, match="there is already an invitation at") as refused:
        call("study", "create", study, "--home", home, "--out", out)
    assert "--out new-invitations" in refused.value.hints[0]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == sent
    assert len(json.loads(call("study", "list", "--home", home, "--json"))) == 1
    words = ["study", "invite", "north", "--home", str(home), "--out", str(out)]
    said = CliRunner().invoke(cli.app, words).stderr
    assert "north: the old invitation is void and was replaced" in said


def test_a_mistake_leaves_no_study_behind(tmp_path: Path, study: Path) -> None:
    home, file = tmp_path / "cate", tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for words in (("--address", "foo"), ("--out", file), ("--name", "other")):
        with pytest.raises(InputError, match=words[0]):
            call("study", "create", study, "--home", home, *words)
        assert json.loads(call("study", "list", "--home", home, "--json")) == []
        assert not (home / "coordinator" / "studies").exists()


@pytest.mark.parametrize(
    "address", ["http://a.example:1", "a.example:8443", "https://", "https://a:b", "https://a/x"]
)
def test_a_wrong_address_is_refused(tmp_path: Path, study: Path, address: str) -> None:
    with pytest.raises(InputError, match="--address: expected https://HOST:PORT, found"):
        call("study", "create", study, "--home", tmp_path / "cate", "--address", address)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda line: line[:-9], "invitation: cut short, expected"),
        (lambda line: line[:30] + ("a" if line[30] != "a" else "b") + line[31:], "damaged"),
        (lambda line: line[40:], "expected a line that begins with sottovoce-1-, or a file"),
        (lambda line: "hello", "or a file that holds one, found neither in 'hello'"),
        (lambda line: line.replace("sottovoce-1", "sottovoce-9"), "found version 9"),
    ],
)
def test_a_wrong_invitation_is_refused(
    tmp_path: Path, coordinator_home: Path, change, says: str
) -> None:
    line = change((tmp_path / "sent" / "north").read_text().strip())
    with pytest.raises(InputError, match=says):
        call("join", line, "--home", tmp_path / "north")
    assert not (tmp_path / "north" / "studies").exists()


def test_an_expired_invitation_is_refused_before_anything_is_sent(
    tmp_path: Path, coordinator_home: Path
) -> None:
    good = Invitation.parse((tmp_path / "sent" / "north").read_text())
    old = replace(good, expires=datetime.now(UTC) - timedelta(seconds=2))
    with pytest.raises(InputError, match="'north': it expired"):
        call("join", old.line, "--home", tmp_path / "north")


def test_an_invitation_is_read_from_a_file_or_from_standard_input(
    tmp_path: Path, coordinator_home: Path
) -> None:
    (tmp_path / "broken").write_text("sottovoce-1-abc", encoding="utf-8")
    with pytest.raises(InputError, match="cut short"):
        call("join", tmp_path / "broken", "--home", tmp_path / "north")
    done = CliRunner().invoke(
        cli.app, ["join", "-", "--home", str(tmp_path / "north")], input="sottovoce-1-abc\n"
    )
    assert "cut short" in str(done.exception)


def test_settings_of_a_site_are_the_options_of_its_commands(tmp_path: Path, study: Path) -> None:
    home = tmp_path / "cate"
    home.mkdir(mode=0o700)
    (home / "sottovoce.toml").write_text(
        '[study.create]\naddress = "https://from.file:1"\n[join]\ntext = ["note"]\ngroup = "p"\n',
        encoding="utf-8",
    )
    words = ("study", "create", study, "--home", home, "--json")

    def address(printed: str) -> str:
        line = json.loads(printed)["invitations"]["north"]["invitation"]
        return Invitation.parse(line).address

    assert address(call(*words)) == "https://from.file:1"
    environment = {"SOTTOVOCE_STUDY_CREATE_ADDRESS": "https://from.environment:2"}
    assert address(call(*words, **environment)) == "https://from.environment:2"
    typed = (*words, "--address", "https://typed:3")
    assert address(call(*typed, **environment)) == "https://typed:3"


def test_the_home_comes_from_the_environment(tmp_path: Path, coordinator_home: Path) -> None:
    listed = call("study", "list", "--json", SOTTOVOCE_HOME=str(coordinator_home))
    assert json.loads(listed)[0]["as"] == "coordinator"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[jion]\n", "line 1: jion: expected a table.*did you mean join"),
        ("[join]\ntxet = ['a']\n", r"line 2: join.txet: expected a setting of \[join\]"),
        ("[join]\n\nlongest = 'x'\n", "line 3: join.longest: expected what --longest takes"),
        ("[join]\ntext = 'note'\n", "line 2: join.text: expected a list, found 'note'"),
        ("[serve]\nport = [1]\n", r"line 2: serve.port: expected a single value, found \[1\]"),
        ("[serve]\nport = 70000\n", "line 2: serve.port: expected what --port takes"),
        ("[study]\ncreate = 3\n", r"line 2: study.create: expected a table \[study.create\]"),
        ("[serve]\nhome = 'x'\n", r"line 2: serve.home: expected a setting of \[serve\]"),
        ("[join]\npassphrase_file = 'x'\n", "line 2: join.passphrase_file: expected a setting"),
        ("[policy]\nmin_peers = []\n", "line 2: policy.min_peers: expected a whole number"),
        ("port = 3\n", "line 1: port: expected a table"),
    ],
)
def test_a_wrong_setting_of_a_site_is_told_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "sottovoce.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        call("study", "list", "--home", home)
    assert re.search(says, f"{caught.value.message} {' '.join(caught.value.hints)}")


def test_open_permissions_are_refused(tmp_path: Path, coordinator_home: Path) -> None:
    for path in (
        coordinator_home / "storage.key",
        coordinator_home / "coordinator" / "certificate.key",
    ):
        path.chmod(0o644)
        with pytest.raises(OpenPermissionsError, match="expected mode 600, found 644"):
            call("study", "invite", "north", "--home", coordinator_home)
        path.chmod(0o600)
    coordinator_home.chmod(0o755)
    with pytest.raises(OpenPermissionsError, match="expected mode 700, found 755"):
        call("study", "list", "--home", coordinator_home)


@pytest.mark.parametrize(("shell", "check"), [("bash", "bash"), ("zsh", "zsh"), ("fish", "fish")])
def test_completion_prints_what_the_shell_can_read(shell: str, check: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "--show-completion", shell],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "_SOTTOVOCE_COMPLETE" in done.stdout
    if shutil.which(check):
        read = subprocess.run(
            [check, "-n"],
            input=done.stdout,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (read.returncode, read.stderr) == (0, "")


def test_completion_knows_the_commands() -> None:
    """The shell asks the command itself; this is what bash sends for `sottovoce stu<TAB>`."""
    for typed, completed in (("sottovoce stu", "study"), ("sottovoce study c", "cancel")):
        done = subprocess.run(
            [sys.executable, "-m", "sottovoce"],
            env={
                **os.environ,
                "_SOTTOVOCE_COMPLETE": "complete_bash",
                "COMP_WORDS": typed,
                "COMP_CWORD": str(len(typed.split()) - 1),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert completed in done.stdout.split(), done.stderr
