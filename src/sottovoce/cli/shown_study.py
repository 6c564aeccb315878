"""A study that this site runs or joined, as `study show` and `evaluate --last` show it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.cli.shell_words import placed
from sottovoce.cli.terminal import screen
from sottovoce.hints import ShellCommand

if TYPE_CHECKING:
    from sottovoce.node.known_studies import KnownStudy
    from sottovoce.study.card.card import StudyCard
    from sottovoce.study.evaluations.evaluation_record import KeptEvaluation


def evaluated(known: "KnownStudy") -> dict[str, Any]:
    """The newest evaluation, for scripts."""
    from sottovoce.study.evaluations.evaluation_record import figures

    if known.last is None:
        return {"evaluation": None}
    sides = {"own": known.last.own, "joint": known.last.joint}
    by_side = {
        side: None if evaluation is None else figures(evaluation)
        for side, evaluation in sides.items()
    }
    return {"evaluation": {"at": known.last.at} | by_side}


def summed(known: "KnownStudy") -> dict[str, Any]:
    """What the first sums over all sites showed, for scripts."""
    plan, totals = known.described.plan, known.card.totals
    if totals is None:
        return {"sums": None}
    by_class = dict(zip(plan.labels.names, totals.by_class, strict=True))
    words = {"words": plan.features - totals.absent, "most": plan.features}
    return {"sums": words | {"rows": totals.rows, "by_class": by_class}}


def chosen(known: "KnownStudy") -> dict[str, Any]:
    """Which of several models was chosen, for scripts."""
    if known.chosen is None:
        return {"chosen": None}
    return {"chosen": asdict(known.chosen)}


def show_study(known: "KnownStudy") -> None:
    """The first page of the card, the first sums, the chosen model, and the newest evaluation."""
    screen.say(known.card.first_page())
    screen.say(known.card.sums())
    if known.chosen is not None:
        screen.say(f"Penalty: {known.told_model}.\n")
    if known.card.keyed:
        screen.say(f"Fingerprint that this site agreed to: {known.card.fingerprint}")
    if known.last is not None:
        show_kept(known.last)
    card = ShellCommand(f"sottovoce study show {known.id} --card")
    screen.say(placed("\nthe whole card: ", card))


def write_card(card: "StudyCard", path: Path) -> None:
    """The card as a page to print and sign."""
    from sottovoce.keyfiles import storage
    from sottovoce.report.card_page import card_page

    storage.check_absent(path)
    storage.write_whole(path, card_page(card).encode(), mode=storage.SECRET_MODE)
    screen.say(f"{path}: the card, to open in a browser and print")


def show_kept(kept: "KeptEvaluation") -> None:
    """Show a kept evaluation and its day."""
    from sottovoce.cli.terminal.evaluation_table import show_evaluation
    from sottovoce.cli.terminal.screen import moment

    console = screen.console()
    console.print(f"\nevaluated on {moment(kept.at)}")
    if kept.own is not None:
        show_evaluation("this site (stays here)", kept.own, console)
    if kept.joint is not None:
        show_evaluation(f"all of {', '.join(kept.joint.peers)}", kept.joint, console)
