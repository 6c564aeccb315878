"""How far every study of a coordinator is, as its server wrote it down in status.json."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.course.phases import Phase
from sottovoce.errors import DamagedFileError, KeyFileError, SottovoceError
from sottovoce.keyfiles import storage
from sottovoce.node.memberships import CoordinatorPlace, StudyStatus

if TYPE_CHECKING:
    from sottovoce.node.api import ReadStudy, StudyDescribed

_NAME = "status.json"
_LARGEST = 8 * 2**20


def write_status(folder: Path, status: StudyStatus) -> None:
    """Let commands see how far the study in this folder is."""
    data = json.dumps(asdict(status), ensure_ascii=False).encode()
    storage.write_for_information(folder / _NAME, data, synced=False)


def read_status(folder: Path) -> StudyStatus | None:
    """How far the study in this folder is, as it was last written; None if that cannot be read."""
    try:
        status = json.loads(storage.read_whole(folder / _NAME, limit=_LARGEST).data)
        return StudyStatus(
            folder.name,
            str(status["name"]),
            Phase(status["phase"]),
            int(status["attempt"]),
            seats_in(folder),
            tuple(str(name) for name in status["expected"]),
            str(status["reason"]),
            tuple((str(name), float(when)) for name, when in status["seen"]),
            tuple(str(name) for name in status["waits_for"]),
            str(status["waits_what"]),
            float(status["waits_until"]),
            tuple(str(word) for word in status["words"]),
            tuple((str(name), str(report)) for name, report in status["reported"]),
            tuple((str(name), str(said)) for name, said in status.get("versions", ())),
            float(status.get("done", 0.0)),
            float(status.get("ends", 0.0)),
        )
    except (ValueError, KeyError, TypeError, KeyFileError):
        # The server writes it anew within a second or so; nothing depends on it.
        return None


def seats_in(folder: Path) -> tuple[str, ...]:
    """Everybody that enrolled in the study in this folder."""
    names = (path.name for path in (folder / "seats").iterdir())
    return tuple(sorted(name for name in names if not name.startswith(".")))


def study_folders(place: CoordinatorPlace) -> list[Path]:
    """The folder of every study of this coordinator."""
    root = place.folder / "studies"
    if not root.is_dir():
        return []
    return [path for path in sorted(root.iterdir()) if (path / "study.toml").is_file()]


def studies(place: CoordinatorPlace, *, read: "ReadStudy | None" = None) -> list[StudyStatus]:
    """How far every study is; one that cannot be read says so, and hides no other."""
    return [read_status(folder) or _from_text(folder, read) for folder in study_folders(place)]


def _from_text(folder: Path, read: "ReadStudy | None") -> StudyStatus:
    """The status of a study of which nothing legible was written, from its own text."""
    from sottovoce.config.study_file import parse_study

    try:
        return unwritten(folder, (read or parse_study)(study_text(folder)))
    except SottovoceError as error:
        reason = f"it cannot be read: {error.message}"
        return StudyStatus(folder.name, folder.name, Phase.STOPPED, 0, (), (), reason, ())


def unwritten(folder: Path, described: "StudyDescribed") -> StudyStatus:
    """The status of a study of which nothing was written, or nothing that can be read."""
    seats = (seat.name for seat in described.seats if seat.role != "coordinator")
    path = folder / _NAME
    reason = f"{path} cannot be read: the server writes it anew" if path.exists() else ""
    name = described.plan.name
    enrolled = seats_in(folder)
    return StudyStatus(folder.name, name, Phase.ENROLMENT, 0, enrolled, tuple(seats), reason, ())


def study_text(folder: Path) -> str:
    """The text of the study in this folder."""
    path = folder / "study.toml"
    try:
        return storage.read_whole(path, limit=_LARGEST).data.decode()
    except UnicodeDecodeError:
        raise DamagedFileError(
            f"{path}: expected the text of a study, found other bytes",
            hints=("bring the file back from a copy",),
        ) from None
