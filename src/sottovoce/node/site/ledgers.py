"""The ledgers of a site: their files, the keys that check them, and their receipts."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from sottovoce.course.control import COORDINATOR
from sottovoce.errors import InputError, LedgerError
from sottovoce.ledger import (
    LedgerSeat,
    NotedEnd,
    Receipt,
    parse_receipt,
    read_receipt,
    receipt_path,
)
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.memberships import Membership
from sottovoce.node.site.site_folder import Site, choose
from sottovoce.protocols.identities import Identity
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.transport.client import CoordinatorLine

_ASKING_SECONDS = 15.0


@dataclass(frozen=True)
class SeatLedger:
    """The ledger of one seat."""

    seat: str
    path: Path
    identity: Identity = field(repr=False)
    membership: Membership | None = None

    @property
    def whose(self) -> LedgerSeat:
        """The seat with its key."""
        return LedgerSeat(self.seat, self.identity.public)

    def kept_receipt(self, elsewhere: Path | None = None) -> tuple[NotedEnd, ...]:
        """The coordinator's last receipt: a saved copy, or the one beside the ledger."""
        path = elsewhere or receipt_path(self.path)
        if elsewhere is None and not path.exists():
            return ()
        return (read_receipt(path).noted_end(self.whose, str(path)),)

    async def asked_receipt(self) -> tuple[NotedEnd, ...]:
        """Ask the coordinator now for its receipt of this ledger."""
        if self.membership is None:
            raise InputError(
                f"{self.seat}: this is the coordinator itself",
                hints=("nobody gives a coordinator receipts: compare with --beside",),
            )
        receipt = await _asked(self.membership, self.identity)
        where = f"{self.membership.address}: the receipt of {self.seat}"
        if receipt is None:
            raise LedgerError(f"{where}: there is none yet, because no stage has ended")
        return (receipt.noted_end(self.whose, where),)


async def _asked(membership: Membership, identity: Identity) -> Receipt | None:
    async with CoordinatorLine(
        membership.address,
        fingerprint=membership.fingerprint,
        study=membership.study,
        identity=identity,
        retry_seconds=_ASKING_SECONDS,
    ) as line:
        receipt = json.loads(await line.status()).get("receipt")
    return (
        None
        if receipt is None
        else parse_receipt(str(receipt).encode(), "what the coordinator sent")
    )


def ledgers_of(site: Site, study: str | None) -> list[SeatLedger]:
    """The ledgers of this site's seats in one study, including its coordinator's."""
    places = {
        joined_study.id: (
            SealedFiles(joined_study.folder, joined_study.membership.at_rest),
            joined_study.invitation.seats,
        )
        for joined_study in site.joined()
    }
    titles = {joined_study.id: joined_study.invitation.title for joined_study in site.joined()}
    place = site.coordinator_place()
    for registry in registries(place):
        places[registry.id] = (SealedFiles(registry.folder, place.at_rest), (COORDINATOR,))
        titles[registry.id] = registry.id
    if not places:
        return []
    chosen = choose(study, titles)
    files, seats = places[chosen]
    memberships = {joined_study.id: joined_study.membership for joined_study in site.joined()}
    ledgers = []
    for seat in seats:
        path = files.root / seat / "ledger.jsonl"
        if path.exists():
            keys = SeatKeys.open(files, seat, entropy=site.entropy)
            joined = None if seat == COORDINATOR else memberships.get(chosen)
            ledgers.append(SeatLedger(seat, path, keys.identity, joined))
    return ledgers
