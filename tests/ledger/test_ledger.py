"""The ledger says what left and what came, and verify names whatever was done to it since."""

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import LedgerError
from sottovoce.ledger import (
    Entry,
    Head,
    LedgerLine,
    LedgerSeat,
    LineKind,
    NotedEnd,
    SiteLedger,
    select,
    to_csv,
    to_json,
    to_markdown,
    verify,
)
from sottovoce.ledger.chain import LedgerEnd, read_signed, sign_line
from sottovoce.ledger.verification import head_path
from sottovoce.protocols.identities import Identity
from sottovoce.study.relay import Letter
from sottovoce.study.stages.agreement import Consent

NORTH = Identity.draw("north", SeededEntropy(1))
OTHER = Identity.draw("north", SeededEntropy(2))
SEAT = LedgerSeat(NORTH.name, NORTH.public)


def letter(number: int, body: bytes = b"sealed bytes") -> Letter:
    return Letter(b"session", "north", "coordinator", number, body)


def sent(number: int, body: bytes = b"sealed bytes") -> Entry:
    return Entry.of_letter(
        LineKind.SENT, letter(number, body), study="s1", stage="agreement", kind="consent"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    """Five letters and a deletion."""
    ticks = iter(range(100))
    with SiteLedger(path, NORTH, clock=lambda: f"2026-01-01T00:00:{next(ticks):02}Z") as ledger:
        for number in range(5):
            assert ledger.append(sent(number)) == 1
        ledger.append(Entry("s1", LineKind.DELETION, note="the journal: 3 sessions, 40 steps"))
    return path


def test_a_line_says_what_left_to_whom_and_what_it_reveals(written: Path) -> None:
    lines = list(SiteLedger(written, NORTH).entries())
    first = lines[0]
    assert (first.line, first.what, first.stage, first.kind) == (1, "sent", "agreement", "consent")
    assert (first.party, first.bytes, first.seat) == ("coordinator", 12, "north")
    assert first.when == "2026-01-01T00:00:00Z"
    assert first.reveals == Consent.discloses.reveals
    assert first.digest == hashlib.sha256(b"sealed bytes").hexdigest()
    assert first.entry == sent(0)
    assert [line.line for line in lines] == [1, 2, 3, 4, 5, 6]
    assert "sealed bytes" not in written.read_text()
    assert written.stat().st_mode & 0o777 == 0o600


def test_a_whole_ledger_verifies_and_says_against_what(written: Path) -> None:
    verified = verify(written, SEAT)
    assert verified.lines == 6
    assert verified.against == ("the head beside it",)
    with SiteLedger(written, NORTH) as ledger:
        assert ledger.words == verified.words
        receipt = ledger.head()
        ledger.append(sent(9))
        noted = (
            NotedEnd.of_head(receipt, "the coordinator's receipt"),
            NotedEnd.of_words(verified.words),
        )
        again = ledger.verify(noted=noted)
    assert again.lines == 7
    assert again.against == (
        "the coordinator's receipt",
        "the words that were written down",
        "the head beside it",
    )


Tamper = Callable[[list[bytes]], list[bytes]]


def rewritten(lines: list[bytes], index: int, **changes: object) -> list[bytes]:
    line = msgspec.json.decode(lines[index], type=LedgerLine)
    new = msgspec.structs.replace(line, **changes)
    return [*lines[:index], new.encoded(), *lines[index + 1 :]]


TAMPERED: dict[str, tuple[Tamper, str]] = {
    "a changed size": (lambda l: rewritten(l, 2, bytes=1), "line 3 was changed: its signature"),
    "a changed time": (lambda l: rewritten(l, 5, when="x"), "line 6 was changed: its signature"),
    "a changed number": (lambda l: rewritten(l, 2, line=4), "line 3 was changed"),
    "a signature that is none": (lambda l: rewritten(l, 0, signature="zz"), "line 1 was changed"),
    "another seat": (lambda l: rewritten(l, 0, seat="south"), "line 1 is of another seat, 'south'"),
    "one line cut out": (lambda l: l[:2] + l[3:], "line 3 is missing: line 4 follows line 2"),
    "the first cut out": (lambda l: l[1:], "line 1 is missing: line 2 follows line 0"),
    "three lines cut out": (lambda l: l[:1] + l[4:], "lines 2 to 4 are missing: line 5 follows"),
    "two that changed places": (
        lambda l: [l[0], l[2], l[1], *l[3:]],
        "found line 3 in place of line 2: the order was changed",
    ),
    "a line twice": (lambda l: [*l[:3], l[2], *l[3:]], "line 3 appears again, as line 4"),
    "the end cut off": (
        lambda l: l[:4],
        "lines are missing at the end: the head beside it says 6 lines",
    ),
    "everything gone": (lambda l: [], "lines are missing at the end: .* found 0"),
    "the middle of a line gone": (lambda l: [*l[:-1], l[-1][:40]], "line 6 is cut off in the"),
    "something else": (lambda l: [b"hello\n", *l], "line 1 is no ledger line"),
    "spaces put in": (lambda l: [l[0].replace(b",", b", "), *l[1:]], "line 1 is no ledger line"),
    "a field added": (
        lambda l: [l[0].replace(b"{", b'{"more":1,', 1), *l[1:]],
        "line 1 is no ledger line",
    ),
    "an endless line": (lambda l: [b"x" * 10**6, *l], "line 1 is cut off in the middle"),
}


@pytest.mark.parametrize(("tamper", "says"), TAMPERED.values(), ids=list(TAMPERED))
def test_verify_names_what_was_done(written: Path, tamper: Tamper, says: str) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join(tamper(lines)))
    with pytest.raises(LedgerError, match=says):
        verify(written, SEAT)


def test_lines_of_two_histories_do_not_fit_together(written: Path, tmp_path: Path) -> None:
    """Somebody with the key wrote another history, and put one line of it into this one."""
    other = tmp_path / "other.jsonl"
    with SiteLedger(other, NORTH) as ledger:
        for number in range(6):
            ledger.append(sent(number, b"other bytes"))
    ours, theirs = (path.read_bytes().splitlines(keepends=True) for path in (written, other))
    written.write_bytes(b"".join([*ours[:2], theirs[2], *ours[3:]]))
    with pytest.raises(LedgerError, match="line 3 does not follow the line before it"):
        verify(written, SEAT)


def test_who_cuts_ledger_and_head_is_caught_by_a_receipt_alone(written: Path) -> None:
    with SiteLedger(written, NORTH) as ledger:
        receipt, words = ledger.head(), ledger.words
    lines = written.read_bytes().splitlines(keepends=True)
    end = LedgerEnd.none(NORTH.name, NORTH.public)
    for line in lines[:4]:
        end = end.after(line)
    written.write_bytes(b"".join(lines[:4]))
    head_path(written).write_bytes(Head.of(end, NORTH).encoded())
    assert verify(written, SEAT).lines == 4
    with pytest.raises(
        LedgerError, match="lines are missing at the end: the coordinator's receipt says 6"
    ):
        verify(
            written,
            SEAT,
            noted=(NotedEnd.of_head(receipt, "the coordinator's receipt"),),
        )
    with pytest.raises(
        LedgerError, match="lines are missing at the end: the words that were written down"
    ):
        verify(written, SEAT, noted=(NotedEnd.of_words(words),))
    with SiteLedger(written, NORTH) as ledger:
        for number in range(10, 14):
            ledger.append(sent(number))
    with pytest.raises(LedgerError, match=r"line 6 differs from the one in the words .* rewritten"):
        verify(written, SEAT, noted=(NotedEnd.of_words(words),))


def test_the_head_itself_is_checked(written: Path) -> None:
    beside = head_path(written)
    whole = beside.read_bytes()
    end = LedgerEnd(6, "0" * 64)
    for data, says in (
        (b"{}", "it is no head of a ledger"),
        (Head.of(end, OTHER).encoded(), "expected a head signed by 'north', found another"),
        (Head.of(end, NORTH).encoded(), "line 6 differs from the one in the head beside it"),
    ):
        beside.write_bytes(data)
        with pytest.raises(LedgerError, match=says):
            verify(written, SEAT)
    beside.unlink()
    with pytest.raises(LedgerError, match="nobody can say whether the end was cut off"):
        verify(written, SEAT)
    beside.write_bytes(whole)
    with pytest.raises(LedgerError, match="expected a head signed by 'north'"):
        verify(written, LedgerSeat("north", OTHER.public))


@pytest.mark.parametrize("words", ["", "6", "-", "x-" + "a" * 32, "6-" + "g" * 32, "6-" + "a" * 31])
def test_words_that_are_none_are_refused(words: str) -> None:
    with pytest.raises(LedgerError, match="expected a count, a dash and 32 digits"):
        NotedEnd.of_words(words)


def test_a_letter_that_is_sent_again_has_one_line(written: Path) -> None:
    with SiteLedger(written, NORTH) as ledger:
        assert ledger.append(sent(0), sent(5), sent(5)) == 2
        assert ledger.append(sent(0), sent(5)) == 0
        with pytest.raises(
            LedgerError, match=r"letter 5 sent 'coordinator' .* found another under"
        ):
            ledger.append(sent(5, b"other bytes"))
        assert ledger.verify().lines == 8


def test_a_line_that_a_crash_cut_off_goes_and_a_line_says_so(written: Path) -> None:
    whole = written.read_bytes()
    with written.open("ab") as file:
        file.write(b'{"signature":"12')
    with SiteLedger(written, NORTH) as ledger:
        verified = ledger.verify()
        last = list(ledger.entries())[-1]
    assert verified.lines == 7
    assert written.read_bytes().startswith(whole)
    assert (last.what, last.study) == ("repair", "s1")
    assert last.note == "16 bytes of a line that a crash had cut off were taken away"


def test_nothing_is_appended_to_a_ledger_that_was_tampered_with(written: Path) -> None:
    whole = written.read_bytes()
    lines = whole.splitlines(keepends=True)
    written.write_bytes(b"".join(lines[:4]))
    with pytest.raises(
        LedgerError, match="lines are missing at the end: the head beside it says 6 lines"
    ):
        SiteLedger(written, NORTH)
    written.write_bytes(b"".join([lines[0], *lines[2:]]))
    with pytest.raises(LedgerError, match="line 2 is not what was written there"):
        SiteLedger(written, NORTH)
    written.write_bytes(whole)
    SiteLedger(written, NORTH).close()


def test_a_second_writer_is_refused(written: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sottovoce.ledger import SiteLedger\n"
        "from sottovoce.protocols.identities import Identity\n"
        "from sottovoce.errors import LedgerError\n"
        "try: SiteLedger(Path(sys.argv[1]), Identity('north', bytes(32)))\n"
        "except LedgerError as error: print(error)\n"
    )
    with SiteLedger(written, NORTH):
        finished = subprocess.run(
            [sys.executable, "-c", code, str(written)], capture_output=True, text=True, check=True
        )
    assert "another process writes it" in finished.stdout


def test_a_full_disk_loses_no_line_and_leaves_no_half_one(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SiteLedger(written, NORTH) as ledger:
        real = os.pwrite

        def half(descriptor: int, data: bytes, offset: int) -> int:
            if offset and len(data) > 100:
                return real(descriptor, data[:100], offset)
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", half)
            with pytest.raises(LedgerError, match="no space left on device"):
                ledger.append(sent(7))
        assert ledger.append(sent(7)) == 1
        assert ledger.verify().lines == 7


def test_exports_hold_every_line_and_run_nothing(written: Path) -> None:
    with SiteLedger(written, NORTH) as ledger:
        ledger.append(Entry("s1", LineKind.END, party="=cmd()", note="a | b <script>\nnext"))
        lines = list(ledger.entries())
    assert [line["line"] for line in json.loads(to_json(lines))] == list(range(1, 8))
    rows = list(csv.DictReader(io.StringIO(to_csv(lines))))
    assert len(rows) == 7
    assert rows[6]["to or from"] == "'=cmd()"
    assert rows[0]["SHA-256 of the bytes"] == lines[0].digest
    table = to_markdown(lines).splitlines()
    assert len(table) == 9
    assert "a \\| b &lt;script> next" in table[-1]
    assert "| consent | coordinator | 12 |" in table[2]


def test_lines_are_selected_by_what_and_party(written: Path) -> None:
    with SiteLedger(written, NORTH) as ledger:
        assert [line.line for line in select(ledger.entries(), what=LineKind.DELETION)] == [6]
        assert len(list(select(ledger.entries(), party="coordinator"))) == 5


def test_a_line_has_one_encoding() -> None:
    line = LedgerLine.of(sent(0), LedgerEnd.none("north", NORTH.public), when="now", seat="north")
    data = sign_line(line, NORTH).encoded()
    assert read_signed(LedgerLine, data) is not None
    assert read_signed(LedgerLine, data[:-1]) is None
    assert read_signed(LedgerLine, data.replace(b'"sent"', b'"spent"')) is None
