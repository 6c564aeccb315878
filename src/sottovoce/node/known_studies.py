"""The studies that this site runs or joined: titles, texts, cards, chosen models, evaluations."""

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sottovoce.errors import InputError, KeyFileError
from sottovoce.hints import ShellCommand
from sottovoce.node.coordinator.study_statuses import studies
from sottovoce.node.site.site_folder import JoinedStudy, Site, choose

if TYPE_CHECKING:
    from sottovoce.config.study_file import StudyDescription
    from sottovoce.study.candidates import Candidate
    from sottovoce.study.card.card import StudyCard
    from sottovoce.study.evaluations.evaluation_record import KeptEvaluation
    from sottovoce.study.totals import Totals

_log = logging.getLogger("sottovoce.facts")


@dataclass(frozen=True)
class KnownStudy:
    """A study's text, its card for this site, and its evaluations; `joined` is None if run here.

    A joined site knows which of several models was `chosen`.
    """

    id: str
    described: "StudyDescription"
    card: "StudyCard"
    evaluations: "tuple[KeptEvaluation, ...]"
    joined: JoinedStudy | None = None
    chosen: "Candidate | None" = None

    @property
    def told_model(self) -> str:
        """Which of several models was chosen, in words; nothing where that is not known here."""
        return self.chosen.told_among(self.described.plan.candidates) if self.chosen else ""

    @property
    def last(self) -> "KeptEvaluation | None":
        """The newest evaluation."""
        return self.evaluations[-1] if self.evaluations else None


def study_titles(site: Site) -> dict[str, str]:
    """The title of every study that this site runs or joined, or an error if there is none."""
    titles = {study.study: study.name for study in studies(site.coordinator_place())}
    titles |= {joined.id: joined.invitation.title for joined in site.joined()}
    if not titles:
        raise InputError(
            f"{site.home}: there is no study in this folder",
            hints=(
                ShellCommand("sottovoce study create"),
                ShellCommand("sottovoce join INVITATION"),
                "or another --home",
            ),
        )
    return titles


def known_study(site: Site, name: str | None, *, option: str = "--study ") -> KnownStudy:
    """The study of that name, or beginning of a name, that this site runs or joined."""
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.coordinator.serving import registries
    from sottovoce.node.kept_facts import kept_evaluations, kept_totals
    from sottovoce.node.site.shown_card import card_of

    chosen = choose(name, study_titles(site), option=option)
    for registry in registries(site.coordinator_place()):
        if registry.id == chosen:
            described = parse_study(registry.text)
            card = card_of(described, described.coordinator.organisation)
            card = replace(card, totals=kept_totals(registry.folder))
            return KnownStudy(chosen, described, card, kept_evaluations(registry.folder))
    joined = site.study(chosen)
    facts = (joined.described, site_card(joined), site_evaluations(joined))
    return KnownStudy(chosen, *facts, joined, site_chosen(joined))


def site_card(joined: JoinedStudy) -> "StudyCard":
    """The card that this site agreed to, or else the one that it may agree to."""
    from sottovoce.node.site.shown_card import agreed_card, card_of, kept_consent

    described, agreed = joined.described, kept_consent(joined.folder)
    organisation = joined.organisation(described).organisation
    if agreed is None:
        return card_of(described, organisation)
    return replace(agreed_card(described, agreed, organisation), totals=site_totals(joined))


def site_totals(joined: JoinedStudy) -> "Totals | None":
    """The published totals, once a seat of this site knows them."""
    from sottovoce.node.kept_facts import kept_totals

    known = (kept_totals(joined.folder / seat) for seat in joined.invitation.seats)
    return next(filter(None, known), None)


def site_evaluations(joined: JoinedStudy) -> "tuple[KeptEvaluation, ...]":
    """Every evaluation of this site's seats, the oldest first."""
    from sottovoce.node.kept_facts import kept_evaluations

    evaluations = (
        evaluation
        for seat in joined.invitation.seats
        for evaluation in kept_evaluations(joined.folder / seat)
    )
    return tuple(sorted(evaluations, key=lambda evaluation: evaluation.at))


def site_chosen(joined: JoinedStudy) -> "Candidate | None":
    """The model that was chosen of several, once a seat of this site has its part of it."""
    from sottovoce.keyfiles.models import look
    from sottovoce.node.site.site_study import MODEL

    if len(joined.described.plan.candidates) == 1:
        return None
    parts = (joined.folder / seat / MODEL for seat in joined.invitation.seats)
    path = next((part for part in parts if part.exists()), None)
    try:
        return None if path is None else look(path).candidate
    except KeyFileError as error:
        _log.warning("%s: which model was chosen is left out", error.message)
        return None
