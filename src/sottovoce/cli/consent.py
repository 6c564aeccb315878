"""The study card on the screen, and a person's answer to it."""

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from sottovoce.cli.terminal import screen
from sottovoce.errors import UnansweredError

if TYPE_CHECKING:
    from sottovoce.config.study_file import StudyDescription
    from sottovoce.node.api import ConsentQuestion
    from sottovoce.study.card.card import StudyCard


def card_facts(described: "StudyDescription", card: "StudyCard | None" = None) -> dict[str, Any]:
    """The card for scripts: its page, its fingerprint, and what every seat sends."""
    from dataclasses import asdict

    from sottovoce.node.site.shown_card import card_of
    from sottovoce.study.card.seat_sizes import helper_sizes
    from sottovoce.study.card.sizes import peer_sizes

    card = card or card_of(described)
    sizes = (*peer_sizes(card.study), *helper_sizes(card.study))
    return {
        "name": described.plan.name,
        "approval": described.approval,
        "card": card.markdown(),
        "code": card.code,
        "fingerprint": card.fingerprint if card.keyed else None,
        "sizes": [asdict(size) | {"total": size.total} for size in sizes],
    }


def show_card(card: "StudyCard", *, pages: bool = True) -> None:
    """Show the card as a page on the terminal, or as plain Markdown elsewhere.

    With `pages` a long one goes through a pager; a person who answered beforehand is not kept
    waiting.
    """
    from rich.markdown import Markdown

    console = screen.console()
    if not console.is_terminal:
        screen.say(card.markdown(), nl=False)
        return
    page = Markdown(card.markdown())
    lines = len(console.render_lines(page))
    if pages and sys.stdin.isatty() and lines > console.height:
        with console.pager(styles=_pager_shows_styles()):
            console.print(page)
    else:
        console.print(page)


def _pager_shows_styles() -> bool:
    """Whether the pager shows bold text: `less` does with -R; other pagers may not."""
    if {"PAGER", "MANPAGER"} & set(os.environ) or shutil.which("less") is None:
        return False
    os.environ["PAGER"] = "less"
    return "R" in os.environ.setdefault("LESS", "-R")


_AT_A_TERMINAL = ("run the same command at a terminal, and answer there",)


def asked(question: str, *, yes: bool | None) -> bool:
    """A person's answer; yes if --yes was given, None for a command that has no such option."""
    if yes:
        return True
    while True:
        screen.say(f"{question} [y/N]: ", nl=False, err=True)
        answer = sys.stdin.readline()
        if not answer:
            screen.say("", err=True)
            raise UnansweredError(
                f"{question!r}: nobody is here to answer, and nothing was done",
                hints=_AT_A_TERMINAL if yes is None else ("add --yes to answer in advance",),
            )
        if answer.strip().lower() in {"y", "yes"}:
            return True
        if answer.strip().lower() in {"", "n", "no"}:
            return False
        screen.say("expected y or n", err=True)


def show_words(words: tuple[str, ...], *, err: bool = False) -> None:
    """Show the words of the roster, to compare by phone."""
    from sottovoce.node.phone_words import in_lines

    screen.say("\nCompare these words with the other sites by phone:\n", err=err)
    for line in in_lines(words):
        screen.say(f"    {line}", err=err)
    screen.say("", err=err)


def show_roster(question: "ConsentQuestion") -> None:
    """Show who takes part, who does not, and the words that identify these people and keys."""
    from sottovoce.cli.terminal.screen import moment
    from sottovoce.study.study import grouped

    roster = question.study.roster
    screen.say(f"\nTaking part, with {len(roster.peers)} peers:\n")
    for participant in roster.participants:
        mine = " (this site)" if participant.name in question.seats else ""
        screen.say(f"    {participant.name}: {participant.organisation}, {participant.role}{mine}")
    fingerprint = grouped(question.study.digest)
    screen.say(f"\nFingerprint (consent signs it, the ledger names it):\n\n    {fingerprint}")
    show_words(question.words)
    if question.until:
        screen.say(
            f"The others wait for your answer until {moment(question.until)}. A site that was "
            "away has as long, counted from when everybody had come. This may be interrupted "
            "meanwhile.\n"
        )
