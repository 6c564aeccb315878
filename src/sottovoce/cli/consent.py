"""The study card on the screen, and a person's answer to it."""

import sys
from typing import TYPE_CHECKING, Any

import typer

from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.roles.card import StudyCard
    from sottovoce.service.api import ConsentQuestion
    from sottovoce.service.study_file import StudyDescription


def card_of(described: "StudyDescription") -> "StudyCard":
    """The card as it can be shown before anybody's keys are known."""
    from sottovoce.roles.card import StudyCard
    from sottovoce.service import control

    also = (("course of the study", control),)
    return StudyCard(described.rehearsed(), waits=waits_of(described), also=also)


def card_facts(described: "StudyDescription") -> dict[str, Any]:
    """The card for scripts: its page, its fingerprint, and what every seat sends."""
    from dataclasses import asdict

    from sottovoce.roles.seat_sizes import helper_sizes
    from sottovoce.roles.sizes import peer_sizes

    card = card_of(described)
    sizes = (*peer_sizes(card.study), *helper_sizes(card.study))
    return {
        "name": described.plan.name,
        "approval": described.approval,
        "card": card.markdown(),
        "sizes": [asdict(one) | {"total": one.total} for one in sizes],
    }


def waits_of(described: "StudyDescription") -> tuple[tuple[str, str], ...]:
    """How long everybody waits, in words for the card."""
    from sottovoce.service.deadlines import waits_in_words

    return waits_in_words(described.deadlines.enrolment, described.deadlines.stage)


def show_card(card: "StudyCard") -> None:
    """The card as a page on the terminal, as plain Markdown elsewhere."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(highlight=False)
    if console.is_terminal:
        console.print(Markdown(card.markdown()))
    else:
        typer.echo(card.markdown(), nl=False)


def asked(question: str, *, yes: bool) -> bool:
    """A person's answer; yes beforehand where the command says --yes."""
    if yes:
        return True
    while True:
        typer.echo(f"{question} [y/N]: ", nl=False, err=True)
        answer = sys.stdin.readline()
        if not answer:
            typer.echo("", err=True)
            raise InputError(
                f"{question!r}: expected an answer, found nobody to ask, and nothing was done",
                hints=("--yes answers beforehand",),
            )
        if answer.strip().lower() in {"y", "yes"}:
            return True
        if answer.strip().lower() in {"", "n", "no"}:
            return False
        typer.echo("expected y or n", err=True)


def show_words(words: tuple[str, ...], *, err: bool = False) -> None:
    """The words of the roster, for the phone."""
    from sottovoce.service.words import in_lines

    typer.echo("\nCompare these words with the other sites over the phone:\n", err=err)
    for line in in_lines(words):
        typer.echo(f"    {line}", err=err)
    typer.echo("", err=err)


def show_roster(question: "ConsentQuestion") -> None:
    """Who came and who did not, and the words that stand for exactly these people and keys."""
    roster = question.study.roster
    typer.echo(f"\nTaking part, with {len(roster.peers)} peers:\n")
    for one in roster.participants:
        mine = " (this site)" if one.name in question.seats else ""
        typer.echo(f"    {one.name}: {one.organisation}, {one.role}{mine}")
    show_words(question.words)
