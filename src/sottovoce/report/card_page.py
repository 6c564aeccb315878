"""The study card as a page to read, print and sign."""

from sottovoce.pictures.html import Html, joined, tag
from sottovoce.pictures.markdown import html_of
from sottovoce.pictures.page import page
from sottovoce.study.card.card import StudyCard


def card_html(card: StudyCard) -> Html:
    """The card without a page around it: the first page, then the details."""
    first = card.first_page()
    details = card.markdown().removeprefix(first)
    body, _, signatures = details.partition("## Signatures")
    return joined(
        tag("article", html_of(first), class_="page"),
        tag("article", html_of(body)),
        tag("article", html_of("## Signatures" + signatures), class_="sign"),
    )


def card_page(card: StudyCard) -> str:
    """The card as one self-contained file."""
    return page(f"Study card: {card.study.plan.name}", card_html(card))
