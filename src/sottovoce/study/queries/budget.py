"""The budget of labels: the coordinator counts a peer's labels, and sends it what is left.

One budget covers everything that reveals labels: queries, evaluations, and every penalty that is
tried. It counts rows (documents, sentences or tokens, as the plan's level says), padded to whole
ciphertexts, when a query is granted. The charge is given back if the query ended before its labels
were sent: until then the asker has seen only noise. So the same documents, asked about again, are
counted once.
"""

import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from sottovoce.errors import MisuseError, ViolationError
from sottovoce.hints import Hint, PlanSetting
from sottovoce.protocols.conversation import Party, Receive, Send
from sottovoce.protocols.disclosures import (
    BATCHES_ARE_PADDED,
    BUDGET_IS_ON_THE_CARD,
    BY_ASKER,
    BY_COUNTING_COORDINATOR,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.study.study import Study

# The asker gets a warning when less than this share of its budget is left.
_NEAR_THE_END = 0.1


class QueryBudgetWarning(UserWarning):
    """Few labels of the budget are left."""


class QueryRequest(Message, frozen=True):
    """A request for a query: its number, and for how many documents, padded.

    With `thresholds` the scores are also counted at the plan's thresholds, in shares. `nonce` is
    bound to the rows, and what is dealt for the query to it (query_seats.py).
    """

    discloses: ClassVar = Disclosure(
        seen_by=BY_COUNTING_COORDINATOR,
        reveals="that this peer asks now, and for how many documents, rounded up",
        assuming=BATCHES_ARE_PADDED,
    )
    number: int
    documents: int
    evaluation: bool
    thresholds: int = 0
    nonce: bytes = b""


class QueryGrant(Message, frozen=True):
    """Grants the query, and says how many documents are left afterwards."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="what is left of its own budget",
        assuming=BUDGET_IS_ON_THE_CARD,
    )
    left: int


class QueryRefusal(Message, frozen=True):
    """Refuses the query, because it asks for more than is left."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER,
        reveals="that it asked for more than is left of its own budget",
        assuming=BUDGET_IS_ON_THE_CARD,
    )
    left: int


@dataclass
class QueryBook:
    """The coordinator's count of every peer's labels, kept as long as the model exists.

    `evaluations` is the number of evaluations that a peer may ask for: each opens totals over all
    peers.
    """

    budget: int
    evaluations: int
    spent: Counter[str] = field(default_factory=Counter)
    evaluated: Counter[str] = field(default_factory=Counter)
    _untold: dict[str, QueryRequest] = field(default_factory=dict, init=False, repr=False)

    def left(self, asker: str) -> int:
        """The number of labels that this peer may still ask for."""
        return self.budget - self.spent[asker]

    def grant(self, asker: str, request: QueryRequest) -> bool:
        """Count a query or an evaluation and return True; return False if it exceeds the budget."""
        if request.documents < 1:
            raise ViolationError(
                f"expected a query for at least 1 document, found {request.documents}", party=asker
            )
        if request.documents > self.left(asker):
            return False
        if request.evaluation and self.evaluated[asker] >= self.evaluations:
            return False
        self.evaluated[asker] += request.evaluation
        self.spent[asker] += request.documents
        self._untold[asker] = request
        return True

    def keep_charged(self, asker: str) -> None:
        """Record that the labels of a peer's last query were sent, so it stays counted."""
        self._untold.pop(asker, None)

    def give_back(self, asker: str) -> None:
        """Undo the charge of a peer's query that ended before it revealed anything."""
        request = self._untold.pop(asker, None)
        if request is None:
            return
        self.evaluated[asker] -= request.evaluation
        self.spent[asker] -= request.documents


def granted(study: Study, request: QueryRequest, asker: str) -> Party[int]:
    """At the asker: wait for the grant, and return how many documents are left."""
    coordinator = study.roster.coordinator
    yield Send(coordinator, request)
    reply = yield Receive(coordinator, (QueryGrant, QueryRefusal))
    if isinstance(reply, QueryRefusal):
        raise _spent(study, request, asker, left=reply.left)
    if reply.left < _NEAR_THE_END * study.plan.budget:
        warnings.warn(
            f"{asker}: {reply.left} of {study.plan.budget} labels of {study.plan.level}s are left",
            QueryBudgetWarning,
            stacklevel=2,
        )
    return int(reply.left)


def _spent(study: Study, request: QueryRequest, asker: str, *, left: int) -> MisuseError:
    plan, size = study.plan, request.documents
    if request.evaluation and left >= request.documents:
        return MisuseError(
            f"{asker}: the query budget of {plan.evaluations} evaluations is spent",
            hints=(Hint("a new study may agree on more: ", PlanSetting("evaluations", 2)),),
        )
    return MisuseError(
        f"{asker}: the query budget of {plan.budget} {plan.level}s is spent: "
        f"asked for {request.documents}, {left} are left",
        hints=(
            f"a query is filled up to {size} {plan.level}s here: ask for many in one call",
            "a new study may agree on a larger query_budget",
        ),
    )
