"""Notices to people, and a log that programs read."""

import json
import logging
import stat
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sottovoce.cli.notices import NEEDED, Notices
from sottovoce.cli.terminal.log_file import LogFile, LogLines
from sottovoce.course import news
from sottovoce.errors import InputError
from sottovoce.node import events
from sottovoce.wire.tags import kebab

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
STOPPED = news.StudyStopped("s-1", "north", "secret reason", "coordinator")


def test_a_program_hears_what_people_are_needed_for_and_nothing_else(tmp_path: Path) -> None:
    program, heard = tmp_path / "tell", tmp_path / "heard"
    program.write_text(f"#!/bin/sh\ncat >> {heard}\necho >> {heard}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with Notices(str(program)) as notices:
        notices.on_event(events.Enrolled("s-1", "north"))
        notices.on_event(STOPPED)
        notices.on_event(news.StudyFinished("s-1", "north"))
    parsed = [json.loads(line) for line in heard.read_text(encoding="utf-8").splitlines()]
    assert [event["event"] for event in parsed] == ["study-stopped", "study-finished"]
    assert set(parsed[0]) == {"event", "study", "seat", "at"}


def test_the_page_lists_every_notice() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## When people are needed")[2]
    rows = [line.split("|")[1] for line in part.partition("\n## ")[0].splitlines() if "|" in line]
    listed = {name for row in rows[2:] for name in row.replace("`", "").strip().split(", ")}
    assert listed == {kebab(event.__name__) for event in NEEDED}


def test_an_address_gets_a_post() -> None:
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with Notices(f"http://127.0.0.1:{server.server_port}/hook") as notices:
            notices.on_event(STOPPED)
        thread.join()
    assert json.loads(bodies[0])["study"] == "s-1"


def test_a_coordinator_that_began_to_serve_says_so(tmp_path: Path) -> None:
    program, heard = tmp_path / "tell", tmp_path / "heard"
    program.write_text(f"#!/bin/sh\ncat >> {heard}\n", encoding="utf-8")
    program.chmod(0o700)
    with Notices(str(program)) as notices:
        notices.on_event(events.Listening("https://cate.example:8443", bytes(32), ("s-1", "s-2")))
    notice = json.loads(heard.read_text(encoding="utf-8"))
    notice.pop("at")
    assert notice == {"event": "listening", "study": "", "seat": "coordinator"}


@pytest.mark.parametrize("says", ["HTTP 404", "ConnectionRefusedError"])
def test_why_an_address_got_nothing_is_logged(says: str, caplog: pytest.LogCaptureFixture) -> None:
    class Nothing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Nothing) as server:
        thread = threading.Thread(target=server.handle_request)
        if says.startswith("HTTP"):
            thread.start()
        else:
            server.server_close()
        with Notices(f"http://127.0.0.1:{server.server_port}/a-secret-hook") as notices:
            notices.on_event(STOPPED)
        if thread.ident:
            thread.join()
    assert f"a notice was not delivered ({says})" in caplog.text
    assert "a-secret-hook" not in caplog.text


def test_what_cannot_be_delivered_is_logged_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "fails"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o700)
    with caplog.at_level(logging.WARNING), Notices(str(program)) as notices:
        notices.on_event(STOPPED)
    assert "a notice was not delivered (CalledProcessError)" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("http://example.org/hook", "expected https, found http to example.org"),
        ("no-such-program-here", "expected a program or an https address"),
    ],
)
def test_places_that_no_notice_reaches_are_refused(place: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Notices(place)


def test_a_log_of_objects_has_a_time_and_one_line_each(tmp_path: Path) -> None:
    with LogFile(tmp_path / "log", LogLines.JSON) as log:
        log.line("north: enrolled\nand more")
        logging.getLogger("sottovoce.test").warning("a warning of %s", "ours")
    first, second = (
        json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    )
    assert set(first) == {"timestamp", "severity_text", "body"}
    assert first["severity_text"] == "INFO"
    assert second["body"] == "a warning of ours"
    assert second["severity_text"] == "WARNING"
