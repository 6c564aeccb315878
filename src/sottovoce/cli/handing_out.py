"""Invitations as they are handed out: printed, as JSON, or each in a file of its own."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sottovoce.cli.placing import placed
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.service.api import Office, Token
    from sottovoce.service.invitations import Invitation
    from sottovoce.service.study_file import House, StudyDescription

PORT = 8443


def checked_address(given: str | None, *, known: str = "") -> str:
    """Where peers reach the server: as given, as they were told before, by this machine's name."""
    from socket import getfqdn
    from urllib.parse import urlsplit

    address = (given or known or f"https://{getfqdn()}:{PORT}").rstrip("/")
    try:
        parts = urlsplit(address)
        fine = parts.scheme == "https" and bool(parts.hostname) and not (parts.path or parts.query)
        _ = parts.port
    except ValueError:
        fine = False
    if not fine:
        raise InputError(
            f"--address: expected https://HOST:PORT, found {address!r}",
            hints=(f"--address https://study.example.org:{PORT}",),
        )
    return address


def invitation_for(
    office: "Office", described: "StudyDescription", token: "Token", address: str
) -> tuple["House", "Invitation"]:
    """The invitation that carries a token to its organisation."""
    from datetime import UTC, datetime

    from sottovoce.service.coordinator import certificate_fingerprint
    from sottovoce.service.invitations import Invitation

    house = next(one for one in described.houses if one.organisation == token.organisation)
    return house, Invitation(
        address,
        certificate_fingerprint(office),
        token.study,
        described.plan.name,
        house.name,
        token.seats,
        token.secret,
        datetime.fromtimestamp(token.expires, UTC),
    )


def checked_out(out: Path | None) -> None:
    """Refuse a place for invitations that is none, before anything is made."""
    from sottovoce.keyfiles import storage

    if out is not None:
        if out.exists() and not out.is_dir():
            raise InputError(f"--out: expected a folder, found a file at {out}")
        storage.make_folder(out)


def hand_out(
    described: "StudyDescription",
    letters: list[tuple["House", "Invitation"]],
    *,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the invitations; with `out` they stand in files, and their names are printed."""
    from sottovoce.keyfiles import storage

    if out is not None:
        for house, one in letters:
            data = one.line.encode() + b"\n"
            storage.write_whole(out / house.name, data, mode=storage.SECRET_MODE, replace=True)
    study, until = letters[0][1].study, letters[0][1].expires
    if as_json:
        content = {
            house.name: {
                "organisation": house.organisation,
                "seats": list(one.seats),
                "expires": one.expires.isoformat(),
                "invitation": one.line,
            }
            | ({} if out is None else {"file": str(out / house.name)})
            for house, one in letters
        }
        facts = {"study": study, "name": described.plan.name, "address": letters[0][1].address}
        typer.echo(json.dumps(facts | {"invitations": content}))
        return
    typer.echo(f"study {study}: {described.plan.name}")
    typer.echo(
        f"reached at {letters[0][1].address}, invitations good until {until:%Y-%m-%d %H:%M} UTC"
    )
    for house, one in letters:
        typer.echo(f"\n{house.organisation} ({', '.join(one.seats)}):")
        typer.echo(one.line if out is None else f"  in {out / house.name}")
    typer.echo(placed("\nnext: sottovoce serve"))
