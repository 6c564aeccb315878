"""The worked examples of CONTRIBUTING.md are done, in a copy or by a toy in the test they name.

The release mode, the selection rule and the page are one object each, which their own tests
register at run time. A file source and a message change files, so they are done in a copy of the
package here, and the changed files are those that the guide lists.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

READER = '''"""Mail: one message a file, its subject and its text as columns."""

from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path

from sottovoce.sources.columns import Header
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.rows import RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin


class MessageReader:
    """Reads one mail."""

    format = Format.MESSAGE

    def __init__(self, path: Path, options: SourceOptions) -> None:
        self._path, self._options = path, options
        self.name = str(path)

    def header(self) -> Header:
        return Header(self.name, ("subject", "body", "keywords"))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        mail = message_from_bytes(self._path.read_bytes(), policy=policy.default)
        row = {"subject": mail["subject"], "body": mail.get_content(), "keywords": mail["keywords"]}
        rows = RowReader(select(self.header(), self._options), self._options)
        yield rows.read(row, Origin(self.name))
'''
MAIL = "Subject: visit\nKeywords: urgent\nContent-Type: text/plain\n\nfever since yesterday\n"
MESSAGE = '''class SolveReady(Message, frozen=True):
    """The evaluator is ready for the solve."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator",
        reveals="that the evaluator has everything that it needs for the solve",
        assuming="when the solve begins is no secret",
    )
    index: int


'''
STUDY = """
from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.paillier import generate_insecure_for_tests
from sottovoce.study import InsecureToyPlan

from sottovoce.study.stages.solving import SolveReady

plan = InsecureToyPlan("notes", BINARY, features=8, key_bits=512, bucket_bits=10)
case = Case(notes(150), plan, generate_insecure_for_tests(512, entropy=SeededEntropy()))
views = case.run().views
assert views["coordinator"].of(SolveReady) == [SolveReady(0)]
assert not any(view.of(SolveReady) for name, view in views.items() if name != "coordinator")
"""


class Copy:
    """A copy of the package and its pages, in which files are changed one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changed: set[str] = set()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)

    def write(self, path: str, text: str) -> None:
        self.changed.add(path)
        (self.folder / path).write_text(text, encoding="utf-8")

    def replace(self, path: str, before: str, after: str) -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{path}: the dry run changes {before!r}"
        self.write(path, text.replace(before, after))

    def run(self, *arguments: str) -> str:
        """What a Python with the changed package prints."""
        paths = os.pathsep.join((str(self.folder / "src"), str(ROOT / "tests")))
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths, "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def listed(example: str) -> set[str]:
    """The files of an example in the guide, without its test."""
    part = next(part for part in GUIDE.split("\n**") if part.startswith(example))
    files = re.findall(r"^\d\. `([\w/.]+)`", part, re.MULTILINE)
    return {file for file in files if not file.startswith("tests/")}


def test_a_file_source(copy: Copy) -> None:
    sources, sheet = "src/sottovoce/sources", '    XLSX = "xlsx"\n'
    message = '    MESSAGE = "message"\n'
    copy.replace(f"{sources}/options.py", sheet, sheet + message)
    copy.write(f"{sources}/formats/messages.py", READER)
    opening = f"{sources}/opening.py"
    copy.replace(
        opening,
        "from sottovoce.sources.options import Format, SourceOptions\n",
        "from sottovoce.sources.formats.messages import MessageReader\n"
        "from sottovoce.sources.options import Format, SourceOptions\n",
    )
    suffix = '    ".xlsx": Format.XLSX,\n'
    copy.replace(opening, suffix, suffix + '    ".eml": Format.MESSAGE,\n')
    copy.replace(
        opening,
        "        case Format.XLSX:\n",
        "        case Format.MESSAGE:\n            return MessageReader(path, options)\n"
        "        case Format.XLSX:\n",
    )
    assert copy.changed == listed("A file source")
    (copy.folder / "note.eml").write_text(MAIL, encoding="utf-8")
    columns = ("--text", "body", "--label", "keywords")
    shown = copy.run("-m", "sottovoce", "data", "inspect", "note.eml", *columns, "--json")
    assert '"urgent"' in shown
    assert "fever" not in shown
    assert "message" in copy.run("-m", "sottovoce", "data", "inspect", "--help")


def test_a_message_between_evaluator_and_coordinator(copy: Copy) -> None:
    solving = "src/sottovoce/study/stages/solving.py"
    copy.replace(solving, "class SolveNumbers(Message", f"{MESSAGE}class SolveNumbers(Message")
    numbers = "        yield Send(study.trio.dealer, work.numbers(prepared.totals, contributed))\n"
    waits = "        yield from receive(study.roster.evaluator, SolveReady)\n"
    copy.replace(solving, numbers, numbers + waits)
    seated = "        holder = yield from _seated(party, contributed, index)\n"
    work = "        work = _work(study, prepared, contributed, candidate)\n"
    copy.replace(
        solving,
        work + seated,
        f"{work}        yield Send(study.roster.coordinator, SolveReady(index))\n{seated}",
    )
    copy.run("-c", STUDY)
    (copy.folder / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "make_messages.py", copy.folder / "docs")
    copy.run("docs/make_messages.py")
    copy.changed.add("docs/messages.md")
    page = (copy.folder / "docs" / "messages.md").read_text(encoding="utf-8")
    assert "that the evaluator has everything that it needs for the solve" in page
    assert copy.changed == listed("A message between evaluator and coordinator")


@pytest.mark.parametrize(
    ("example", "test"),
    [
        ("A release mode", "tests/study/test_releases.py"),
        ("A selection rule", "tests/text/test_selection_rules.py"),
        ("A page that shows", "tests/console/test_study_pages.py"),
    ],
)
def test_the_other_examples_are_done_by_a_toy_in_the_test_that_they_name(
    example: str, test: str
) -> None:
    part = next(part for part in GUIDE.split("\n**") if part.startswith(example))
    assert f"`{test}`" in part
    text = (ROOT / test).read_text(encoding="utf-8")
    assert re.search(r"monkeypatch\.setitem\(|monkeypatch\.setattr\(", text)
