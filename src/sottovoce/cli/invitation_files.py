"""Invitations as the coordinator gets them: printed, as JSON, or one file each."""

from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.cli.shell_words import placed
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError
from sottovoce.hints import ShellCommand
from sottovoce.wire.addresses import without_secrets

if TYPE_CHECKING:
    from sottovoce.config.study_file import InvitedOrganisation, StudyDescription
    from sottovoce.node.invitations import Invitation
    from sottovoce.node.memberships import CoordinatorPlace, InvitationToken

PORT = 8443


def checked_address(given: str | None, *, known: str = "") -> str:
    """The server's address for peers: as given, as in the earlier study, or this machine's name."""
    from socket import getfqdn
    from urllib.parse import urlsplit

    address = (given or known or f"https://{getfqdn()}:{PORT}").rstrip("/")
    try:
        parts = urlsplit(address)
        more = parts.path or parts.query or parts.fragment or "@" in parts.netloc
        fine = parts.scheme == "https" and bool(parts.hostname) and not more
        _ = parts.port
    except ValueError:
        fine = False
    if not fine:
        raise InputError(
            f"--address: expected https://HOST:PORT, found {without_secrets(address)!r}",
            hints=(f"--address https://study.example.org:{PORT}",),
        )
    return address


def invitation_for(
    place: "CoordinatorPlace",
    described: "StudyDescription",
    token: "InvitationToken",
    address: str,
) -> tuple["InvitedOrganisation", "Invitation"]:
    """The invitation with an organisation's token."""
    from datetime import UTC, datetime

    from sottovoce.node.coordinator.serving import certificate_fingerprint
    from sottovoce.node.invitations import Invitation

    invited = next(
        invited for invited in described.organisations if invited.organisation == token.organisation
    )
    return invited, Invitation(
        address,
        certificate_fingerprint(place),
        token.study,
        described.plan.name,
        invited.name,
        token.seats,
        token.secret,
        datetime.fromtimestamp(token.expires, UTC),
    )


def checked_out(out: Path | None, *names: str) -> None:
    """Refuse a folder that cannot be used or already holds invitations, before anything is made."""
    from sottovoce.keyfiles import storage

    if out is not None:
        if out.exists() and not out.is_dir():
            raise InputError(f"--out: expected a folder, found a file at {out}")
        storage.make_folder(out)
        taken = next((out / name for name in names if (out / name).exists()), None)
        if taken is not None:
            raise InputError(
                f"--out: there is already an invitation at {taken}",
                hints=("name another folder: --out new-invitations",),
            )


def hand_out(
    described: "StudyDescription",
    letters: list[tuple["InvitedOrganisation", "Invitation"]],
    *,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the invitations; with `out` write them to files and print the files' names."""
    from sottovoce.keyfiles import storage

    if out is not None:
        for invited, invitation in letters:
            data = invitation.line.encode() + b"\n"
            storage.write_whole(out / invited.name, data, mode=storage.SECRET_MODE, replace=True)
    study, until = letters[0][1].study, letters[0][1].expires
    if as_json:
        content = {
            invited.name: {
                "organisation": invited.organisation,
                "seats": list(invitation.seats),
                "expires": invitation.expires.isoformat(),
                "invitation": invitation.line,
            }
            | ({} if out is None else {"file": str(out / invited.name)})
            for invited, invitation in letters
        }
        facts = {"study": study, "name": described.plan.name, "address": letters[0][1].address}
        screen.say_json(facts | {"invitations": content})
        return
    screen.say(f"study {study}: {described.plan.name}")
    screen.say(
        f"reached at {letters[0][1].address}, invitations good until {until:%Y-%m-%d %H:%M} UTC"
    )
    for invited, invitation in letters:
        screen.say(f"\n{invited.organisation} ({', '.join(invitation.seats)}):")
        screen.say(invitation.line if out is None else f"  in {out / invited.name}")
    screen.say(placed("\nnext: ", ShellCommand("sottovoce serve")))
