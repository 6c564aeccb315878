"""`sottovoce report`: one study on one page with pictures."""

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen


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
    from sottovoce.node.known_studies import known_study
    from sottovoce.node.report_facts import facts_of
    from sottovoce.report.report import report as page_of

    site = open_home(home, passphrase_file)
    known = known_study(site, study)
    path = out or Path(f"{known.id}.html")
    storage.check_absent(path)
    storage.write_whole(path, page_of(facts_of(site, known)).encode(), mode=storage.SECRET_MODE)
    facts = {"study": known.id, "out": str(path)}
    screen.tell(f"{path}: the report, to open in a browser", facts, as_json=as_json)
