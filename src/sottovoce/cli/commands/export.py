"""`sottovoce export`: a released model as one file."""

from sottovoce.cli import options
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen


def export(
    out: options.OutFile,
    replace: options.Replace = False,
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a released model to FILE, which labels text without the study or a server.

    Only where the study released its weights to the peers (release = "peers"). Nothing is sent.
    The file holds the key that hashes words, and only its owner can read it; in Python
    `sottovoce.ReleasedClassifier.load(FILE)` labels text with it.

    \b
    Examples:
      sottovoce export model.json
      sottovoce export model.json --study urgency
    """
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.site.exporting import export_model

    joined_study = open_home(home, passphrase_file).study(study)
    model = export_model(joined_study.membership, out, read=parse_study, replace=replace)
    columns, labels = model.space.width, list(model.labels.names)
    done = f"{out}: {len(labels)} labels, {columns:,} columns; only this site may read it"
    facts = {"study": joined_study.id, "columns": columns, "labels": labels, "out": str(out)}
    screen.tell(done, facts, as_json=as_json)
