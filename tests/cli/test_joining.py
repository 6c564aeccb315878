"""What `join` refuses before it asks or sends anything, and what it says when all is over."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.commands import call
from sottovoce import cli
from sottovoce.cli.commands.join import _stays
from sottovoce.config.study_file import example, parse_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError, SottovoceError, StoppedError, WithdrawnError
from sottovoce.node.api import Documents, Joined, JoinOptions
from sottovoce.node.invitations import Invitation
from sottovoce.node.memberships import SeatStatus
from sottovoce.node.site.site_context import SiteContext
from sottovoce.node.site.site_folder import open_site
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.source import Source
from sottovoce.study import Study
from sottovoce.text.documents import Document


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    path.write_text("note,urgency\nshe fell,urgent\nall is well,routine\n", encoding="utf-8")
    return path


def unreadable(path: Path) -> Path:
    path.write_bytes(b"\x1f\x8b\x08\x00" + os.urandom(50))
    return path


def empty(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--data", "nosuch.csv"), "nosuch.csv: there is no such file or folder"),
        (
            ("--data", "notes.csv"),
            "notes.csv: expected a column 'text', found 2 columns, none of them of that name",
        ),
        (("--data", "notes.csv", "--text", "note", "--label", "x"), "expected a column 'x'"),
        (("--data", "notes.csv", "--text", "note", "--group", "x"), "expected a column 'x'"),
        (("--data", "packed.csv"), "packed.csv: "),
        (("--data", "folder"), r"folder: expected files that match '\*.txt', found "),
        (("--data", "notes.csv", "--text", "note", "--format", "xls"), "format: expected one of"),
        (("--approve", "nosuch"), "--approve: expected `each` or a program of this site"),
        (("--label", "urgency"), "--text, --label: these need --data"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_at_this_site_is_told_before_anything_else(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    unreadable(tmp_path / "packed.csv")
    empty(tmp_path / "folder")
    with pytest.raises(InputError, match=says):
        call("join", *words, "--home", "north", "--passphrase-file", "nosuch")
    assert not Path("north").exists()


def test_a_table_without_text_learns_how_to_say_so(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="expected a column 'text'") as caught:
        call("join", "--data", "notes.csv", "--label", "urgency", "--home", "north")
    assert caught.value.hints[-1] == "--text none if the study's rows have no text"


def test_a_mistyped_invitation_is_named(
    tmp_path: Path,
    coordinator_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    notes: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="found neither in 'sent/nort'") as caught:
        call("join", "sent/nort", "--home", "north")
    assert caught.value.hints[0] == "did you mean sent/north?"
    with pytest.raises(InputError, match="found the folder sent") as caught:
        call("join", "sent", "--home", "north")
    assert "sottovoce join sent/north" in caught.value.hints
    with pytest.raises(InputError, match=r"notes\.csv: invitation: expected one line that begins"):
        call("join", "notes.csv", "--home", "north")
    line = Path("sent/north").read_text(encoding="utf-8").strip()
    with pytest.raises(InputError, match=r"found neither in .* characters"):
        call("join", line[len(line) // 2 :], "--home", "north")
    assert not Path("north").exists()


ENDED = [
    ("stopped", "approval withdrawn", "coordinator", StoppedError, 3),
    ("stopped", "too few peers are left", "", StoppedError, 3),
    ("closed", "", "", StoppedError, 3),
    ("withdrawn", "", "", WithdrawnError, 4),
]


@pytest.mark.parametrize(("phase", "reason", "party", "error", "code"), ENDED)
@pytest.mark.parametrize(
    "words", [("join",), ("classify", "notes.csv", "--out", "x.csv"), ("evaluate",)], ids=" ".join
)
def test_a_study_that_is_over_says_what_happened_and_what_can_be_done(
    tmp_path: Path,
    coordinator_home: Path,
    words: tuple[str, ...],
    phase: str,
    reason: str,
    party: str,
    error: type[SottovoceError],
    code: int,
) -> None:
    from sottovoce.cli.terminal.event_text import code_of

    home = tmp_path / "stanmore"
    invitation = Invitation.parse((tmp_path / "sent" / "stanmore").read_text())
    joined = open_site(home, entropy=SystemEntropy()).accept(invitation)
    for seat in invitation.seats:
        (joined.folder / seat).mkdir()
        status = SeatStatus(joined.id, seat, phase, 0, 0, reason, party)
        (joined.folder / seat / "status.json").write_text(json.dumps(asdict(status)))
    with pytest.raises(error, match="study 'urgency of clinical notes'") as caught:
        call(*words, "--home", home)
    assert code_of(caught.value) == code
    assert reason in str(caught.value)
    assert "journal" not in str(caught.value)
    assert all("sottovoce join" not in hint for hint in caught.value.hints)
    (row,) = json.loads(call("study", "list", "--home", home, "--json"))
    seats = json.loads(call("status", "--home", home, "--json"))["joined"]
    assert {row["phase"], *(seat["phase"] for seat in seats)} == {phase}


def test_anothers_invitation_does_not_take_the_place_of_a_seat(
    tmp_path: Path, coordinator_home: Path
) -> None:
    home = tmp_path / "stanmore"
    invitation = Invitation.parse((tmp_path / "sent" / "stanmore").read_text())
    joined = open_site(home, entropy=SystemEntropy()).accept(invitation)
    for seat in invitation.seats:
        (joined.folder / seat).mkdir()
        status = SeatStatus(joined.id, seat, "finished", 0, 0)
        (joined.folder / seat / "status.json").write_text(json.dumps(asdict(status)))
    with pytest.raises(
        InputError, match=r"expected one for stanmore, .* found one for north"
    ) as it:
        call("join", tmp_path / "sent" / "north", "--home", home, "--yes")
    assert it.value.hints[0] == f"to continue: sottovoce join --study {joined.id}"
    (row,) = json.loads(call("study", "list", "--home", home, "--json"))
    assert row["phase"] == "finished"


def test_who_only_looked_at_anothers_invitation_may_take_its_own(
    tmp_path: Path, coordinator_home: Path
) -> None:
    from sottovoce.cli.invitation_prompt import check_seats

    site = open_site(tmp_path / "stanmore", entropy=SystemEntropy())
    site.accept(Invitation.parse((tmp_path / "sent" / "north").read_text()))
    own = Invitation.parse((tmp_path / "sent" / "stanmore").read_text())
    check_seats(site, own)
    assert site.accept(own).invitation.seats == ("stanmore", "member-stanmore")


def test_labels_that_are_not_the_study_s_are_counted_and_spelled_before_consent(
    tmp_path: Path, coordinator_home: Path
) -> None:
    home, path = tmp_path / "stanmore", tmp_path / "notes.csv"
    invitation = Invitation.parse((tmp_path / "sent" / "stanmore").read_text())
    joined = open_site(home, entropy=SystemEntropy()).accept(invitation)
    joined.keep_text(example())
    rows = [f"she fell {n} times,{label}" for n in range(12) for label in ("urgent", "routine")]
    odd = ["she fell,Urgent"] * 3 + ["she fell, ROUTINE "] + ["all is well,an illness of her own"]
    path.write_text("\n".join(["text,label", *rows, *odd]), encoding="utf-8")
    words = ("join", "--data", path, "--dry-run", "--home", home)
    facts = json.loads(call(*words, "--json"))
    assert (facts["documents"], facts["left_out"]) == (24, {"unknown label": 5})
    said = CliRunner().invoke(cli.app, [str(word) for word in words]).stderr
    assert "5 rows are left out (5 × unknown label)" in said
    assert "5 rows have a label that the study does not have" in said
    assert "3 of them say 'Urgent', which is 'urgent' but for case or space" in said
    assert "to take them: --label-map ROUTINE=routine,Urgent=urgent" in said
    assert "illness" not in said
    mapped = ("--label-map", "ROUTINE=routine,Urgent=urgent")
    facts = json.loads(call(*words, *mapped, "--json"))
    assert (facts["documents"], facts["left_out"]) == (28, {"unknown label": 1})


def test_join_reads_its_documents_once_and_checks_them_once(
    tmp_path: Path, coordinator_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path = tmp_path / "stanmore", tmp_path / "notes.csv"
    invitation = Invitation.parse((tmp_path / "sent" / "stanmore").read_text())
    joined = open_site(home, entropy=SystemEntropy()).accept(invitation)
    joined.keep_text(example())
    rows = [f"she fell {n} times,{label}" for n in range(12) for label in ("urgent", "routine")]
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    rows_read, checked = [], []
    read = Source.outcomes

    def count_rows(self: Source) -> Iterator[Document | SourceProblem]:
        for outcome in read(self):
            rows_read.append(outcome)
            yield outcome

    def count_check(_study: Study, peer: str, documents: Sequence[Document]) -> None:
        checked.append((peer, len(documents)))

    async def begin(_membership: object, source: Documents, *, options: JoinOptions) -> Joined:
        publics = dict.fromkeys(invitation.seats, b"")
        described = parse_study(example())
        for given in (options, replace(options, checked=frozenset())):
            context = SiteContext("notes", described, publics, source=source, options=given)
            await context.check_documents()
        return Joined(described.rehearsed(), None)

    monkeypatch.setattr(Source, "outcomes", count_rows)
    monkeypatch.setattr("sottovoce.node.site.site_context.refuse_unfit", count_check)
    monkeypatch.setattr("sottovoce.node.site.joining.join", begin)
    words = ["join", "--data", str(path), "--yes", "--home", str(home)]
    said = CliRunner().invoke(cli.app, words).stderr
    assert f"--study {joined.id}` continues" in said
    assert len(rows_read) == 1 + 24, "the first row shows whether the columns exist"
    assert checked == [("stanmore", 24)], "only a caller who has not checked is checked again"


HELPED = """
[study]
name = "helped"
coordinator = "Institute"
labels = ["a", "b"]
features = 16
tail = 0
engine = "{engine}"
[peers]
north = "North"
south = "South"
west = "West"
[roles]
evaluator = "trust"
{dealer}
[helpers]
trust = "Trust"
{helpers}
"""
OWNED = """
[study]
name = "owned"
coordinator = "North"
labels = ["a", "b"]
features = 0
[columns]
age = { low = 0, high = 120 }
[peers]
north = "North"
[roles]
evaluator = "cloud"
[helpers]
cloud = "Cloud"
"""
SHARED = HELPED.format(engine="shares", dealer='dealer = "archive"', helpers='archive = "Archive"')
BUILT = HELPED.format(
    engine="paillier", dealer="", helpers='cloud = "Cloud"\n[intermediaries]\nnorth = "cloud"'
)
QUORUM = BUILT.partition("[roles]")[0].replace("paillier", "quorum")


@pytest.mark.parametrize(
    ("text", "seats", "waits", "asks"),
    [
        (SHARED, ("north",), False, False),
        (SHARED, ("evaluator",), True, False),
        (SHARED, ("dealer",), True, False),
        (QUORUM, ("north", "member-north"), True, True),
        (BUILT, ("evaluator",), True, False),
        (BUILT, ("intermediary-north",), False, False),
        (OWNED, ("evaluator",), False, False),
    ],
)
def test_who_stays_after_the_training_says_what_it_waits_for(
    text: str,
    seats: tuple[str, ...],
    waits: bool,  # noqa: FBT001 - a parameter of the test
    asks: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    said = _stays(parse_study(text), seats)
    assert ("waits for queries of the sites" in said) is waits
    assert ("sottovoce classify FILE" in said) is asks
