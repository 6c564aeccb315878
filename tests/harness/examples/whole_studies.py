"""Whole studies from one seed, every seat with an entropy of its own, and all that was sent.

`python -m harness.examples.whole_studies` prints a line for every packet of several studies, so
that two processes can be compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from harness.entropy import SeededEntropy
from harness.studies import BINARY, notes
from sottovoce.course.seat_course import SeatCourse
from sottovoce.entropy import Entropy, Expansion
from sottovoce.paillier import generate_insecure_for_tests
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Conversation, Meddler, Outcome
from sottovoce.protocols.seat import Packet
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.choices import Verdict
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import answer, ask, deal
from sottovoce.study.queries.query_seats import query_trio
from sottovoce.study.queries.shared_queries import share_scores
from sottovoce.study.queries.thresholds import unit_scores
from sottovoce.study.roster import draw_roster
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Labels

FOUR = Labels(("cardiac", "digestive", "endocrine", "infectious"))


@dataclass
class Listening(Meddler):
    """Writes down every packet."""

    lines: list[str] = field(default_factory=list)

    def carry(self, packet: Packet) -> Iterable[Packet]:
        digest = blake2b(packet.body, digest_size=16).hexdigest()
        where = f"{packet.session.hex()[:8]} {packet.sender}>{packet.recipient} {packet.number}"
        self.lines.append(f"{where} {len(packet.body)} {digest}")
        return (packet,)


@dataclass
class WholeStudy:
    """All seats' courses, run stage by stage as a network would run each of them."""

    study: Study
    courses: Mapping[str, SeatCourse]
    heard: Listening = field(default_factory=Listening)

    @classmethod
    def of(
        cls, plan: InsecureToyPlan, documents: Mapping[str, list[Document]], **seats: Any
    ) -> "WholeStudy":
        roster, identities = draw_roster(tuple(documents), entropy=SeededEntropy(2), **seats)
        study = Study(plan, roster)
        key = generate_insecure_for_tests(plan.key_bits, entropy=SeededEntropy(31))
        courses = {
            name: SeatCourse(
                PartyContext.open(study, identities[name], entropy=entropy_of(name, b"party")),
                documents=documents.get(name),
                key=key if name == roster.coordinator else None,
            )
            for name in roster.names
        }
        return cls(study, courses)

    def train(self) -> None:
        for stage in Stage.of(self.study):
            attempt = Attempt.first(self.study, stage)
            session = attempt.session(self.study)
            programs = {
                name: self.courses[name].program(attempt, entropy=entropy_of(name, session))
                for name in attempt.parties(self.study)
            }
            for name, result in self._converse(programs, session).results.items():
                self.courses[name].keep(attempt, result)

    def classify(self, asker: str, documents: list[Document]) -> list[Any]:
        coordinator, session = self.study.roster.coordinator, self.study.session("query", asker)
        model, trained = self.courses[asker].model, self.courses[coordinator].trained
        assert model is not None
        assert trained is not None
        rows = FeatureReader(model.space, model.key).read(documents).integers()
        if model.released is not None:
            return self.study.plan.labels.decide(unit_scores(rows, rows @ model.released))
        book = QueryBook(self.study.plan.budget, 1)
        programs: dict[str, Party[Any]] = {
            asker: ask(self._party(asker, session), model, rows, number=0),
            coordinator: answer(self._party(coordinator, session), trained, book, asker=asker),
        }
        evaluator = self.study.roster.evaluator
        held = self.courses[evaluator].held
        if held is not None:
            programs[evaluator] = share_scores(self._party(evaluator, session), (held,))
        if self.study.verdict_for(asker) is Verdict.FSS:
            dealer = query_trio(self.study, asker).dealer
            programs[dealer] = deal(self._party(dealer, session))
        classes: list[Any] = self._converse(programs, session).results[asker].classes
        return classes

    def _party(self, name: str, session: bytes) -> PartyContext:
        party = self.courses[name].party
        return party.at(party.attempt, entropy=entropy_of(name, session))

    def _converse(self, programs: Mapping[str, Party[Any]], session: bytes) -> Outcome:
        codec = self.courses[self.study.roster.coordinator].codec()
        return Conversation(programs, session=session, codec=codec, meddler=self.heard).run()


def entropy_of(name: str, session: bytes) -> Entropy:
    return Expansion(bytes(32), f"tests/{name}/v1", session)


def toy_plan(labels: Labels = BINARY, **settings: Any) -> InsecureToyPlan:
    small = {"features": 48, "key_bits": 768, "bucket_bits": 12, "query_budget": 4000}
    return InsecureToyPlan("notes", labels, **{**small, **settings})


def studies() -> Iterator[WholeStudy]:
    """Both engines, two classes and more, a list of penalties, labels with and without a dealer."""
    urgency, wards = notes(240), notes(400, label="diagnosis")
    kept = {
        n: [document for document in d if document.label in FOUR.names] for n, d in wards.items()
    }
    yield WholeStudy.of(toy_plan(alpha=(1.0, 8.0), release="peers"), urgency)
    yield WholeStudy.of(toy_plan(FOUR), kept, dealer_at="north")
    yield WholeStudy.of(toy_plan(verdict="dgk", features=16), urgency)
    paillier = {"engine": "paillier", "features": 4}
    yield WholeStudy.of(toy_plan(alpha=(2.0, 8.0), **paillier), urgency, with_dealer=False)
    yield WholeStudy.of(toy_plan(FOUR, **paillier), kept, with_dealer=False)


def transcript() -> Iterator[str]:
    for number, study in enumerate(studies()):
        study.train()
        asker = study.study.roster.peers[0]
        result = study.classify(asker, list(study.courses[asker]._documents[:3]))
        yield from (f"{number} {line}" for line in study.heard.lines)
        yield f"{number} labels {result}"


if __name__ == "__main__":
    print("\n".join(transcript()))  # noqa: T201 - the other process reads it
