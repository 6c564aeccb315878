"""`sottovoce evaluate`: how good the model is, at this site and over all sites."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.evaluation_table import show_evaluation
from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand

if TYPE_CHECKING:
    from sottovoce.node.api import EvaluationTables
    from sottovoce.node.site.site_folder import Site


def evaluate(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="SOURCE", help="New path of the same documents."),
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="Show the newest evaluation again; nothing is asked.")
    ] = False,
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Accuracy, F1, confusion and ROC on the held-out documents, here and over all sites.

    This site's own table stays here. The joint one is a blind sum, opened once enough peers
    run this command, and only over enough documents; it counts against the study's budget of
    evaluations.

    \b
    Examples:
      sottovoce evaluate
      sottovoce evaluate --study urgency --json
      sottovoce evaluate --last
    """
    from dataclasses import replace

    from sottovoce.cli.answers.alone import measure_alone
    from sottovoce.cli.exit_states import check_goes_on, check_trained
    from sottovoce.cli.running import run
    from sottovoce.cli.source_choice import recall
    from sottovoce.cli.terminal.watching import Watch
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.api import AskOptions
    from sottovoce.node.site.asking import evaluate as ask
    from sottovoce.study.evaluations.evaluation import check_enough_peers

    site = open_home(home, passphrase_file)
    if last:
        _show_last(site, study, as_json=as_json)
        return
    joined_study = site.study(study)
    check_goes_on(joined_study, asking=True)
    check_trained(joined_study)
    described, choice = joined_study.description, recall(site, joined_study)
    if described is None or choice is None:
        raise InputError(f"study {joined_study.id}: this site joined it without documents")
    check_enough_peers(described.rehearsed())
    if data is not None:
        choice = replace(choice, data=str(data))
    mine = joined_study.organisation(described).peer
    documents = choice.read(described.plan, peer=mine)
    alone = measure_alone(joined_study, described, documents)
    with Watch(quiet=as_json) as watch:
        asked = AskOptions(parse_study, on_event=watch.on_event)

        def deliver(came: "EvaluationTables") -> None:
            # Inside the evaluation: until it is shown, a restart delivers it again.
            watch.paused()
            _tell(came, alone, as_json=as_json)

        run(
            ask(joined_study.membership, documents, options=asked, deliver=deliver),
            afterwards=Hint(
                "run `",
                ShellCommand("sottovoce evaluate"),
                "` again to continue; it is charged once",
            ),
        )


def _show_last(site: "Site", study: str | None, *, as_json: bool) -> None:
    """Show the newest evaluation that this site or coordinator has."""
    from sottovoce.cli.shown_study import evaluated, show_kept
    from sottovoce.node.known_studies import known_study

    known = known_study(site, study)
    if known.last is None:
        raise InputError(
            f"study {known.id}: it was not evaluated yet",
            hints=(ShellCommand(f"sottovoce evaluate --study {known.id}"),),
        )
    if as_json:
        screen.say_json(evaluated(known)["evaluation"])
    else:
        show_kept(known.last)


def _tell(came: "EvaluationTables", alone: float | None, *, as_json: bool) -> None:
    if as_json:
        from sottovoce.study.evaluations.evaluation_record import figures

        both = {"own": figures(came.own), "joint": figures(came.joint)}
        screen.say_json(both | {"alone": alone})
        return

    console = screen.console()
    if alone is not None:
        said = f"a model of this site's documents alone reaches {alone:.1%}"
        console.print(f"{said} on its held-out documents, the joint model {came.own.accuracy:.1%}")
    show_evaluation("this site (stays here)", came.own, console)
    show_evaluation(f"all of {', '.join(came.joint.peers)}", came.joint, console)
