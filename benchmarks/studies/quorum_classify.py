"""Labels in engine quorum: a model in shares among members, ready for any number of queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.studies.rosters import roster_for
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers.residues import Base
from sottovoce.protocols.quorum import labels
from sottovoce.protocols.quorum.sharing import split
from sottovoce.protocols.runner import Conversation, Outcome
from sottovoce.study import Study, StudyPlan
from sottovoce.study.candidates import Candidate
from sottovoce.study.choices import Engine, LabelsOn
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook
from sottovoce.study.queries.classification import Answer
from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.quorum_queries import answer_query, ask_members, help_asker
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.stages.centring import Ends
from sottovoce.study.stages.contributions import solve_plan
from sottovoce.study.totals import Totals
from sottovoce.text.dictionary.dictionaries import HashedDictionary
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.features import FeatureSpace

SITES = tuple(f"site {number}" for number in range(1, 10))


@dataclass(frozen=True)
class QuorumParties:
    """A study of so many members after its training."""

    study: Study
    parties: dict[str, PartyContext]
    model: QuorumModel
    shares: dict[str, MemberShare] = field(repr=False)
    trained: QuorumTrained
    weights: NDArray[np.int64] = field(repr=False)
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    @classmethod
    def of(
        cls, plan: StudyPlan, members: int, *, halves: Sequence[int], ends: Ends, rows: int
    ) -> "QuorumParties":
        """With weights made up at random, as large as weights of unit rows are."""
        # All values that the queries of a study may open count towards its distance from noise.
        # The plan's verdict says at which strength labels are found.
        plan = replace(plan, engine=Engine.QUORUM, labels_on=LabelsOn.AUTO, query_budget=1_000_000)
        entropy, names = SystemEntropy(), SITES[:members]
        roster, identities = roster_for(Engine.QUORUM, names, entropy=entropy)
        study = Study(plan, roster)
        totals = Totals(rows, (rows, rows), names)
        solution = solve_plan(plan, totals, Candidate(), ends=ends).solution
        scores = ScorePlan.fit(plan, tuple(halves), solution)
        weights = scores.folded(np.random.default_rng(4).normal(size=scores.shape) / 4)
        quorum = study.quorum
        streams = [entropy] * quorum.threshold
        shares = split(Base().of(weights), streams, degree=quorum.threshold, quorum=quorum)
        space = FeatureSpace(HashedDictionary(plan.features))
        model = QuorumModel(space, scores, Candidate(), PUBLIC, quorum.members)
        held = {
            name: MemberShare(tuple(halves), scores, quorum.members, shares[name])
            for name in quorum.members
        }
        parties = {
            name: PartyContext.open(study, identities[name], entropy=entropy)
            for name in roster.names
        }
        trained = QuorumTrained(scores, totals, names, quorum.members)
        return cls(study, parties, model, held, trained, weights)

    @property
    def verdict(self) -> str:
        """How labels are found: without a dealer, or with a member that deals."""
        return "fss" if self.study.fast_labels else "shared bits"

    @property
    def named(self) -> str:
        """How it stands among others."""
        return f"quorum {len(self.shares)} {self.verdict}"

    @property
    def threshold(self) -> int:
        """How many members may pool."""
        return self.study.quorum.threshold

    def asked(self, rows: sparse.csr_array) -> Outcome:
        """A whole query of the first peer, with what everybody sent."""
        number, asker = next(self._numbers), SITES[0]
        coordinator, members = self.study.roster.coordinator, self.trained.members
        book = QueryBook(self.study.plan.budget, 0)
        programs = {name: help_asker(self.parties[name], self.shares[name]) for name in members}
        programs[coordinator] = answer_query(
            self.parties[coordinator], self.trained, book, asker=asker, members=members
        )
        session = self.study.session("query", str(number))
        asking = ask_members(self.parties[asker], self.model, rows, number=number)
        everybody = {**programs, asker: asking}
        return Conversation(
            everybody, session=session, codec=self.study.codec(), recorded=False
        ).run()

    def asked_unchecked(self, rows: sparse.csr_array) -> Outcome:
        """The same without the check of signs, which no study leaves out: what the check costs."""
        with (
            patch.object(labels, "check_bits", lambda *_, **__: iter(())),
            patch.object(labels, "check_openings", lambda *_: iter(())),
        ):
            return self.asked(rows)

    def check(self, rows: sparse.csr_array) -> None:
        """Raise unless every label is that of the weights put together."""
        answer = self.asked(rows).results[SITES[0]]
        assert isinstance(answer, Answer)
        names, scores = self.study.plan.labels.names, np.asarray(rows @ self.weights)[:, 0]
        if answer.classes != [(names[int(score >= 0)],) for score in scores]:
            raise AssertionError("the query gave a wrong label")
