"""A whole study: its plan, who takes part, and the programs that each party runs."""

from sottovoce.roles.plan import (
    DictionaryKind,
    Engine,
    InsecureToyPlan,
    Release,
    StudyPlan,
    Verdict,
)
from sottovoce.roles.policy import Policy
from sottovoce.roles.roster import Participant, Role, Roster
from sottovoce.roles.study import Study

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
