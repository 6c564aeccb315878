"""What holds against a party that deviates, and what a site should know of it."""

from collections.abc import Iterator

from sottovoce.study.adversaries import CARD, FACTS
from sottovoce.study.study import Study


def deviating_section(study: Study) -> Iterator[str]:
    """The facts that the card shares with SECURITY.md and docs/adversaries.md."""
    yield "## What is held back, and what can still be found out"
    yield ""
    yield f"(`min_documents` is {study.plan.min_documents} here.)"
    yield ""
    for fact in FACTS:
        if CARD in fact.stands_in and fact.applies(study):
            yield f"- {fact.says}"
