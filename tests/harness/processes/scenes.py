"""The study that machines of a test run, with its text and its peers, and one process's order."""

import json
import re
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from harness.entropy import SeededEntropy
from harness.examples.arrangements import BY_NAME, one_draw
from harness.network import Network, read_toy
from harness.studies import notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.node.memberships import InvitationToken
from sottovoce.protocols.runner import Meddler
from sottovoce.study import Study
from sottovoce.study.candidates import Candidate
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster, peer_of
from sottovoce.text.documents import Document

TEXT = """
[study]
name = "urgency of notes"
coordinator = "Institute"
approval = "none needed: made up"
labels = ["routine", "urgent"]
dictionary = "{dictionary}"
{words}features = {features}
bucket_bits = 10
key_bits = 768
query_budget = 4000
release = "{release}"
engine = "{engine}"
verdict = "{verdict}"
alpha = {alpha}
{more}

[peers]
{peers}

[roles]
{roles}

[deadlines]
enrolment = "1 minute"
stage = "{stage}"
"""
COORDINATOR, WEATHER = "coordinator", "weather"
# Asks a machine where it is: it prints its tasks and threads.
WHERE = signal.SIGUSR2
BODIES = "bodies.jsonl"
_documents = cache(notes)


@dataclass
class Leaving(Meddler):
    """Stops all seats of some organisations as a stage begins."""

    peers: tuple[str, ...]
    stage: str
    left: bool = False

    def at_stage(self, stage: str) -> None:
        self.left = self.left or stage == self.stage

    def crashes(self, party: str, step: int) -> bool:
        del step
        return self.left and peer_of(party) in self.peers


@dataclass(frozen=True)
class Scene:
    """What is studied: by how many sites, with which engine, and how long they wait."""

    engine: str = "shares"
    sites: int = 3
    documents: int = 120
    features: int = 16
    stage: str = "1 minute"
    release: str = "peers"
    dictionary: str = "given"
    alpha: float = 40.0
    """A strong penalty: the solve is over after a tenth of the steps, four letters each."""
    more: str = ""
    arrangement: str = ""
    """One of `harness.examples.arrangements`, which then says everything."""

    @property
    def by_site(self) -> Mapping[str, Sequence[Document]]:
        if self.arrangement:
            return BY_NAME[self.arrangement].parts
        return _documents(self.documents, sites=self.sites)

    @property
    def machines(self) -> tuple[str, ...]:
        """A seat of every organisation but the coordinator's."""
        return BY_NAME[self.arrangement].sites if self.arrangement else tuple(self.by_site)

    @property
    def text(self) -> str:
        if self.arrangement:
            return BY_NAME[self.arrangement].text
        counted: Counter[str] = Counter()
        for document in (each for mine in self.by_site.values() for each in mine):
            counted.update(set(re.findall(r"[a-z]{4,}", document.text.lower())))
        words = [word for word, _ in counted.most_common(self.features + 20)][20:]
        return TEXT.format(
            dictionary=self.dictionary,
            words=f"words = {json.dumps(words)}\n" if self.dictionary == "given" else "",
            features=self.features,
            engine=self.engine,
            peers="\n".join(f'{name} = "{name.title()} Hospital"' for name in self.by_site),
            roles=self._roles,
            verdict="fss" if self.engine == "shares" else "dgk",
            stage=self.stage,
            release=self.release,
            alpha=self.alpha,
            more=self.more,
        )

    @property
    def _roles(self) -> str:
        """Who helps; in engine quorum any one of the sites may leave, once there are four."""
        if self.engine == "quorum":
            return "threshold = 1"
        dealer = 'dealer = "harbour"' if self.engine == "shares" else ""
        return f'evaluator = "north"\n{dealer}'

    def undisturbed(self, *peers: str) -> np.ndarray:
        """The weights of a study in memory among these peers (all, unless told)."""
        weights = next(iter(self._in_memory(*peers).models.values())).released
        assert weights is not None
        return weights

    def chosen(self) -> Candidate:
        """The model that a study in memory chooses of several."""
        return next(iter(self._in_memory().models.values())).candidate

    def left_by(self, *peers: str, stage: str) -> np.ndarray:
        """The weights of a study in memory that these peers leave as this stage begins.

        What the stages before it opened is of everybody: the dictionary, and the totals.
        """
        leaving = Leaving(peers, stage)
        setting = Setting(meddler=leaving, on_stage=leaving.at_stage)
        outcome = self._in_memory(setting=setting)
        stays = next(name for name in self.by_site if name not in peers)
        weights = outcome.models[stays].released
        assert weights is not None
        return weights

    def labels(self, peer: str, count: int) -> list[list[str]]:
        """The classes of a peer's first documents, by the weights of a study in memory."""
        if self.arrangement:
            with one_draw():
                outcome = BY_NAME[self.arrangement].in_memory()
            answer = outcome.classify(peer, self.by_site[peer][:count])
            return [list(class_) for class_ in answer.classes]
        outcome = replace(self, release="peers")._in_memory()
        return [
            list(class_) for class_ in outcome.classify(peer, self.by_site[peer][:count]).classes
        ]

    def _in_memory(self, *peers: str, setting: Setting | None = None) -> StudyOutcome:
        names = peers or tuple(self.by_site)
        roster, identities = draw_roster(
            names,
            entropy=SeededEntropy(2),
            with_dealer=self.engine == "shares",
            with_evaluator=self.engine != "quorum",
        )
        study = Study(read_toy(self.text).plan, roster)
        documents = {name: self.by_site[name] for name in names}
        return run_study(
            study, documents, identities=identities, entropy=SeededEntropy(3), setting=setting
        )


@dataclass(frozen=True)
class Order:
    """What a machine shall do: serve, join or classify, from which folder, at which address."""

    name: str
    root: str
    scene: Scene
    tokens: tuple[InvitationToken, ...]
    port: int
    address: str
    fingerprint: str
    log: str
    badness: float = 0.0
    space: str = ""
    stay: bool = False
    ask: int = 0
    approve: str = ""
    edited: bool = False

    def encode(self) -> str:
        content = asdict(self)
        for token in content["tokens"]:
            token["secret"] = token["secret"].hex()
        return json.dumps(content)

    @classmethod
    def decode(cls, line: str) -> "Order":
        content = json.loads(line)
        content["scene"] = Scene(**content["scene"])
        content["tokens"] = tuple(
            InvitationToken(
                **{
                    **token,
                    "seats": tuple(token["seats"]),
                    "secret": bytes.fromhex(token["secret"]),
                }
            )
            for token in content["tokens"]
        )
        return cls(**content)

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0].rpartition("/")[2]

    @property
    def network(self) -> Network:
        return Network(
            Path(self.root),
            self.scene.text,
            self.scene.by_site,
            tokens=self.tokens,
            port=self.port,
            fingerprint=bytes.fromhex(self.fingerprint),
            address=self.address,
        )
