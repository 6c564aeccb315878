"""A whole study: its plan, its participants, and the programs that each party runs."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    from sottovoce.study.choices import DictionaryKind, Engine, Verdict
    from sottovoce.study.plan import InsecureToyPlan, StudyPlan
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "plan": "DictionaryKind Engine InsecureToyPlan StudyPlan Verdict",
        "policy": "Policy",
        "release": "Release",
        "roster": "Participant Role Roster",
        "study": "Study",
    },
)
