"""A whole study: its plan, who takes part, and the programs that each party runs."""

from sottovoce.study.plan import (
    DictionaryKind,
    Engine,
    InsecureToyPlan,
    StudyPlan,
    Verdict,
)
from sottovoce.study.policy import Policy
from sottovoce.study.release import Release
from sottovoce.study.roster import Participant, Role, Roster
from sottovoce.study.study import Study

__all__ = [
    "DictionaryKind",
    "Engine",
    "InsecureToyPlan",
    "Participant",
    "Policy",
    "Release",
    "Role",
    "Roster",
    "Study",
    "StudyPlan",
    "Verdict",
]
