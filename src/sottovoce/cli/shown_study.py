"""A study that this site runs or joined, as `study show` and `evaluate --last` show it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.cli import screen
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.config.study_file import StudyDescription
    from sottovoce.node.site.site_folder import Site
    from sottovoce.study.card.card import StudyCard
    from sottovoce.study.queries.evaluation_record import KeptEvaluation


@dataclass(frozen=True)
class KnownStudy:
    """A study's name, text, card for this site, and evaluations."""

    id: str
    described: "StudyDescription"
    card: "StudyCard"
    evaluations: "tuple[KeptEvaluation, ...]"

    @property
    def last(self) -> "KeptEvaluation | None":
        """The newest evaluation."""
        return self.evaluations[-1] if self.evaluations else None

    def evaluated(self) -> dict[str, Any]:
        """The newest evaluation, for scripts."""
        from sottovoce.study.queries.evaluation_record import figures

        if self.last is None:
            return {"evaluation": None}
        sides = {"own": self.last.own, "joint": self.last.joint}
        by_side = {
            side: None if evaluation is None else figures(evaluation)
            for side, evaluation in sides.items()
        }
        return {"evaluation": {"at": self.last.at} | by_side}

    def show(self) -> None:
        """The first page of the card, and the newest evaluation."""
        screen.say(self.card.first_page())
        if self.card.keyed:
            screen.say(f"Fingerprint that this site agreed to: {self.card.fingerprint}")
        if self.last is not None:
            show_kept(self.last)
        screen.say(f"\nthe whole card: sottovoce study show {self.id} --card")

    def write_html(self, path: Path) -> None:
        """The card as a page to print and sign."""
        from sottovoce.keyfiles import storage
        from sottovoce.report.card_page import card_page

        storage.check_absent(path)
        storage.write_whole(path, card_page(self.card).encode(), mode=storage.SECRET_MODE)
        screen.say(f"{path}: the card, to open in a browser and print")


def show_kept(kept: "KeptEvaluation") -> None:
    """Show a kept evaluation and its day."""
    from sottovoce.cli.evaluation_table import show_evaluation
    from sottovoce.cli.screen import moment

    console = screen.console()
    console.print(f"\nevaluated on {moment(kept.at)}")
    if kept.own is not None:
        show_evaluation("this site (stays here)", kept.own, console)
    if kept.joint is not None:
        show_evaluation(f"all of {', '.join(kept.joint.peers)}", kept.joint, console)


def known_study(site: "Site", name: str | None, *, option: str = "") -> KnownStudy:
    """A study that this site runs, or one that it joined."""
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.coordinator.serving import registries
    from sottovoce.node.kept_facts import kept_evaluations
    from sottovoce.node.report_facts import site_evaluations
    from sottovoce.node.site.shown_card import agreed_card, card_of, kept_consent
    from sottovoce.node.site.site_folder import choose

    run = {registry.id: registry for registry in registries(site.coordinator_place())}
    joined = {joined_study.id: joined_study for joined_study in site.joined()}
    texts = {study: parse_study(registry.text) for study, registry in run.items()}
    titles = {study: described.plan.name for study, described in texts.items()}
    titles |= {study: joined_study.invitation.title for study, joined_study in joined.items()}
    if not titles:
        raise InputError(
            f"{site.home}: there is no study in this folder",
            hints=("sottovoce study create", "sottovoce join INVITATION", "or another --home"),
        )
    chosen = choose(name, titles, option=option)
    if chosen in run:
        described = texts[chosen]
        card = card_of(described, described.coordinator.organisation)
        return KnownStudy(chosen, described, card, kept_evaluations(run[chosen].folder))
    chosen_study = joined[chosen]
    if chosen_study.description is None:
        raise InputError(
            f"study {chosen}: its description has not arrived yet",
            hints=(f"sottovoce join --study {chosen}",),
        )
    organisation = chosen_study.description.organisation(
        chosen_study.invitation.short_name
    ).organisation
    agreed = kept_consent(chosen_study.folder)
    card = (
        card_of(chosen_study.description, organisation)
        if agreed is None
        else agreed_card(chosen_study.description, agreed, organisation)
    )
    return KnownStudy(chosen, chosen_study.description, card, site_evaluations(chosen_study))
