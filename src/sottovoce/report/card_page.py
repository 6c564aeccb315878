"""The study card as a page to read, print and sign."""

from sottovoce.pictures.html import Html, joined, tag
from sottovoce.pictures.markdown import html_of
from sottovoce.pictures.page import folded, page
from sottovoce.study.card.card import StudyCard


def card_html(card: StudyCard) -> Html:
    """The card without a page around it: the first page, the details, then the signatures."""
    first, details, signatures = _parts(card)
    return joined(first, details, signatures)


def card_in_short(card: StudyCard) -> Html:
    """The card as a part of another page: what follows its first page is folded."""
    first, details, signatures = _parts(card)
    return joined(first, folded("The whole card", details, signatures, name="whole-card"))


def _parts(card: StudyCard) -> tuple[Html, Html, Html]:
    first = card.first_page()
    details = card.markdown().removeprefix(first)
    body, _, signatures = details.partition("## Signatures")
    return (
        tag("article", html_of(first), class_="page"),
        tag("article", html_of(body)),
        tag("article", html_of("## Signatures" + signatures), class_="sign"),
    )


def card_page(card: StudyCard) -> str:
    """The card as one self-contained file."""
    return page(f"Study card: {card.study.plan.name}", card_html(card))
