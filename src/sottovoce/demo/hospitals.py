"""Three made-up hospitals learn: each alone, together over TLS, and with all text in one place.

Coordinator and hospitals are processes of their own, each with a folder of its own, and run the
commands that people type: `study create`, `serve`, `join`, `evaluate`, `classify`. The hospitals
compute by themselves: each also has a seat as member, and the coordinator holds nothing.
"""

import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.attacks.trial import try_rados, word_counts
from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.datasets import ClinicalNotes, clinical_notes
from sottovoce.demo.processes import Command, Commands, commands
from sottovoce.demo.report import demo_report
from sottovoce.entropy import SystemEntropy
from sottovoce.estimators.plain_text import PlainText, on_side
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.known_studies import site_evaluations
from sottovoce.node.site.site_folder import open_site
from sottovoce.rados import Part, RandomSignatures
from sottovoce.sources.writing import TableLayout, write_documents
from sottovoce.study import StudyPlan
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.roster import Role, peer_of
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side

SITES = ("northfield", "harbour", "stanmore")
ASKER = "harbour"
"""The hospital that has new notes labelled."""
EXPOSED = 100
WAIT_SECONDS = 600.0
# In short; docs/messages.md says it message by message.
LEARNS = {
    "coordinator": "rounded totals; per class, in how many notes a nameless word stands; who asks",
    "member": "rounded totals, how rare each nameless word is, and who asks",
    "peer": "which words count, labels of its own notes",
}
Announce = Callable[[str], None]


@dataclass(frozen=True)
class SeenByParty:
    """The messages that one party received in the whole study."""

    party: str
    messages: int
    megabytes: float
    learns: str


@dataclass(frozen=True)
class Result:
    """Everything that the demo shows."""

    documents: int
    features: int
    engine: str
    local: Mapping[str, float]
    joint: float
    pooled: float
    seconds: Mapping[str, float]
    seen: tuple[SeenByParty, ...]
    exposed: str
    report: str = field(default="", repr=False)

    def as_json(self) -> dict[str, object]:
        """The figures for scripts."""
        return {
            "accuracy": {"local": dict(self.local), "joint": self.joint, "pooled": self.pooled},
            "seconds": dict(self.seconds),
            "peers": len(self.local),
            "documents": self.documents,
            "features": self.features,
            "engine": self.engine,
            "seen": {
                view.party: {"messages": view.messages, "megabytes": view.megabytes}
                for view in self.seen
            },
        }


@dataclass(frozen=True)
class Demo:
    """One demo: its study, its notes, and the folder in which everything lies."""

    folder: Path
    described: StudyDescription
    parts: Mapping[str, Sequence[Document]]

    @classmethod
    def prepared(
        cls, folder: Path, *, documents: int, features: int
    ) -> tuple["Demo", ClinicalNotes]:
        """Write every hospital's notes into its own folder, and the study's text."""
        notes = clinical_notes(documents, sites=SITES, random_state=7)
        parts = {site: list(notes.at(site).documents("diagnosis")) for site in SITES}
        labels = sorted(set(notes.labels("diagnosis")))
        text = _study_text(labels, documents=documents, features=features)
        demo = cls(folder, parse_study(text), parts)
        (folder / "study.toml").write_text(text, encoding="utf-8")
        for site, part in parts.items():
            (folder / site).mkdir(mode=0o700)
            write_documents(part, folder / site / "notes.csv")
            (folder / site / "home").mkdir(mode=0o700)
        unseen = [Document(document.text) for document in demo.held_out(ASKER)]
        write_documents(unseen, folder / ASKER / "new.csv", layout=TableLayout(label=None))
        return demo, notes

    @property
    def plan(self) -> StudyPlan:
        """The study's plan."""
        return self.described.plan

    def held_out(self, site: str) -> Sequence[Document]:
        """The notes of a hospital that nobody trains on."""
        return on_side(self.plan, self.parts[site], Side.VALIDATION)

    @property
    def test(self) -> list[Document]:
        """Those of all of them."""
        return [document for site in self.parts for document in self.held_out(site)]

    def home(self, site: str) -> Path:
        """The folder of a hospital's keys, journals and models."""
        return self.folder / site / "home"


@dataclass(frozen=True)
class Evaluated:
    """The evaluation of the sealed model.

    `accuracy` is exact: every hospital knows its own table, and here they lie side by side.
    `shown` is what each hospital sees of all tables together, without small cells.
    """

    accuracy: float
    shown: Evaluation

    @classmethod
    def by(cls, demo: Demo) -> "Evaluated":
        """As the hospitals keep it."""
        sites = (open_site(demo.home(site), entropy=SystemEntropy()) for site in SITES)
        kept = [site_evaluations(site.study())[-1] for site in sites]
        own = sum(evaluation.own.counts for evaluation in kept if evaluation.own is not None)
        shown = kept[0].joint
        assert isinstance(own, np.ndarray)
        assert shown is not None, "the commands ended well, so the joint table was opened"
        return cls(float(np.trace(own) / own.sum()), shown)


def run(
    *,
    documents: int = 1500,
    features: int = 512,
    announce: Announce = lambda _: None,
    folder: Path | None = None,
) -> Result:
    """From invitations to labelled files, and what learning alone or pooled would have given."""
    with _stopped_by_signals(), _folder(folder) as place:
        announce("writing synthetic notes")
        demo, notes = Demo.prepared(place, documents=documents, features=features)
        with commands(place) as running:
            seconds = _study(demo, running, announce)
        announce("learning in plaintext, alone and pooled")
        plan, test, parts = demo.plan, demo.test, demo.parts
        growth = {
            many: PlainText.learn(plan, list(parts.values())[:many]).accuracy(test)
            for many in range(1, len(parts) + 1)
        }
        pooled = growth[len(parts)]
        alone = {site: PlainText.learn(plan, [part]).accuracy(test) for site, part in parts.items()}
        seen = tuple(_seen(demo))
        joint = Evaluated.by(demo)
        named = {f"{site}, alone": share for site, share in alone.items()}
        sealed = {"all three, sealed": joint.accuracy, "all text in one place": pooled}
        page = demo_report(
            demo.described,
            place,
            joint=joint.shown,
            compared=named | sealed,
            growth=growth,
            seconds=seconds,
        )
    announce("undoing exposed rados")
    return Result(
        documents=documents,
        features=plan.features,
        engine=str(demo.described.rehearsed().engine),
        local=alone,
        joint=joint.accuracy,
        pooled=pooled,
        seconds=seconds,
        seen=seen,
        exposed=_exposed(notes),
        report=page,
    )


def _study_text(labels: Sequence[str], *, documents: int, features: int) -> str:
    quoted = ", ".join(json.dumps(label) for label in labels)
    return f"""\
[study]
name = "diagnoses of synthetic notes"
coordinator = "Institute for Health Data"
approval = "none is needed: every note is made up"
labels = [{quoted}]
features = {features}
ngrams = [1, 2]
query_budget = {4 * documents}
thresholds = [-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6]

[peers]
northfield = "Northfield Hospital"
harbour = "Harbour Clinic"
stanmore = "Stanmore Practice"

[deadlines]
enrolment = "10 minutes"
stage = "2 minutes"
"""


def _study(demo: Demo, running: Commands, announce: Announce) -> dict[str, float]:
    """The study itself; seconds by stage."""
    began = time.monotonic()
    announce("the coordinator serves")
    server = running.start(
        "coordinator", "serve", "--home", demo.folder / "coordinator", "--host", "127.0.0.1",
        "--port", 0, "--json",
    )  # fmt: skip
    address = server.wait_for("listening", seconds=WAIT_SECONDS)["address"]
    invitations = demo.folder / "invitations"
    running.start(
        "invitations", "study", "create", demo.folder / "study.toml", "--home",
        demo.folder / "coordinator", "--address", address, "--out", invitations, "--json",
    ).result(seconds=WAIT_SECONDS)  # fmt: skip
    announce("three hospitals join")
    hospitals = {
        site: running.start(
            site, "join", invitations / site, "--home", demo.home(site), "--data",
            demo.folder / site / "notes.csv", "--text", "text", "--label", "label", "--group",
            "group", "--yes", "--json",
        )
        for site in SITES
    }  # fmt: skip
    server.wait_for("stage-began", seconds=WAIT_SECONDS)
    seconds = {"processes, invitations, enrolment": time.monotonic() - began}
    seconds |= _training(server, hospitals, announce)
    return seconds | _use(demo, running, announce)


def _use(demo: Demo, running: Commands, announce: Announce) -> dict[str, float]:
    """Use the trained model: joint figures for all sites, and labels for one of them."""
    announce("evaluating together")
    began = time.monotonic()
    evaluating = [
        running.start(f"{site}-evaluates", "evaluate", "--home", demo.home(site), "--json")
        for site in SITES
    ]
    for command in evaluating:
        command.result(seconds=WAIT_SECONDS)
    evaluated = time.monotonic()
    announce(f"{ASKER} asks for labels")
    running.start(
        f"{ASKER}-asks", "classify", demo.folder / ASKER / "new.csv", "--home", demo.home(ASKER),
        "--out", demo.folder / ASKER / "labelled.csv", "--json",
    ).result(seconds=WAIT_SECONDS)  # fmt: skip
    return {
        "evaluation on the notes held out": evaluated - began,
        f"labels of new notes at {ASKER}": time.monotonic() - evaluated,
    }


def _training(
    server: Command, hospitals: Mapping[str, Command], announce: Announce
) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for event in server.events(seconds=WAIT_SECONDS):
        if event["event"] == "stage-began":
            announce(f"sealed: {event['stage']}")
        if event["event"] == "stage-ended":
            seconds[event["stage"]] = event["seconds"]
        if event["event"] in {"study-finished", "study-stopped"}:
            break
    for site, command in hospitals.items():
        command.wait_for("study-finished", seat=site, seconds=WAIT_SECONDS)
    return seconds


def _seen(demo: Demo) -> Iterator[SeenByParty]:
    """Read from each seat's own ledger what it received."""
    for path in sorted(demo.folder.glob("**/ledger.jsonl")):
        party = path.parent.name
        sizes = [line.bytes for line in read_ledger(path) if line.what == LineKind.RECEIVED]
        role = str(Role.MEMBER) if party != peer_of(party) else party
        learns = LEARNS.get(role, LEARNS["peer"])
        yield SeenByParty(party, len(sizes), sum(sizes) / 1e6, learns)


def _exposed(notes: ClinicalNotes) -> str:
    """Reconstruct what one site's rados would show if they were sent in the clear."""
    few = notes[:EXPOSED]
    labels = np.where([note.urgency == "urgent" for note in few], 1.0, -1.0)
    part = Part.of(word_counts([note.text for note in few]), labels)
    signatures = RandomSignatures.draw(5 * EXPOSED // 4, EXPOSED, rng=np.random.default_rng(7))
    trial = next(iter(try_rados(part, signatures, entropy=SystemEntropy())))
    return f"{trial.score.word_for_word} of {EXPOSED} notes, word for word"


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """A folder that is gone afterwards, unless it was given."""
    if given is not None:
        given.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="sottovoce-demo-") as made:
        yield Path(made)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """A service manager's signal stops the demo as Ctrl-C does, with all its processes."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
