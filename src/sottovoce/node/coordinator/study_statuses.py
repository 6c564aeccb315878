"""How far every study of a coordinator is, as its server wrote it down in status.json."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.course.phases import Phase
from sottovoce.errors import KeyFileError, SottovoceError
from sottovoce.keyfiles import storage
from sottovoce.node.memberships import CoordinatorPlace, StudyStatus

if TYPE_CHECKING:
    from sottovoce.node.api import ReadStudy

NAME = "status.json"
_LARGEST = 8 * 2**20


def write_status(folder: Path, status: StudyStatus) -> None:
    """Let commands see how far the study in this folder is."""
    data = json.dumps(asdict(status), ensure_ascii=False).encode()
    storage.write_for_information(folder / NAME, data, synced=False)


def is_written(folder: Path) -> bool:
    """Whether anything was written of the study in this folder."""
    return (folder / NAME).exists()


def read_status(folder: Path) -> StudyStatus | None:
    """How far the study in this folder is, as it was last written; None if that cannot be read."""
    try:
        found = json.loads(storage.read_whole(folder / NAME, limit=_LARGEST).data)
        return StudyStatus(
            folder.name,
            str(found["name"]),
            Phase(found["phase"]),
            int(found["attempt"]),
            seats_in(folder),
            tuple(str(name) for name in found["expected"]),
            str(found["reason"]),
            tuple((str(name), float(when)) for name, when in found["seen"]),
            tuple(str(name) for name in found["waits_for"]),
            str(found["waits_what"]),
            float(found["waits_until"]),
            tuple(str(word) for word in found["words"]),
            tuple((str(name), str(report)) for name, report in found["reported"]),
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
    from sottovoce.node.coordinator.registry import Registry

    registry = Registry(folder)
    try:
        return registry.status((read or parse_study)(registry.text))
    except SottovoceError as error:
        reason = f"it cannot be read: {error.message}"
        return StudyStatus(registry.id, registry.id, Phase.STOPPED, 0, (), (), reason, ())
