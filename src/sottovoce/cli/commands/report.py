"""`sottovoce report`: one study on one page with pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import screen
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.node.site.site_folder import Site
    from sottovoce.report.facts import ReportFacts


def report(
    study: StudyName = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.html", help="File to write; STUDY.html by default."),
    ] = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained HTML page about a study that this site runs or joined.

    How good the model is with pictures, time and bytes, what each party saw, settings, the
    ledger's end, a model card, text for a data protection impact assessment, and the study
    card. It is made from this site's own disk; nothing is asked or sent.

    \b
    Examples:
      sottovoce report
      sottovoce report --study urgency --out urgency.html
    """
    from sottovoce.keyfiles import storage
    from sottovoce.report.report import report as page_of

    name, facts = _facts(open_home(home, passphrase_file), study)
    path = out or Path(f"{name}.html")
    storage.check_absent(path)
    storage.write_whole(path, page_of(facts).encode(), mode=storage.SECRET_MODE)
    if as_json:
        import json

        screen.say(json.dumps({"study": name, "out": str(path)}))
    else:
        screen.say(f"{path}: the report, to open in a browser")


def _facts(site: "Site", study: str | None) -> "tuple[str, ReportFacts]":
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.coordinator.serving import registries
    from sottovoce.node.report_facts import coordinator_facts, site_facts
    from sottovoce.node.site.site_folder import choose

    run = {
        registry.id: parse_study(registry.text).plan.name
        for registry in registries(site.coordinator_place())
    }
    joined = {joined_study.id: joined_study for joined_study in site.joined()}
    titles = run | {name: joined_study.invitation.title for name, joined_study in joined.items()}
    if not titles:
        raise InputError(
            f"{site.home}: there is no study in this folder",
            hints=("sottovoce study create", "sottovoce join INVITATION", "or another --home"),
        )
    chosen = choose(study, titles)
    if chosen in run:
        return chosen, coordinator_facts(site, chosen)
    if joined[chosen].description is None:
        raise InputError(
            f"study {chosen}: its description has not arrived yet",
            hints=(f"sottovoce join --study {chosen}",),
        )
    return chosen, site_facts(site, joined[chosen])
