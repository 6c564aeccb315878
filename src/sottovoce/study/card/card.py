"""The study card: what leaves a site, who receives it, what it reveals, under which assumption.

It begins with one page in plain words (first_page.py). Details follow, one module for each section.
The card is built from the plan, the roster and the disclosure of every kind of message, so it
leaves out nothing that the programs send.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from sottovoce.study.adversaries import CARD, FACTS
from sottovoce.study.card.agreed import Waits, agreed_section
from sottovoce.study.card.amounts import amounts_section
from sottovoce.study.card.arrangement_lines import outsourced_lines
from sottovoce.study.card.first_page import first_page
from sottovoce.study.card.people import people_section, signature_section
from sottovoce.study.card.pooling import pooling_section
from sottovoce.study.card.sent import Line, lines_of, sent_section
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.rare_classes import joined_class
from sottovoce.study.study import Study, grouped, settings_digest
from sottovoce.study.totals import Totals
from sottovoce.wire.printable import markdown


@dataclass(frozen=True)
class StudyCard:
    """The card that everybody reads before consenting.

    `words` are the fingerprint's words for the phone, and the card is `keyed` once everybody's keys
    are known. `waits` says what is waited for and how long. `also` are modules with messages beyond
    those of the protocols. `organisation` is the reader's. `totals` are known after the first sums.
    The caller that shows the card knows all of these.
    """

    study: Study
    words: tuple[str, ...] = ()
    waits: Waits = ()
    also: tuple[tuple[str, ModuleType], ...] = ()
    organisation: str | None = None
    keyed: bool = True
    totals: Totals | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of plan and roster that consent signs, in groups for reading aloud."""
        return grouped(self.study.digest)

    @property
    def code(self) -> str:
        """The fingerprint of the plan alone, the same before and after all keys are known."""
        return grouped(settings_digest(tuple(self.study.plan.settings()))[:12])

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return every kind of message that this study can send, by stage."""
        return lines_of(self.study, self.also)

    def first_page(self) -> str:
        """The page in plain words."""
        return "\n".join(first_page(self.study, self.organisation, code=self.code)) + "\n"

    def sums(self) -> str:
        """What the first sums over all sites showed; nothing before they are known."""
        return "\n".join(self._sums()) + "\n" if self.totals else ""

    def markdown(self) -> str:
        """The whole card."""
        first = first_page(self.study, self.organisation, code=self.code)
        parts = (first, *((self._sums(),) if self.totals else ()), *self._details())
        return "\n".join(line for part in parts for line in (*part, "")) + "\n"

    def _sums(self) -> Iterator[str]:
        assert self.totals is not None
        yield from _summed(self.study, self.totals)

    def _details(self) -> tuple[Iterator[str], ...]:
        study, keyed = self.study, self.keyed
        people = people_section(study, self.words, keyed=keyed)
        sent = sent_section(self.lines)
        signatures = signature_section(study, keyed=keyed, code=self.code)
        if study.outsourced:
            return people, outsourced_lines(study), sent, signatures
        return (
            people,
            agreed_section(study, self.waits),
            amounts_section(study),
            pooling_section(study),
            _deviating(study),
            sent,
            signatures,
        )


def _summed(study: Study, totals: Totals) -> Iterator[str]:
    """How many words were chosen, the rows of each class, and which classes are left out."""
    plan = study.plan
    yield "## What the sums over all sites showed"
    yield ""
    if plan.features and plan.dictionary is not DictionaryKind.HASHED:
        words = plan.features - totals.absent
        yield f"- {words:,} words were chosen, of at most {plan.features:,}."
    rows_of = dict(zip(map(markdown, plan.labels.names), totals.by_class, strict=True))
    by_class = ", ".join(f"{name} {rows:,}" for name, rows in rows_of.items() if rows)
    yield f"- Up to {totals.rows:,} rows to train with, rounded up: {by_class}."
    rare = ", ".join(name for name, rows in rows_of.items() if not rows)
    if rare:
        joined = joined_class(plan, totals)
        becomes = f"counts as {joined!r}" if joined else "is left out"
        yield f"- All sites together have too few documents of {rare}: what they have {becomes}."


def _deviating(study: Study) -> Iterator[str]:
    """The facts that the card shares with SECURITY.md and docs/adversaries.md."""
    yield "## What is held back, and what can still be found out"
    yield ""
    yield f"(`min_documents` is {study.plan.min_documents} here.)"
    yield ""
    for fact in FACTS:
        if CARD in fact.stands_in and fact.applies(study):
            yield f"- {fact.says}"
