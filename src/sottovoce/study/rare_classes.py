"""Classes with too few documents: they are left out, joined into one class, or stop the study.

A class below the minimum would reveal its few documents in its own column of the model. A peer
finds such a class before anything is counted. If all peers together have too few documents of a
class, the published totals show none.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sottovoce.study.choices import Rare
from sottovoce.study.plan import StudyPlan
from sottovoce.study.totals import Totals
from sottovoce.text.census import Census, census
from sottovoce.text.documents import Document
from sottovoce.text.labelling import Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.streams import refined

OTHER = "other"
"""The class into which rare classes are joined, if the plan says so."""


def is_tolerant(plan: StudyPlan) -> bool:
    """Whether the study continues without a class that has too few documents."""
    by_label = plan.labelled.scheme is Scheme.LABEL
    kept = plan.labels.exclusive and not plan.arrangement.by_features
    return plan.rare is not Rare.STOP and by_label and kept


def rare_classes(plan: StudyPlan, documents: Sequence[Document]) -> dict[str, int]:
    """Return a peer's classes with fewer documents than the minimum, and how many they have."""
    if not is_tolerant(plan):
        return {}
    counts = census_of(plan, documents).classes
    return {
        name: counts[name] for name in plan.labels.names if 0 < counts[name] < plan.min_documents
    }


def census_of(plan: StudyPlan, documents: Sequence[Document]) -> Census:
    """Return the numbers of a peer's documents, also by class where rare classes are found."""
    return census(documents, plan.labels if is_tolerant(plan) else None)


def rare_sentences(plan: StudyPlan, rare: Mapping[str, int]) -> Iterator[str]:
    """What becomes of each rare class of a peer."""
    becomes = "counts as 'other' here" if plan.rare is Rare.OTHER else "is left out here"
    for name, number in rare.items():
        yield (
            f"class {name!r} {becomes}: {number} of its documents {'is' if number == 1 else 'are'} "
            f"to train with, and the minimum is {plan.min_documents}"
        )


def without_rare(plan: StudyPlan, documents: Sequence[Document]) -> Sequence[Document]:
    """At a peer: return its documents without its rare classes."""
    rare = rare_classes(plan, documents)
    if not rare:
        return documents
    kept = _without(plan, documents, rare)
    # Even together the rare classes may have too few documents.
    return _without(plan, kept, rare_classes(plan, kept), join=False)


def without_absent(
    plan: StudyPlan, documents: Sequence[Document], totals: Totals
) -> Sequence[Document]:
    """At a peer: return its documents without classes that are rare over all peers."""
    if not is_tolerant(plan):
        return documents
    absent = totals.absent_classes(plan.labels.names)
    return _without(plan, documents, absent, join=bool(joined_class(plan, totals)))


def joined_class(plan: StudyPlan, totals: Totals) -> str:
    """Return the class as which rare ones count over all peers; "" if they are left out."""
    joins = plan.rare is Rare.OTHER and OTHER not in totals.absent_classes(plan.labels.names)
    return OTHER if is_tolerant(plan) and joins else ""


def _without(
    plan: StudyPlan, documents: Sequence[Document], rare: Collection[str], *, join: bool = True
) -> Sequence[Document]:
    if not rare:
        return documents
    rule = _RareRule(plan.labels, frozenset(rare), join and plan.rare is Rare.OTHER)
    return refined(documents, rule)


@dataclass(frozen=True, slots=True)
class _RareRule:
    """Leaves rare classes out, or joins them; a value that can be sent to the workers."""

    labels: Labels
    rare: frozenset[str]
    joined: bool

    def __call__(self, document: Document) -> Document | None:
        if self.labels.classes(document)[0] not in self.rare:
            return document
        return replace(document, label=OTHER) if self.joined else None
