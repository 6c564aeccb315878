"""A site's own folder: its settings, its key, and a folder for each study that it joined.

HOME/sottovoce.toml            settings and policy, for people to edit
HOME/storage.key               under which this site's secrets are sealed (sealed_files.py)
HOME/coordinator/              the studies that it runs (coordinator.py)
HOME/studies/ID/membership     the invitation that it accepted, sealed
HOME/studies/ID/study.toml     the study's text, as it came
HOME/studies/ID/…              what its seats keep (participant.py)
"""

import json
import os
import stat
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from sottovoce.config.site_settings import SiteSettings, read_settings
from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedFileError, InputError, KeyFileError, OpenPermissionsError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles import storage, unix
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.node.memberships import CoordinatorPlace, Membership
from sottovoce.storage.sealed_files import SealedFiles, open_sealed

if TYPE_CHECKING:
    from sottovoce.config.study_file import InvitedOrganisation, StudyDescription
    from sottovoce.node.invitations import Invitation
    from sottovoce.study.policy import Policy

HOME_VARIABLE = "SOTTOVOCE_HOME"
SETTINGS = "sottovoce.toml"
_VERSION = 1
"""The version of the membership; older files name none and are of version 1."""


@dataclass(frozen=True)
class JoinedStudy:
    """A study to which this site was invited, and its files."""

    folder: Path
    files: SealedFiles = field(repr=False)

    @property
    def id(self) -> str:
        """The study's name on its server."""
        return self.folder.name

    @cached_property
    def invitation(self) -> "Invitation":
        """The accepted invitation."""
        from sottovoce.node.invitations import Invitation

        try:
            kept = json.loads(self.files.read(self.folder / "membership"))
            _check_version(self.folder / "membership", kept.get("version", 1))
            return Invitation(
                kept["address"],
                bytes.fromhex(kept["fingerprint"]),
                kept["study"],
                kept["title"],
                # Its name in the first version.
                kept.get("short_name") or kept["house"],
                tuple(kept["seats"]),
                bytes.fromhex(kept["token"]),
                datetime.fromisoformat(kept["expires"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DamagedFileError(f"{self.folder / 'membership'}: not what was written") from None

    @property
    def membership(self) -> Membership:
        """The membership."""
        invitation = self.invitation
        return Membership(
            self.folder,
            invitation.address,
            invitation.fingerprint,
            invitation.study,
            invitation.seats,
            invitation.token,
            self.files.key_for(f"study {self.id}"),
        )

    @property
    def description(self) -> "StudyDescription | None":
        """The description in study.toml; None before it arrived."""
        from sottovoce.config.study_file import LONGEST, parse_study

        path = self.folder / "study.toml"
        if not path.exists():
            return None
        text = storage.read_whole(path, limit=LONGEST).data.decode()
        return parse_study(text, name=str(path))

    @property
    def described(self) -> "StudyDescription":
        """The description, or an error that says how to get it."""
        described = self.description
        if described is None:
            raise InputError(
                f"study {self.id}: its description has not arrived yet",
                hints=(ShellCommand(f"sottovoce join --study {self.id}"),),
            )
        return described

    def organisation(self, described: "StudyDescription") -> "InvitedOrganisation":
        """This site's organisation, as the study describes it."""
        return described.organisation(self.invitation.short_name)

    def keep_text(self, text: str) -> "StudyDescription":
        """Keep the study's text; a text that changed is refused."""
        from sottovoce.config.study_file import LONGEST, parse_study

        described = parse_study(text, name=f"study.toml of {self.id}")
        self._check_seats(described)
        path = self.folder / "study.toml"
        if not path.exists():
            storage.write_whole(path, text.encode(), mode=storage.SECRET_MODE)
        elif storage.read_whole(path, limit=LONGEST).data != text.encode():
            raise InputError(
                f"{path}: the study's text differs from the one that was kept",
                hints=("ask the coordinator why the study was changed",),
            )
        return described

    def _check_seats(self, described: "StudyDescription") -> None:
        """Refuse an invitation whose seats are not seats of one organisation of the study."""
        seats = set(self.invitation.seats)
        if not any(
            seats <= {seat.name for seat in invited.seats} for invited in described.organisations
        ):
            raise InputError(
                f"invitation: expected seats of one organisation of {self.id}, "
                f"found {', '.join(self.invitation.seats)}",
                hints=("ask the coordinator for a new invitation, by `study invite NAME` there",),
            )


@dataclass(frozen=True)
class Site:
    """One organisation's folder."""

    home: Path
    settings: SiteSettings
    entropy: Entropy = field(repr=False)
    passphrase: Passphrase | None = field(default=None, repr=False)

    @cached_property
    def files(self) -> SealedFiles:
        """The site's key; made on first use."""
        return open_sealed(self.home, entropy=self.entropy, passphrase=self.passphrase)

    @property
    def policy(self) -> "Policy":
        """The most that this site consents to."""
        return self.settings.policy

    def coordinator_place(self, host: str = "127.0.0.1", port: int = 8443) -> CoordinatorPlace:
        """The folder of the studies that this site runs."""
        folder = self.home / "coordinator"
        storage.make_folder(folder)
        return CoordinatorPlace(folder, self.files.key_for("coordinator"), host, port)

    def joined(self) -> tuple[JoinedStudy, ...]:
        """Every study that this site was invited to, by name."""
        root = self.home / "studies"
        if not root.is_dir():
            return ()
        folders = sorted(path for path in root.iterdir() if (path / "membership").is_file())
        return tuple(JoinedStudy(path, self.files) for path in folders)

    def study(self, name: str | None = None, *, option: str = "--study ") -> JoinedStudy:
        """The joined study of that name or beginning of a name; the only one if None."""
        known = self.joined()
        if not known:
            raise InputError(
                f"{self.home}: this site has not joined a study",
                hints=(
                    Hint("join one: ", ShellCommand("sottovoce join INVITATION --data FILE")),
                    "or give another --home",
                ),
            )
        titles = {joined_study.id: joined_study.invitation.title for joined_study in known}
        chosen = choose(name, titles, option=option)
        return next(joined_study for joined_study in known if joined_study.id == chosen)

    def accept(self, invitation: "Invitation") -> JoinedStudy:
        """Make a folder for the study of an invitation; a newer one replaces an older one."""
        study = JoinedStudy(self.home / "studies" / invitation.study, self.files)
        storage.make_folder(study.folder.parent)
        storage.make_folder(study.folder)
        content = {
            "version": _VERSION,
            "address": invitation.address,
            "fingerprint": invitation.fingerprint.hex(),
            "study": invitation.study,
            "title": invitation.title,
            "short_name": invitation.short_name,
            "seats": list(invitation.seats),
            "token": invitation.token.hex(),
            "expires": invitation.expires.isoformat(),
        }
        path = study.folder / "membership"
        self.files.write(path, json.dumps(content).encode(), entropy=self.entropy, replace=True)
        return study


def choose(name: str | None, titles: dict[str, str], *, option: str = "--study ") -> str:
    """Choose a study by its id, its title or the beginning of either.

    `option` is the command's option for a study's name.
    """
    listed = ", ".join(titles)
    if name is None:
        if len(titles) == 1:
            return next(iter(titles))
        raise InputError(
            f"study: there are {len(titles)} ({listed}); name one",
            hints=(
                f"name it: {option}{next(iter(titles), 'NAME')}",
                ShellCommand("sottovoce study list"),
            ),
        )
    exact = [study for study, title in titles.items() if name in {study, title}]
    begins = (
        study for study, title in titles.items() if study.startswith(name) or title.startswith(name)
    )
    matching = exact or list(begins)
    if len(matching) == 1:
        return matching[0]
    what = f"{name!r}, which could be {', '.join(matching)}" if matching else repr(name)
    raise InputError(
        f"study: this site knows {listed or 'none'}, found {what}",
        hints=(ShellCommand("sottovoce study list"),),
    )


def open_site(
    home: Path | None = None, *, entropy: Entropy, passphrase: Passphrase | None = None
) -> Site:
    """The site at `home`, SOTTOVOCE_HOME or ~/.sottovoce, in this order; made if needed."""
    unix.require("a site's folder")
    path = home_folder(home)
    storage.make_folder(path)
    _check_folder(path)
    return Site(path, read_settings(path / SETTINGS), entropy, passphrase)


def home_folder(home: Path | None = None) -> Path:
    """The path of a site's folder."""
    given = home or os.environ.get(HOME_VARIABLE) or Path.home() / ".sottovoce"
    return Path(given).expanduser()


def _check_version(path: Path, version: int) -> None:
    if version > _VERSION:
        raise KeyFileError(
            f"{path}: expected version {_VERSION} at most, found version {version}: "
            "a newer release wrote it",
            hints=("pip install --upgrade sottovoce",),
        )


def _check_folder(path: Path) -> None:
    """Refuse a folder that others can enter: they could replace keys and settings."""
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise KeyFileError(f"{path}: expected a folder, found a file")
    if status.st_mode & storage.OTHERS:
        raise OpenPermissionsError(
            f"{path}: other users of this machine can enter it, expected mode 700, "
            f"found {stat.S_IMODE(status.st_mode):03o}",
            hints=(f"chmod 700 {quote(str(path))}",),
        )
