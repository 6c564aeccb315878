"""The card's first page: a whole study in plain words, at most 60 lines of 80 columns.

The person who signs for an organisation reads this page. Every sentence follows from the facts of
this very study (facts.py, leaving.py). It uses no unexplained term of cryptography.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from textwrap import wrap

from sottovoce.study.adversaries import is_dealt
from sottovoce.study.arrangement import Remote
from sottovoce.study.card.facts import ENGINES, Holders, holders_of, keeping, poolings, worded
from sottovoce.study.card.leaving import LeavingLine, leaving
from sottovoce.study.card.sizes import DRAWN
from sottovoce.study.choices import DictionaryKind, Engine
from sottovoce.study.plan import FEWEST_EVALUATED, FEWEST_PEERS
from sottovoce.study.release import Opens
from sottovoce.study.roster import Participant, Role, Roster
from sottovoce.study.stages.centring import is_corrected
from sottovoce.study.stages.listing import is_listed
from sottovoce.study.study import Study
from sottovoce.wire.printable import markdown

WIDTH = 80
LONGEST = 60
# The most names or groups that are listed; more are only counted.
_FEW = 4
# Texts by people are shortened on this page; the details have them in full.
_NAME_LENGTHS = (40, 28, 18)


def first_page(study: Study, organisation: str | None = None, *, code: str) -> tuple[str, ...]:
    """Return the page for an organisation, or for any peer; `code` is the plan's fingerprint."""
    lines: tuple[str, ...] = ()
    for longest in _NAME_LENGTHS:
        cut = short_names(
            (participant.organisation for participant in study.roster.participants), longest
        )
        names = {name: markdown(short) for name, short in cut.items()}
        called = Study(study.plan, _renamed(study.roster, names))
        lines = tuple(_lines(called, names.get(organisation or ""), code))
        if len(lines) <= LONGEST:
            break
    return lines


def _lines(study: Study, organisation: str | None, code: str) -> Iterator[str]:
    yield from _head(study, code)
    yield from _doing(study, organisation)
    yield from _leaves(study, organisation)
    yield from _learned(study, organisation)
    yield from _fails(study)
    yield from _opened(study)
    yield from _kept(study)
    yield from _checked()
    yield from _limits()


def short_names(names: Iterable[str], longest: int) -> dict[str, str]:
    """Return each name in at most `longest` characters, cut in its middle, never two alike."""
    shortened: dict[str, str] = {}
    for name in names:
        tail = longest // 3
        cut = name if len(name) <= longest else f"{name[: longest - tail - 1]}…{name[-tail:]}"
        taken = name not in shortened and cut in shortened.values()
        shortened.setdefault(name, f"{cut[:-3]}…{len(shortened)}" if taken else cut)
    return shortened


def _renamed(roster: Roster, names: Mapping[str, str]) -> Roster:
    return Roster(
        tuple(
            replace(participant, organisation=names[participant.organisation])
            for participant in roster.participants
        )
    )


def _head(study: Study, code: str) -> Iterator[str]:
    plan, grounds = study.plan, study.plan.grounds
    yield _cut(f"# Study card: {markdown(plan.name)}", WIDTH)
    yield ""
    for name, value in (
        ("Purpose", grounds.purpose),
        ("Legal basis", grounds.legal_basis),
        ("Controller", grounds.controller),
        ("Contact", grounds.contact),
        ("Approval under which it runs", plan.approval),
    ):
        yield _cut(f"- {name}: {markdown(value) or 'none was named'}", WIDTH)
    yield f"- Code of this plan: `{code}`"
    yield ""


def _doing(study: Study, organisation: str | None) -> Iterator[str]:
    roster = study.roster
    does = [
        _does(study, participant)
        for participant in roster.participants
        if participant.organisation == organisation
    ]
    mine = f"{organisation} {_listed(does)}." if does else ""
    peers = [participant.organisation for participant in roster.having(Role.PEER)]
    labels = map(markdown, study.plan.labels.names)
    classes = f"program that tells {_counted(labels, 'classes')} apart"
    if study.outsourced:
        helper = roster.organisation(roster.evaluator)
        mine += f" {peers[0]} trains one {classes}, and {helper} computes for it."
    elif peers:
        mine += (
            f" {_counted(peers, 'organisations')} train one {classes}; "
            f"{worded(study, 'each keeps its documents')}."
        )
        if _coordinator(study) != organisation:
            mine += f" {_coordinator(study)} runs the study (as coordinator), and has none."
    yield from _titled("What your organisation does here", mine.strip())
    yield ""


def _does(study: Study, participant: Participant) -> str:
    does = _DOES[participant.role]
    if study.outsourced and participant.role in _OWNERS:
        does = _OWNERS[participant.role]
    elif study.engine is Engine.QUORUM and participant.role is Role.COORDINATOR:
        does = "runs the study, holds nothing that answers need, and brings no documents"
    return worded(study, does)


def _coordinator(study: Study) -> str:
    return study.roster.organisation(study.roster.coordinator)


def _leaves(study: Study, organisation: str | None) -> Iterator[str]:
    leaves = _by_content(study, organisation)
    said = "" if leaves else worded(study, _NO_NUMBERS)
    if _brings(study, organisation):
        numbers = "No text leaves. Numbers do."
        said = worded(study, f"{numbers} {ENGINES[study.engine].hides} What they are about:")
    yield from _titled("What leaves your organisation, and to whom", said)
    for held, rows in leaves.items():
        amounts = (f"{row.to}{_amount(row)}" for row in rows)
        yield from _item(f"To {'; to '.join(amounts)}: {held}.")
    yield ""


def _brings(study: Study, organisation: str | None) -> bool:
    """Whether the organisation has documents of its own."""
    return organisation is None or any(
        participant.organisation == organisation and participant.role is Role.PEER
        for participant in study.roster.participants
    )


def _later(study: Study, organisation: str | None) -> str:
    looked_up = study.plan.arrangement.remote is Remote.FULL and study.plan.arrangement.by_features
    if not _brings(study, organisation):
        return _LOOKED_UP.format(who="a peer asks") if looked_up else ""
    if study.plan.release.opens is Opens.WEIGHTS or study.outsourced:
        return worded(study, " When you label documents later, nothing leaves.")
    said = (
        " When you label documents later, the coordinator learns when, and for how many "
        "(rounded up), and nothing of what is in them."
    )
    return worded(study, said) + (_LOOKED_UP.format(who="you ask") if looked_up else "")


def _learned(study: Study, organisation: str | None) -> Iterator[str]:
    plan = study.plan
    if study.outsourced:
        said = (
            "How many documents (rounded up) and columns there are, how much they vary (one "
            "rounded number), and whether the computation came out right"
        )
        if plan.class_weight is not None:
            said += "; how many documents of each class there are (rounded up)"
        said += "."
        yield from _titled(
            "What others learn", f"{worded(study, said)}{_later(study, organisation)}"
        )
        yield ""
        return
    said = "How many documents of each class there are in all, rounded up"
    means = (
        "rounded means of words and columns"
        if plan.beside.width
        else "how often chosen words occur, rounded"
    )
    said += f", and {means}." if is_corrected(plan) else "."
    if plan.dictionary is DictionaryKind.JOINT:
        said += (
            f" Of each word that {plan.min_documents} or more of a peer's documents have, the "
            "coordinator also learns in how many it stands, not which it is (it may guess). A peer "
            "can test whether a word was chosen, and could tell it."
        )
    if len(study.roster.peers) == FEWEST_PEERS - 1:
        said += " Of two peers each has the other's by subtracting its own."
    if is_listed(study):
        said += " The coordinator learns which of the chosen words each peer's documents have."
    if plan.descends:
        said += " Whoever computes learns if steps stay in range."
    yield from _titled("What others learn", f"{worded(study, said)}{_later(study, organisation)}")
    yield ""


def _fails(study: Study) -> Iterator[str]:
    title = "The worst case, and who must not pool"
    if study.outsourced:
        said = (
            f"Whoever gets the key of {_coordinator(study)} can read the data. Nobody else has it."
        )
        yield from _titled(title, said)
        yield ""
        return
    yield from _titled(
        title,
        "All holds while everyone keeps the rules and nobody pools what it saw. The worst that "
        "pooling gives:",
    )
    for gives, groups in _by_gain(study).items():
        named = "; ".join(" with ".join(group) for group in groups)
        few = len(groups) <= _FEW
        who = named if few else _any_of(study, holders_of(study))
        yield from _item(f"{who}: they could {gives}.")
    sealed = study.plan.release.opens is not Opens.WEIGHTS and study.engine is not Engine.QUORUM
    if study.deals_itself:
        who = "a peer that no dealer helps, with a half of the model"
        yield from _item(f"{who}: they could read it.")
    elif sealed and not study.on_shares:
        dealer = f"; {_query_dealer(study)} with one that asks" if is_dealt(study) else ""
        yield from _item(f"the coordinator with any peer{dealer}: they could read the model.")
    yield ""


def _by_gain(study: Study) -> dict[str, list[tuple[str, ...]]]:
    """Group the parties that must not pool by what pooling would give them."""
    by_gain: dict[str, list[tuple[str, ...]]] = {}
    for group in poolings(study):
        by_gain.setdefault(group.gives, []).append(group.organisations)
    return by_gain


def _any_of(study: Study, holders: Holders) -> str:
    organisations = dict.fromkeys(map(study.roster.organisation, holders.seats))
    return f"any {holders.enough} of {_counted(organisations, 'organisations that compute')}"


def _opened(study: Study) -> Iterator[str]:
    plan = study.plan
    if study.outsourced:
        said = f"The model, to {_coordinator(study)} alone."
        yield from _titled("What is opened at the end", said)
        yield ""
        return
    said = plan.release.first_page.format(budget=f"{plan.budget:,}")
    if study.is_evaluated:
        times = "once" if plan.evaluations == 1 else f"{plan.evaluations} times"
        said += (
            f" How good the model is may be opened {times}, as sums over at least "
            f"{FEWEST_PEERS} peers and {FEWEST_EVALUATED} documents."
        )
    yield from _titled("What is opened at the end", worded(study, said))
    yield ""


def _kept(study: Study) -> Iterator[str]:
    agreed = study.plan.grounds.retention
    yield from _titled("What is kept, and for how long", "")
    yield _cut(f"- agreed by the sites: {markdown(agreed) or 'no time was named'}", WIDTH)
    for row in keeping(study):
        yield from _item(f"{row.what}, at {row.who}: {row.until}.")
    yield ""


def _checked() -> Iterator[str]:
    yield from _titled(
        "How you check it",
        "`sottovoce ledger show` lists each message that left, `ledger verify` finds changed "
        "lines. Your consent signs a code for plan and people, the fingerprint; the ledger names "
        "it. Compare its words over the phone.",
    )
    yield ""


def _limits() -> Iterator[str]:
    yield from _titled(
        "What this is not",
        "It is not audited. It does not stop anybody who breaks the rules on purpose. It "
        "replaces no approval, legal ground or permission.",
    )


_LOOKED_UP = " The organisations that answer learn whom {who} about."
_NO_NUMBERS = (
    "Nothing of any documents, as you have none: to everybody the plan, who takes part, which "
    "stage begins, and the sums that all are told; to those who compute, numbers that look random."
)
_DOES = {
    Role.COORDINATOR: "runs the study, keeps the key that answers need, and brings no documents",
    Role.EVALUATOR: "computes on numbers that it cannot read (as evaluator)",
    Role.DEALER: "makes up random numbers for the computation (as dealer)",
    Role.PEER: "brings its own labelled documents (as peer)",
    Role.INTERMEDIARY: "computes for a peer on numbers that it cannot read (as intermediary)",
    Role.ANSWERER: "looks up the people that others ask about, in its own data (as answerer)",
    Role.MEMBER: "computes on parts that alone are random (as member)",
}


# The roles of a lone owner's two seats.
_OWNERS = {
    Role.COORDINATOR: "runs the study, and holds the key to its own data (as coordinator)",
    Role.PEER: "brings its own labelled documents, and gets the model (as peer)",
}


def _by_content(study: Study, organisation: str | None) -> dict[str, list[LeavingLine]]:
    """Group the leaving messages by their content; within each, random numbers come last."""
    by_content: dict[str, list[LeavingLine]] = {}
    for row in leaving(study, organisation):
        held = "; ".join(sorted(row.holds, key=lambda content: content == DRAWN))
        by_content.setdefault(held, []).append(row)
    return by_content


def _amount(row: LeavingLine) -> str:
    if not row.bytes:
        return ""
    step = f" and {_size(row.each_step)} in each step" if row.each_step else ""
    return f", about {_size(row.bytes)}{step}"


def _size(count: int) -> str:
    """Return a number of bytes with two digits and a unit."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            number = count / size
            return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
    return f"{count} bytes"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def _counted(names: Iterable[str], what: str) -> str:
    """Return the names if they are few, else their number."""
    words = list(names)
    return _listed(words) if len(words) <= _FEW else f"{len(words)} {what}"


def _listed(names: Iterable[str]) -> str:
    words = list(names)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _titled(title: str, said: str) -> Iterator[str]:
    yield from _paragraph(f"**{title}.** {said}".rstrip())


def _paragraph(said: str) -> Iterator[str]:
    yield from wrap(said, WIDTH, break_on_hyphens=False)


def _item(said: str) -> Iterator[str]:
    yield from wrap(
        said, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _query_dealer(study: Study) -> str:
    """Return the party that deals for queries: the dealer, else the evaluator."""
    return "the evaluator" if study.roster.dealer is None else "the dealer"
