"""The status of every study of a coordinator, from the server's status.json."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.course.phases import Phase
from sottovoce.errors import DamagedFileError, KeyFileError, SottovoceError
from sottovoce.keyfiles import storage
from sottovoce.node.memberships import CoordinatorPlace, StudyStatus

if TYPE_CHECKING:
    from sottovoce.config.study_file import StudyDescription
    from sottovoce.node.api import ReadStudy

_NAME = "status.json"
_LARGEST = 8 * 2**20


def write_status(folder: Path, status: StudyStatus) -> None:
    """Write the status of the study in this folder."""
    data = json.dumps(asdict(status), ensure_ascii=False).encode()
    storage.write_for_information(folder / _NAME, data, synced=False)


def read_status(folder: Path) -> StudyStatus | None:
    """The last written status of the study in this folder; None if it cannot be read."""
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
        # The server writes it again within a second or so; nothing depends on it.
        return None


def seats_in(folder: Path) -> tuple[str, ...]:
    """Every seat that enrolled in the study in this folder."""
    names = (path.name for path in (folder / "seats").iterdir())
    return tuple(sorted(name for name in names if not name.startswith(".")))


def study_folders(place: CoordinatorPlace) -> list[Path]:
    """The folder of every study of this coordinator."""
    root = place.folder / "studies"
    if not root.is_dir():
        return []
    return [path for path in sorted(root.iterdir()) if (path / "study.toml").is_file()]


def studies(place: CoordinatorPlace, *, read: "ReadStudy | None" = None) -> list[StudyStatus]:
    """The status of every study; an unreadable one is listed as such."""
    return [read_status(folder) or _from_text(folder, read) for folder in study_folders(place)]


def _from_text(folder: Path, read: "ReadStudy | None") -> StudyStatus:
    """The status of a study without a readable status file, from its own text."""
    from sottovoce.config.study_file import parse_study

    try:
        return unwritten(folder, (read or parse_study)(study_text(folder)))
    except SottovoceError as error:
        reason = f"it cannot be read: {error.message}"
        return StudyStatus(folder.name, folder.name, Phase.STOPPED, 0, (), (), reason, ())


def unwritten(folder: Path, described: "StudyDescription") -> StudyStatus:
    """The status of a study without a readable status file."""
    seats = (seat.name for seat in described.seats if seat.role != "coordinator")
    path = folder / _NAME
    reason = f"{path} cannot be read; the server will write it again" if path.exists() else ""
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
            f"{path}: it does not hold the text of a study",
            hints=("restore the file from a copy",),
        ) from None
