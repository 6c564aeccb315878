"""A site's folder: what lies in it, who may read it, and what its settings say."""

import json
import os
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from sottovoce.config.study_file import example
from sottovoce.errors import (
    DamagedFileError,
    InputError,
    KeyFileError,
    OpenPermissionsError,
    WrongPassphraseError,
)
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.node.invitations import Invitation
from sottovoce.node.site.site_folder import Site, choose, open_site
from sottovoce.storage.sealed_files import is_locked, open_sealed
from sottovoce.study.arrangement import Partition, Remote
from sottovoce.study.policy import Policy
from sottovoce.study.release import Release

TOKEN = bytes(range(32))


def invitation_line(invitation: Invitation, seats: tuple[str, ...]) -> str:
    """The line that a hostile coordinator writes: no check of ours is in its way."""
    forged = copy(invitation)
    object.__setattr__(forged, "seats", seats)
    return forged.line


def invitation(study: str = "urgency-k3j4", title: str = "urgency") -> Invitation:
    seats = ("north", "member-north")
    until = datetime(2030, 1, 2, tzinfo=UTC)
    place = "https://127.0.0.1:8443"
    return Invitation(place, b"\x07" * 32, study, title, "north", seats, TOKEN, until)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return open_site(tmp_path / "home", entropy=SeededEntropy(1))


def test_an_accepted_invitation_is_kept_sealed(site: Site) -> None:
    site.accept(invitation())
    again = open_site(site.home, entropy=SeededEntropy(2))
    study = again.study()
    assert study.invitation == invitation()
    assert study.membership.seats == ("north", "member-north")
    assert study.membership.folder == site.home / "studies" / "urgency-k3j4"
    assert len(study.membership.at_rest) == 32
    stored = (study.folder / "membership").read_bytes()
    assert TOKEN.hex().encode() not in stored
    assert TOKEN not in stored
    assert study.description is None


def test_every_file_is_its_owners_alone(site: Site) -> None:
    site.accept(invitation()).keep_text(example())
    for path in site.home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_study_whose_text_changed_is_refused(site: Site) -> None:
    study = site.accept(invitation())
    assert study.keep_text(example()).plan.features == 2048
    study.keep_text(example())
    assert study.description is not None
    with pytest.raises(InputError, match="differs from the one that was kept"):
        study.keep_text(example() + "\n")


def test_a_home_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o755)
    with pytest.raises(OpenPermissionsError, match="mode 700, found 755") as caught:
        open_site(tmp_path / "home", entropy=SeededEntropy(1))
    assert caught.value.hints == (f"chmod 700 {tmp_path / 'home'}",)
    (tmp_path / "file").write_text("")
    with pytest.raises(KeyFileError):
        open_site(tmp_path / "file", entropy=SeededEntropy(1))


@pytest.mark.parametrize("name", ["storage.key", "studies/urgency-k3j4/membership"])
def test_a_key_file_that_others_can_read_is_refused(site: Site, name: str) -> None:
    site.accept(invitation())
    (site.home / name).chmod(0o640)
    with pytest.raises(OpenPermissionsError, match="expected mode 600, found 640"):
        _ = open_site(site.home, entropy=SeededEntropy(1)).study().invitation


def test_a_sealed_file_that_was_changed_or_moved_is_refused(site: Site) -> None:
    study = site.accept(invitation())
    other = site.accept(invitation("other-k3j4"))
    kept = (study.folder / "membership").read_bytes()
    (other.folder / "membership").write_bytes(kept)
    with pytest.raises(DamagedFileError, match="changed, moved, or sealed under another key"):
        _ = site.joined()[0].invitation
    (study.folder / "membership").write_bytes(kept[:-1])
    with pytest.raises(DamagedFileError, match="changed, moved, or sealed under another key"):
        _ = site.joined()[1].invitation
    (study.folder / "membership").write_bytes(b"hello")
    with pytest.raises(KeyFileError, match="expected a sealed file"):
        _ = site.joined()[1].invitation


def test_the_key_may_lie_under_a_passphrase(tmp_path: Path) -> None:
    words = Passphrase("four unrelated words here")
    files = open_sealed(tmp_path, entropy=SeededEntropy(1), passphrase=words)
    assert is_locked(tmp_path)
    assert files.key not in (tmp_path / "storage.key").read_bytes()
    assert open_sealed(tmp_path, entropy=SeededEntropy(2), passphrase=words).key == files.key
    with pytest.raises(KeyFileError, match="a passphrase is needed to open it"):
        open_sealed(tmp_path, entropy=SeededEntropy(2))
    with pytest.raises(WrongPassphraseError):
        open_sealed(tmp_path, entropy=SeededEntropy(2), passphrase=Passphrase("another one here"))


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    open_sealed(tmp_path, entropy=SeededEntropy(1))
    assert not is_locked(tmp_path)
    (tmp_path / "storage.key").write_bytes(b"sottovoce storage key, version 1\nabcd\n")
    with pytest.raises(DamagedFileError, match="not what was written"):
        open_sealed(tmp_path, entropy=SeededEntropy(1))


def test_which_study_is_meant() -> None:
    titles = {"urgency-k3j4": "urgency", "urgency-zzzz": "later", "triage-aaaa": "triage"}
    assert choose("urgency-k3j4", titles) == "urgency-k3j4"
    assert choose("later", titles) == "urgency-zzzz"
    assert choose("tri", titles) == "triage-aaaa"
    assert choose(None, {"only-aaaa": "only"}) == "only-aaaa"
    with pytest.raises(InputError, match="could be urgency-k3j4, urgency-zzzz"):
        choose("urgency-", titles)
    with pytest.raises(InputError, match=r"this site knows .*found 'none'"):
        choose("none", titles)
    with pytest.raises(InputError, match=r"there are 3 .*name one") as caught:
        choose(None, titles)
    assert caught.value.hints == ("name it: --study urgency-k3j4", "sottovoce study list")


def test_no_study_at_all(site: Site) -> None:
    with pytest.raises(InputError, match="this site has not joined a study"):
        site.study()


def test_an_invitation_cannot_write_elsewhere(site: Site) -> None:
    for name in ("../out", "a/b", ".hidden", "..", "", "x" * 33, "a\x00b", "/etc"):
        with pytest.raises(InputError, match="invitation: expected a study of letters"):
            site.accept(invitation(name))
    assert not (site.home / "studies").exists()


@pytest.mark.parametrize(
    "seats",
    [
        ("north", "../../../.config"),
        ("/owned",),
        ("north", "."),
        ("north", ".."),
        ("north", "a/b"),
        ("north", "evaluator\n"),
        ("north", "north"),
        (),
    ],
)
def test_path_traversal_through_the_seats_of_an_invitation(
    site: Site, seats: tuple[str, ...]
) -> None:
    """The line decodes, its checksum fits, and still nothing is made of it."""
    with pytest.raises(InputError, match="invitation: "):
        replace(invitation(), seats=seats)
    forged = invitation_line(invitation(), seats)
    with pytest.raises(InputError, match="invitation: "):
        Invitation.parse(forged)
    assert [path.name for path in site.home.iterdir()] == []


def test_a_membership_file_that_names_a_path_as_its_seat_is_refused(site: Site) -> None:
    study = site.accept(invitation())
    path = study.folder / "membership"
    content = json.loads(study.files.read(path))
    content["seats"] = ["../../out"]
    study.files.write(path, json.dumps(content).encode(), entropy=SeededEntropy(3), replace=True)
    with pytest.raises(DamagedFileError, match="not what was written"):
        _ = open_site(site.home, entropy=SeededEntropy(2)).study().membership


def test_an_invitation_to_seats_of_two_organisations_is_refused(site: Site) -> None:
    study = site.accept(replace(invitation(), seats=("north", "dealer")))
    with pytest.raises(InputError, match="expected seats of one organisation of urgency-k3j4"):
        study.keep_text(example())
    assert not (study.folder / "study.toml").exists()


@pytest.mark.parametrize("field", ["title", "short_name", "address"])
@pytest.mark.parametrize("text", ["\x1b[2J", "a\u202eb", "\x9b31m", "a\nb", "a  b", "x" * 121, ""])
def test_an_invitation_cannot_repaint_a_screen(field: str, text: str) -> None:
    with pytest.raises(InputError, match=f"invitation: {field}: expected"):
        replace(invitation(), **{field: text})


def test_settings_of_a_site(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "sottovoce.toml").write_text(
        '[policy]\nreleases = ["sealed", "margin"]\nkey_bits = 2048\nindependent_evaluator = true\n'
        'partitions = ["documents"]\nremotes = ["zero"]\nintermediaries = false\n'
        '[join]\ntext = "note"\n',
        encoding="utf-8",
    )
    site = open_site(home, entropy=SeededEntropy(1))
    assert site.policy == Policy(
        releases=frozenset({Release.SEALED, Release.MARGIN}),
        key_bits=2048,
        independent_evaluator=True,
        partitions=frozenset({Partition.DOCUMENTS}),
        remotes=frozenset({Remote.ZERO}),
        intermediaries=False,
    )
    assert site.settings.commands == {"join": {"text": "note"}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[policy]\nmin_peers = 'x'\n", "line 2: policy.min_peers: expected a whole number"),
        ("[policy]\nreleases = ['all']\n", "line 2: policy.releases: expected one of sealed"),
        ("\n[policy]\nminpeers = 3\n", "line 3: policy.minpeers: expected a setting of"),
        ("policy = 3\n", "line 1: policy: expected a table"),
        ("[policy\n", "line 1: not TOML"),
    ],
)
def test_wrong_settings_of_a_site_are_told_with_their_line(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "sottovoce.toml").write_text(text, encoding="utf-8")
    tmp_path.chmod(0o700)
    with pytest.raises(InputError, match=f"sottovoce.toml, {says}"):
        open_site(tmp_path, entropy=SeededEntropy(1))


def test_home_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_HOME", str(tmp_path / "there"))
    assert open_site(entropy=SeededEntropy(1)).home == tmp_path / "there"
    monkeypatch.delenv("SOTTOVOCE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_site(entropy=SeededEntropy(1)).home == Path(os.environ["HOME"], ".sottovoce")
