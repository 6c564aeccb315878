"""Three made-up hospitals learn: each alone, sealed together, and with all text in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sottovoce.attacks.trial import try_rados, word_counts
from sottovoce.datasets import ClinicalNotes, clinical_notes
from sottovoce.entropy import SystemEntropy
from sottovoce.estimators.federation import LocalFederation
from sottovoce.estimators.plain_text import PlainText, accuracy, on_side
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.protocols.view import View
from sottovoce.rados import Part, RandomSignatures
from sottovoce.text.splits import Side

SITES = ("northfield", "harbour", "stanmore")
EXPOSED = 100
# In short; docs/messages.md says it message by message.
LEARNS = {
    "coordinator": "rounded totals; per class, in how many notes a nameless word stands; who asks",
    "evaluator": "rounded totals, and how rare each nameless word is",
    "dealer": "that there was a study, and queries",
    "peer": "the encrypted model, which words count, labels of its own notes",
}


@dataclass(frozen=True)
class Seen:
    """What one party received in the whole study."""

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
    key_bits: int
    local: Mapping[str, float]
    joint: float
    pooled: float
    agreement: float
    seconds: Mapping[str, float]
    seen: tuple[Seen, ...]
    exposed: str

    def as_json(self) -> dict[str, object]:
        """The figures for scripts."""
        return {
            "accuracy": {"local": dict(self.local), "joint": self.joint, "pooled": self.pooled},
            "agreement": self.agreement,
            "seconds": dict(self.seconds),
            "peers": len(self.local),
            "documents": self.documents,
            "features": self.features,
            "engine": self.engine,
            "key_bits": self.key_bits,
        }


def run(
    *, documents: int = 1500, features: int = 512, told: Callable[[str], None] = lambda _: None
) -> Result:
    """Train alone, sealed and pooled on synthetic notes, and say what every party saw."""
    told("writing synthetic notes")
    notes = clinical_notes(documents, sites=SITES, random_state=7)
    parts = {
        site: [note.document("diagnosis") for note in notes if note.site == site] for site in SITES
    }
    told("training, sealed")
    model = TextClassifier(features=features, ngrams=(1, 2), query_budget=4 * documents)
    model.fit(LocalFederation(parts))
    plan = model.study_.study.plan
    test = [one for part in parts.values() for one in on_side(plan, part, Side.VALIDATION)]
    told("asking for labels")
    found = model.study_.classify(SITES[0], test).classes
    told("learning in plaintext, alone and pooled")
    key = model.study_.models[SITES[0]].key
    pooled = PlainText.learn(plan, list(parts.values()), key=key).predict(test)
    alone = {site: PlainText.learn(plan, [part]).accuracy(test) for site, part in parts.items()}
    told("undoing exposed rados")
    return Result(
        documents=documents,
        features=plan.features,
        engine=model.engine_,
        key_bits=plan.key_bits,
        local=alone,
        joint=accuracy(plan, test, found),
        pooled=accuracy(plan, test, pooled),
        agreement=float(np.mean([one == other for one, other in zip(found, pooled, strict=True)])),
        seconds=model.seconds_,
        seen=tuple(_seen(view) for view in model.study_.views.values()),
        exposed=_exposed(notes),
    )


def _seen(view: View) -> Seen:
    size = sum(item.size for item in view.received) / 1e6
    return Seen(view.party, len(view.received), size, LEARNS.get(view.party, LEARNS["peer"]))


def _exposed(notes: ClinicalNotes) -> str:
    """What would have come back, had one site's rados been sent in the clear."""
    few = notes[:EXPOSED]
    labels = np.where([note.urgency == "urgent" for note in few], 1.0, -1.0)
    part = Part.of(word_counts([note.text for note in few]), labels)
    signatures = RandomSignatures.draw(5 * EXPOSED // 4, EXPOSED, rng=np.random.default_rng(7))
    trial = next(iter(try_rados(part, signatures, entropy=SystemEntropy())))
    return f"{trial.score.word_for_word} of {EXPOSED} notes, word for word"
