"""The console's page with the whole study card."""

from collections.abc import Iterator

from sottovoce.config.study_file import parse_study
from sottovoce.errors import InputError
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.site.shown_card import agreed_card, card_of, kept_consent
from sottovoce.node.site.site_folder import JoinedStudy, Site
from sottovoce.pictures.html import Html
from sottovoce.report.card_page import card_html
from sottovoce.study.card.card import StudyCard


def card_sections(site: Site, study: str) -> Iterator[Html]:
    """The card of a study that this site runs, or joined."""
    for registry in registries(site.coordinator_place()):
        if registry.id == study:
            described = parse_study(registry.text)
            yield card_html(card_of(described, described.coordinator.organisation))
            return
    for joined in site.joined():
        if joined.id == study and joined.description is not None:
            yield card_html(_site_card(joined))
            return
    raise InputError(f"study: this site has no study {study!r}")


def _site_card(joined: JoinedStudy) -> StudyCard:
    """The card that this site agreed to, or the one that it may agree to."""
    described = joined.description
    if described is None:
        raise InputError(f"study {joined.id}: its text is not here yet")
    organisation = described.organisation(joined.invitation.short_name).organisation
    agreed = kept_consent(joined.folder)
    if agreed is None:
        return card_of(described, organisation)
    return agreed_card(described, agreed, organisation)
