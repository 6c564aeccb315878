"""Where the ledgers of a site lie, seat by seat, and by which key each is checked."""

from dataclasses import dataclass
from pathlib import Path

from sottovoce.service.control import COORDINATOR
from sottovoce.service.coordinator import registries
from sottovoce.service.sealed_files import SealedFiles
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.site import Site, choose


@dataclass(frozen=True)
class SeatLedger:
    """The ledger of one seat."""

    seat: str
    path: Path
    public: bytes


def ledgers_of(site: Site, study: str | None) -> list[SeatLedger]:
    """The ledgers of this site's seats in one study, its coordinator's too where it runs it."""
    places = {
        one.id: (SealedFiles(one.folder, one.membership.at_rest), one.invitation.seats)
        for one in site.joined()
    }
    titles = {one.id: one.invitation.title for one in site.joined()}
    office = site.office()
    for one in registries(office):
        places[one.id] = (SealedFiles(one.folder, office.at_rest), (COORDINATOR,))
        titles[one.id] = one.id
    if not places:
        return []
    files, seats = places[choose(study, titles)]
    found = []
    for seat in seats:
        path = files.root / seat / "ledger.jsonl"
        if path.exists():
            keys = SeatKeys.open(files, seat, entropy=site.entropy)
            found.append(SeatLedger(seat, path, keys.identity.public))
    return found
