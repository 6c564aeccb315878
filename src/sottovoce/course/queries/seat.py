"""The deciders of a seat after the training: asking and evaluating at a peer, and helping."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType

from sottovoce.course.control import (
    Closed,
    OpenedEvaluation,
    OpenedQuery,
    RefusedEvaluation,
    RefusedQuery,
    Rejoining,
)
from sottovoce.course.phases import Phase
from sottovoce.course.queries import asking, evaluating, helping
from sottovoce.course.queries.actions import ForgetOthers
from sottovoce.course.queries.asking import Asking
from sottovoce.course.queries.conversations import ConversationId, QueryId
from sottovoce.course.queries.evaluating import Evaluating
from sottovoce.course.queries.helping import Helping
from sottovoce.course.queries.inputs import (
    AnswerDelivered,
    EvaluationDelivered,
    EvaluationWanted,
    OfConversation,
    QuestionAsked,
    SumsKnown,
)
from sottovoce.course.queries.records import AskingRecord, EvaluatingRecord
from sottovoce.course.table import kind_of_input
from sottovoce.course.training.actions import Action
from sottovoce.course.training.inputs import Heard, Started, Tick
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.errors import MisuseError
from sottovoce.study.study import Study
from sottovoce.wire import Value

ASKING, EVALUATING = "query/asking", "evaluation/taking-part"
"""The names of a peer's records; what it helps with is in the record of the training."""


@dataclass(frozen=True)
class SeatService:
    """The deciders of one seat after the training."""

    asking: Asking
    evaluating: Evaluating
    helping: Helping

    @classmethod
    def of(
        cls,
        study_name: str,
        study: Study,
        name: str,
        record: ParticipantRecord,
        *,
        asked: AskingRecord | None = None,
        evaluated: EvaluatingRecord | None = None,
    ) -> "SeatService":
        """Continue from these records."""
        where = (study_name, study, name)
        asked, evaluated = asked or AskingRecord(), evaluated or EvaluatingRecord()
        if record.phase is Phase.CLOSED:
            asked, evaluated = asked.but(closed=True), evaluated.but(closed=True)
        return cls(
            Asking(*where, asked),
            Evaluating(*where, evaluated),
            Helping(*where, record),
        )

    @property
    def records(self) -> Mapping[str, Value]:
        """The records that outlive the process, by their names in the journal."""
        return {
            ASKING: self.asking.record,
            EVALUATING: self.evaluating.record,
            SEAT: self.helping.record,
        }

    @property
    def conversations(self) -> tuple[ConversationId, ...]:
        """The open conversations."""
        queries, evaluations = self.asking.conversations, self.evaluating.conversations
        return queries + evaluations + self.helping.conversations


def step(
    state: SeatService, happened: object, *, now: float
) -> tuple[SeatService, tuple[Action, ...]]:
    """Pass the input to the deciders that it concerns."""
    actions: tuple[Action, ...] = ()
    deciders = _deciders(state, happened)
    if asking in deciders:
        asked, actions = asking.step(state.asking, happened, now=now)
        state = replace(state, asking=asked)
    if evaluating in deciders:
        evaluated, more = evaluating.step(state.evaluating, happened, now=now)
        state, actions = replace(state, evaluating=evaluated), (*actions, *more)
    if helping in deciders:
        helped, more = helping.step(state.helping, happened, now=now)
        state, actions = replace(state, helping=helped), (*actions, *more)
    if isinstance(happened, Started):
        actions = (*actions, ForgetOthers(state.conversations))
    return state, actions


_CONCERNS: Mapping[type, tuple[ModuleType, ...]] = {
    Started: (helping,),
    Closed: (asking, evaluating, helping),
    QuestionAsked: (asking,),
    AnswerDelivered: (asking,),
    RefusedQuery: (asking,),
    EvaluationWanted: (evaluating,),
    EvaluationDelivered: (evaluating,),
    RefusedEvaluation: (evaluating,),
    Tick: (evaluating,),
    OpenedQuery: (helping,),
    Rejoining: (helping,),
    SumsKnown: (evaluating, helping),
}


def _deciders(state: SeatService, happened: object) -> tuple[ModuleType, ...]:
    """The deciders that an input concerns; late letters of the training concern none."""
    kind = kind_of_input(happened)
    if isinstance(happened, OfConversation):
        return (_owner(state, happened.which),)
    if isinstance(happened, Heard):
        opened = happened.message
        if isinstance(opened, OpenedEvaluation):
            return (evaluating,) if state.helping.name in opened.peers else (helping,)
        return _CONCERNS.get(kind, ())
    if kind not in _CONCERNS:
        raise MisuseError(f"course: no rule for {kind.__name__} after the training")
    return _CONCERNS[kind]


def _owner(state: SeatService, which: ConversationId) -> ModuleType:
    if isinstance(which, QueryId):
        return asking if which.asker == state.asking.name else helping
    return evaluating if which in state.evaluating.conversations else helping
