"""The facts of a study card, as data: who must not pool, what is kept and for how long.

An engine or an arrangement adds its facts here; every page that people read uses them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from sottovoce.study.choices import Engine
from sottovoce.study.release import Opens
from sottovoce.study.roster import Role
from sottovoce.study.study import Study

UNION = "rebuild documents of all peers, word for word, though not say whose they are"
# Members hold parts of every single contribution, not only of the sum.
EACH = "rebuild documents of every peer, word for word, and say whose they are"
# Every column has one holder; sums are over groups of entities with equal shared columns.
COLUMNS = "read sums of each peer's columns over groups of its rows, and say whose they are"


# Phrases about text, and the phrases that replace them in a study of tables.
_ROWS = (
    ("how words stand together in them", "how columns go together in them"),
    ("which of the chosen words", "which of the columns"),
    ("how often words occur (rounded)", "the mean of each column (rounded)"),
    ("how often chosen words occur, rounded", "the mean of each column, rounded"),
    ("your documents as encrypted numbers, one row a document", "your rows as encrypted numbers"),
    ("No text leaves", "No row of your table leaves as it is"),
    ("as the model has words", "as the model has columns"),
    ("word for word", "value for value"),
    ("documents", "rows"),
)


def worded(study: Study, said: str) -> str:
    """Return a sentence about documents in the words of this study: for tables, rows and columns.

    Pass only sentences without people's own names in them, which must not be changed.
    """
    for text, table in () if study.plan.has_text else _ROWS:
        said = said.replace(text, table)
    return said


@dataclass(frozen=True)
class Holders:
    """Seats that each hold a part of the joint numbers; `enough` of them together can read them."""

    seats: tuple[str, ...]
    enough: int
    gives: str = UNION

    def organisations(self, study: Study) -> tuple[tuple[str, ...], ...]:
        """The smallest groups of organisations that could read them, by name."""
        groups = {
            frozenset(study.roster.organisation(seat) for seat in chosen)
            for chosen in combinations(self.seats, self.enough)
        }
        least = [group for group in groups if not any(other < group for other in groups)]
        order = {
            study.roster.organisation(seat): place for place, seat in enumerate(study.roster.names)
        }
        return tuple(sorted(tuple(sorted(group, key=order.__getitem__)) for group in least))


@dataclass(frozen=True)
class EngineFacts:
    """An engine on the card: what it does with contributions, and who holds parts of the sum."""

    hides: str
    holders: Callable[[Study], Holders]


def _two_of_three(study: Study) -> Holders:
    trio = study.trio
    return Holders((trio.first, trio.second, trio.dealer), 2)


def _key_and_numbers(study: Study) -> Holders:
    return Holders((study.roster.coordinator, study.roster.evaluator), 2)


def _more_than_may_pool(study: Study) -> Holders:
    return Holders(study.quorum.members, study.quorum.threshold + 1, EACH)


# The facts of each engine, for the first page. A test checks that every engine has some.
ENGINES: Mapping[Engine, EngineFacts] = {
    Engine.QUORUM: EngineFacts(
        "Every number is split into parts, one for each organisation that computes; too few "
        "parts together are random, also for whoever runs the study.",
        _more_than_may_pool,
    ),
    Engine.SHARES: EngineFacts(
        "Random numbers are added that cancel only in the sum over all peers; the sum itself "
        "stays in two halves at two organisations, and either half alone is random.",
        _two_of_three,
    ),
    Engine.PAILLIER: EngineFacts(
        "They are encrypted: whoever computes with them cannot read them, and whoever has the "
        "key never gets them without random numbers added.",
        _key_and_numbers,
    ),
}


@dataclass(frozen=True)
class Pooling:
    """Organisations that must not pool what they saw, and what pooling would give them."""

    organisations: tuple[str, ...]
    gives: str


def poolings(study: Study) -> tuple[Pooling, ...]:
    """Return everybody who must not pool, the worst case first."""
    roster = study.roster
    holders = holders_of(study)
    gives = worded(study, holders.gives)
    groups = [Pooling(organisations, gives) for organisations in holders.organisations(study)]
    if study.fast_labels and study.quorum.threshold > 1:
        gives = "read scores of what is asked, and from many the model"
        groups.append(Pooling(("any two members that find labels",), gives))
    coordinator = roster.organisation(roster.coordinator)
    for participant in roster.having(Role.INTERMEDIARY):
        peer = roster.organisation(roster.works_for(participant.name))
        gives = f"{worded(study, 'read the documents of')} {peer} one by one"
        groups.append(Pooling((coordinator, participant.organisation), gives))
    return tuple(groups)


def holders_of(study: Study) -> Holders:
    """Return the holders of parts of the joint numbers."""
    holders = ENGINES[study.engine].holders(study)
    return replace(holders, gives=COLUMNS) if study.plan.arrangement.by_features else holders


@dataclass(frozen=True)
class KeptFact:
    """A record that is kept: by whom, and until when."""

    what: str
    who: str
    until: str


def keeping(study: Study) -> tuple[KeptFact, ...]:
    """Return what every party keeps."""
    plan, roster = study.plan, study.roster
    rows = [KeptFact("numbers of the computation", "all who compute", "deleted after the training")]
    if study.outsourced:
        return (
            *rows,
            KeptFact(
                "model and key", roster.organisation(roster.coordinator), "as long as it likes"
            ),
        )
    if study.engine is Engine.QUORUM and plan.release.opens is not Opens.WEIGHTS:
        needed = study.quorum.needed
        until = f"until the study is closed (answers need {needed} of them)"
        rows.append(
            KeptFact("a part of the model that alone is random", "those who compute", until)
        )
    elif plan.release.opens is Opens.WEIGHTS:
        rows.append(
            KeptFact("the model", "every peer", "as long as it likes, nobody can call it back")
        )
    else:
        rows.append(
            KeptFact("the key that answers need", "the coordinator", "until it closes the study")
        )
        if study.on_shares:
            who = "coordinator and evaluator"
            rows.append(KeptFact("the model's halves", who, "until the study is closed"))
        else:
            until = "useless once the study is closed"
            rows.append(KeptFact("the encrypted model", "every peer", until))
    if plan.beside.has_own_scores:
        rows.append(KeptFact("its own model", "every peer", "until it withdraws or deletes it"))
    rows.append(KeptFact("the ledger of what left", "every site", "until the site deletes it"))
    return tuple(rows)
