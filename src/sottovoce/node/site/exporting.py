"""Exports a released model from a site's disk to one file; nothing is sent."""

from pathlib import Path

from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, MisuseError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.models import read_model
from sottovoce.keyfiles.released_models import ReleasedModel, write_released
from sottovoce.node.api import AskOptions, ReadStudy
from sottovoce.node.memberships import Membership
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.site.asking import standing_of
from sottovoce.node.site.site_study import LONGEST_TEXT, MODEL, SiteStudy


def export_model(
    membership: Membership,
    out: Path,
    *,
    read: ReadStudy,
    replace: bool = False,
    entropy: Entropy | None = None,
) -> ReleasedModel:
    """Write the model of this site's peer, if the study released the weights."""
    text = storage.read_whole(membership.folder / "study.toml", limit=LONGEST_TEXT).data.decode()
    work = SiteStudy(membership, read(text), AskOptions(read), entropy or SystemEntropy())
    seat = work.peer
    path = work.folder(seat) / MODEL
    if not path.exists():
        raise InputError(
            f"{path}: there is no model; the study is not finished here",
            hints=(
                ShellCommand("sottovoce status"),
                Hint("`", ShellCommand("sottovoce join"), "` until the study is finished"),
            ),
        )
    work.check_consent()
    keys = work.keys(seat)
    ledger, journal = work.open_books(keys)
    with ledger, journal:
        record = read_record(journal, SEAT, ParticipantRecord)
        study = standing_of(journal, work, record, keys).study
        _, model = read_model(path, study)
    if model.released is None:
        raise MisuseError(
            f"{path}: the study did not release its weights (release = {study.plan.release})",
            hints=('release = "peers" in study.toml gives every peer the weights',),
        )
    names = study.plan.labels.names
    parts = (model.space, model.key, model.released, model.operating_point)
    released = ReleasedModel(study.plan.name, study.plan.labels, names, *parts)
    write_released(out, released, replace=replace)
    return released
