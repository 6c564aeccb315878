"""A study between processes: every party runs the command that people type, in its own folder."""

import json
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.studies.networked import NetworkTrial, Progress, notes
from sottovoce.cli.terminal.measurements import Row
from sottovoce.config.study_file import parse_study
from sottovoce.demo.processes import Command, commands
from sottovoce.sources.writing import write_documents

_WAIT_SECONDS = 600.0
_FILE = "notes.csv"


def measure_processes(
    wanted: Sequence[NetworkTrial], *, key_bits: int, encoder: str | None, progress: Progress
) -> Iterator[Row]:
    """A row for each trial: seconds by the clock, and CPU seconds of all processes together."""
    for trial in wanted:
        with tempfile.TemporaryDirectory() as folder:
            before = _cpu_of_children()
            seconds = _Processes(Path(folder), trial, encoder, progress).run(key_bits)
        yield {
            "engine": str(trial.engine),
            "features": trial.features,
            **{name: str(value)[:16] for name, value in trial.beside.items()},
            "documents": trial.documents,
            **{name: round(value, 1) for name, value in seconds.items()},
            "cpu_seconds": round(_cpu_of_children() - before, 1),
        }


class _Processes:
    """A coordinator, three sites, and helpers where the engine has them."""

    def __init__(
        self, folder: Path, trial: NetworkTrial, encoder: str | None, progress: Progress
    ) -> None:
        self.folder = folder
        self.trial = trial
        self.encoder = encoder
        self.progress = progress

    def run(self, key_bits: int) -> dict[str, float]:
        """Seconds until everybody has joined, until every site has its model, and by stage."""
        text = self.trial.text(key_bits)
        (self.folder / "study.toml").write_text(text, encoding="utf-8")
        parts = notes(self.trial)
        for site, documents in parts.items():
            (self.folder / site).mkdir(mode=0o700)
            write_documents(documents, self.folder / site / _FILE)
        began = time.monotonic()
        with commands(self.folder) as running:
            server = running.start(
                "server", "serve", "--home", self.folder / "cate", "--host", "127.0.0.1",
                "--port", 0, "--json",
            )  # fmt: skip
            address = server.wait_for("listening", seconds=_WAIT_SECONDS)["address"]
            sent = self.folder / "sent"
            running.start(
                "create", "study", "create", self.folder / "study.toml", "--home",
                self.folder / "cate", "--address", address, "--out", sent, "--json",
            ).result(seconds=_WAIT_SECONDS)  # fmt: skip
            names = [each.name for each in parse_study(text).organisations if each.seats]
            joined = {
                name: running.start(name, *self._joining(name, sent))
                for name in names
                if (sent / name).exists()
            }
            server.wait_for("stage-began", seconds=_WAIT_SECONDS)
            enrolled = time.monotonic()
            stages = self._followed(server)
            for name in parts:
                joined[name].wait_for("study-finished", seat=name, seconds=_WAIT_SECONDS)
            trained = time.monotonic()
        return {
            "enrolment_seconds": enrolled - began,
            "wall_seconds": trained - enrolled,
            **{f"{stage}_s": spent for stage, spent in stages.items()},
        }

    def _joining(self, name: str, sent: Path) -> Sequence[object]:
        always = (sent / name, "--home", self.folder / name / "home", "--yes", "--json")
        if not (self.folder / name / _FILE).exists():
            (self.folder / name).mkdir(mode=0o700)
            return ("assist", *always)
        place = () if self.encoder is None else ("--encoder", self.encoder)
        return ("join", *always, "--data", self.folder / name / _FILE, "--label", "label", *place)

    def _followed(self, server: Command) -> dict[str, float]:
        """The seconds of each stage, until the study is over."""
        stages: dict[str, float] = {}
        for event in server.events(seconds=_WAIT_SECONDS):
            if event["event"] == "stage-began":
                self.progress(f"{self.trial.engine}: {event['stage']}")
            if event["event"] == "stage-ended":
                stages[event["stage"]] = event["seconds"]
            if event["event"] == "study-stopped":
                raise RuntimeError(json.dumps(dict(event)))
            if event["event"] == "study-finished":
                break
        return stages


def _cpu_of_children() -> float:
    """The CPU seconds of all processes that this one started and that are over."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
