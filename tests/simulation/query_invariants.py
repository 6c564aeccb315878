"""What must hold of queries and evaluations: a check for each sentence of the docstring."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulation.invariants import (
    Evidence,
    check_no_mask_over_two_values,
    check_one_number_one_message,
)
from simulation.mailbox import BrokenError
from simulation.serving import DIGEST_BYTES, Question, ServingSite
from simulation.site import COORDINATOR
from simulation.toy_queries import BATCH
from sottovoce.course.queries.conversations import EvaluationId, QueryId
from sottovoce.errors import MisuseError, TheirError
from sottovoce.study.relay import Letter

if TYPE_CHECKING:
    from simulation.serving_world import ServingWorld


@dataclass
class ServedEvidence:
    """All that an invariant may look at once a simulation of queries is over."""

    world: "ServingWorld"
    ideal: Callable[[Any], Any]

    @property
    def sites(self) -> dict[str, ServingSite]:
        return self.world.sites  # type: ignore[return-value]

    @property
    def coordinator(self) -> ServingSite:
        return self.sites[COORDINATOR]

    @property
    def labels_told(self) -> dict[QueryId, Question]:
        """What the coordinator told labels of, by the query in which it made that message."""
        study = self.coordinator.parts.study
        sessions = {
            study.session(*query.parts): query
            for name in study.roster.peers
            for number in range(self.coordinator.state.askers[name].record.following)
            if (query := QueryId(name, number))
        }
        return {
            sessions[letter.session]: self._question_of(letter)
            for letter in self.world.mailbox.letters
            if letter.sender == COORDINATOR and self._kind(letter) == "toy-label"
        }

    def _question_of(self, label: Letter) -> Question:
        """What hid its number in the letter that this label answers.

        Two lives of one disk may give one number to two questions: what was asked is what came.
        """
        site = self.sites[label.recipient]
        (masked,) = (
            letter
            for letter in self.world.mailbox.letters
            if (letter.session, letter.sender) == (label.session, site.name)
            and self._kind(letter) == "toy-masked"
        )
        return site.asked[site.made[masked].material[-DIGEST_BYTES:]]

    def _kind(self, letter: Letter) -> str:
        made = self.sites[letter.sender].made.get(letter)
        return "" if made is None else made.kind


def _broken(number: int, why: str) -> None:
    raise BrokenError(f"invariant {number}: {why}")


def check_charged_once(evidence: ServedEvidence) -> None:
    """9. What every peer was charged is what the coordinator told it, each query once."""
    labels_told = evidence.labels_told
    for name in evidence.coordinator.parts.study.roster.peers:
        record = evidence.coordinator.state.askers[name].record
        expected = BATCH * sum(query.asker == name for query in labels_told)
        if record.spent != expected:
            _broken(9, f"{name} was charged {record.spent}, and told {expected}")
        questions = defaultdict[Question, list[QueryId]](list)
        site = evidence.sites[name]
        for query in labels_told:
            if query.asker == name:
                questions[labels_told[query]].append(query)
        for question, queries in questions.items():
            # One that was given up for another question and asked again later is paid again.
            given_up = evidence.world.people[name].given_up
            if len(queries) > 1 and not given_up:
                _broken(9, f"{name} was told {question} in {queries}")
        for query, question, _ in site.served:
            if isinstance(query, QueryId) and labels_told.get(query) != question:
                _broken(9, f"{name} was served {question} in {query}, whose label is of another")


def check_ideal(evidence: ServedEvidence) -> None:
    """10. Whatever people were served is what a trusted friend would have said."""
    peers = evidence.coordinator.parts.study.roster.peers
    for name, site in evidence.sites.items():
        for which, question, answer in site.served:
            if isinstance(which, QueryId):
                if answer != evidence.ideal(question.value):
                    _broken(10, f"{name} was told {answer} of {question}")
            elif answer[1] != sum(256 ** peers.index(peer) for peer in answer[0]):
                _broken(10, f"{name} was told {answer[1]} over {answer[0]}")


def check_evaluations(evidence: ServedEvidence) -> None:
    """11. Every evaluation is opened once, in one attempt, and all of them over the same peers."""
    sets, attempts = set(), defaultdict[str, set[int]](set)
    for site in evidence.sites.values():
        for (_, name), opened in site.sums.book.spent.items():
            sets.add(opened.peers)
            attempts[name].add(opened.attempt)
    if len(sets) > 1:
        _broken(11, f"evaluations were opened over {sets}")
    for name, numbers in attempts.items():
        if len(numbers) > 1:
            _broken(11, f"{name} was opened in attempts {numbers}")
    served = [service for site in evidence.sites.values() for service in site.served]
    for which, _, answer in served:
        if isinstance(which, EvaluationId) and answer[0] not in sets:
            _broken(11, f"{which} was served over {answer[0]}, but opened over {sets}")


def check_nobody_waits_nameless(evidence: ServedEvidence) -> None:
    """12. Everybody was served or was told who kept it waiting, and no program waits any more."""
    for name, site in evidence.sites.items():
        for error in site.ended_with:
            named = isinstance(error, TheirError) and error.party
            refused = isinstance(error, MisuseError)
            if error is not None and not named and not refused:
                _broken(12, f"{name} ended with {error!r}, which names nobody")
        if site.dead:
            continue
        if site.question is not None or site.awaiting:
            _broken(12, f"{name} waits: {site.question}, {list(site.awaiting)}")
        people = evidence.world.people.get(name)
        if people is not None and people.wishes:
            _broken(12, f"{name} has wishes left: {people.wishes}")
    if evidence.coordinator.state.conversations:
        _broken(12, f"the coordinator left {evidence.coordinator.state.conversations} open")


def check_letters(evidence: ServedEvidence) -> None:
    """1. As in a training."""
    check_one_number_one_message(_as_training(evidence))


def check_masks(evidence: ServedEvidence) -> None:
    """8. As in a training."""
    check_no_mask_over_two_values(_as_training(evidence))


def _as_training(evidence: ServedEvidence) -> Evidence:
    world = evidence.world
    open_kinds = frozenset({"toy-set", "toy-sum", "toy-label", "query-request", "query-grant"})
    return Evidence(world.sites, world.mailbox.letters, {}, left=world.left, open_kinds=open_kinds)


QUERY_INVARIANTS = (
    check_letters,
    check_masks,
    check_charged_once,
    check_ideal,
    check_evaluations,
    check_nobody_waits_nameless,
)
