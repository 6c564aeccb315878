"""The coordinator's folder of one study: its text, who was invited, who enrolled, what was ordered.

COORDINATOR/studies/ID/study.toml          the text that travels
COORDINATOR/studies/ID/address             where its people reach the server
COORDINATOR/studies/ID/invitations/…       a hash of every token, its seats, its expiry
COORDINATOR/studies/ID/seats/…             the public identity of every seat that enrolled
COORDINATOR/studies/ID/orders/…            cancel or close, given by a command while the server runs
COORDINATOR/studies/ID/status.json         how far it is, written by the server

Commands and the server share these files, each written whole; everything else in the folder
belongs to the server's process alone.
"""

import hmac
from base64 import b32encode
from pathlib import Path
from typing import TypeVar

from sottovoce.course.control import COORDINATOR
from sottovoce.course.inputs import Order
from sottovoce.course.phases import OVER, Phase
from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedFileError, InputError, MalformedError
from sottovoce.keyfiles import storage
from sottovoce.node.api import InvitationToken, StudyDescribed, StudyStatus
from sottovoce.node.coordinator import study_statuses
from sottovoce.node.invitations import hash_of
from sottovoce.protocols.identities import digest
from sottovoce.protocols.sealing import KEY_BYTES
from sottovoce.wire import Codec, Value

_LARGEST = 8 * 2**20
TOKEN_BYTES = 32
V = TypeVar("V", bound=Value)


class Ticket(Value, frozen=True):
    """What the server keeps of an invitation."""

    organisation: str
    seats: tuple[str, ...]
    token_hash: bytes
    expires: int


class EnrolledSeat(Value, frozen=True):
    """Whose key sits where, and by which invitation."""

    name: str
    public: bytes
    token_hash: bytes


class Registry:
    """One study of a coordinator, on disk."""

    def __init__(self, folder: Path) -> None:
        """The study in this folder."""
        self.folder = folder

    @property
    def id(self) -> str:
        """The study's name on this server."""
        return self.folder.name

    @classmethod
    def create(cls, studies: Path, text: str, *, address: str, entropy: Entropy) -> "Registry":
        """A folder for a new study, under a name that nobody had before.

        It lies aside until it is `opened`: a server, or a crash, never sees half a study.
        """
        name = b32encode(entropy.read(10)).decode().lower()
        registry = cls(studies.with_name("making") / name)
        for folder in ("", "invitations", "seats", "orders"):
            storage.make_folder(registry.folder / folder)
        for name, content in (("study.toml", text), ("address", address)):
            path = registry.folder / name
            storage.write_whole(path, content.encode(), mode=storage.SECRET_MODE)
        return registry

    def opened(self, studies: Path) -> "Registry":
        """The study in its place, whole."""
        storage.make_folder(studies)
        return Registry(self.folder.rename(studies / self.id))

    @property
    def text(self) -> str:
        """The study's text."""
        return study_statuses.study_text(self.folder)

    @property
    def address(self) -> str:
        """Where its people were told to find the server; empty if they were told nothing."""
        path = self.folder / "address"
        return storage.read_whole(path, limit=_LARGEST).data.decode() if path.exists() else ""

    @address.setter
    def address(self, address: str) -> None:
        path = self.folder / "address"
        storage.write_whole(path, address.encode(), mode=storage.SECRET_MODE, replace=True)

    # Invitations.

    def invite(
        self, described: StudyDescribed, organisation: str, *, expires: float, entropy: Entropy
    ) -> InvitationToken:
        """A new token for an organisation; an older one is good no longer."""
        seats = tuple(
            seat.name
            for seat in described.seats
            if seat.organisation == organisation and seat.name != COORDINATOR
        )
        if not seats:
            known = dict.fromkeys(
                seat.organisation for seat in described.seats if seat.name != COORDINATOR
            )
            raise InputError(
                f"study {self.id}: expected an organisation of it ({', '.join(known)}), "
                f"found {organisation!r}"
            )
        secret = entropy.read(TOKEN_BYTES)
        ticket = Ticket(organisation, seats, hash_of(secret), int(expires))
        self._write(self._ticket_path(organisation), ticket)
        return InvitationToken(self.id, organisation, seats, secret, float(int(expires)))

    def check_open(self, described: StudyDescribed, organisation: str) -> Phase:
        """Refuse to invite where nobody can come in; how far the study is, else.

        A study that has begun takes nobody new, but one that lost its disk may come back.
        """
        now = self.status(described)
        phase = Phase(now.phase)
        if self.ordered(Order.CLOSE if phase is Phase.FINISHED else Order.CANCEL) is not None:
            phase = Phase.CLOSED if phase is Phase.FINISHED else Phase.STOPPED
        again = f"sottovoce study create --from {self.id}"
        if phase in OVER:
            because = f": {now.reason}" if now.reason else ""
            raise InputError(
                f"study {self.id}: expected one that goes on, found one that is {phase}{because}",
                hints=(again,),
            )
        seats = {seat.name for seat in described.seats if seat.organisation == organisation}
        if phase is not Phase.ENROLMENT and not seats & set(now.enrolled):
            raise InputError(
                f"study {self.id}: expected one whose enrolment goes on, found {phase}: "
                f"{organisation} did not come in time",
                hints=(again,),
            )
        return phase

    def revoke(self, described: StudyDescribed, organisation: str) -> None:
        """Make an organisation's invitation void; one that came in already stays."""
        seats = {seat.name for seat in described.seats if seat.organisation == organisation}
        came = sorted(seats & set(self.seats()))
        if came:
            raise InputError(
                f"study {self.id}: expected an organisation that has not come, found "
                f"{organisation} enrolled as {', '.join(came)}",
                hints=(f"sottovoce study cancel {self.id}",),
            )
        path = self._ticket_path(organisation)
        if not path.exists():
            raise InputError(
                f"study {self.id}: expected an invitation of {organisation} that is out, "
                "found none",
                hints=("sottovoce study list",),
            )
        path.unlink()

    def tickets(self) -> list[Ticket]:
        """Every invitation that is out."""
        return [self._read(path, Ticket) for path in _files(self.folder / "invitations")]

    def admitted(self, token: bytes, *, now: float) -> Ticket:
        """The ticket of a token, or a refusal that says why."""
        given_hash = hash_of(token)
        for ticket in self.tickets():
            if hmac.compare_digest(ticket.token_hash, given_hash):
                if now > ticket.expires:
                    raise InputError(
                        f"invitation of {ticket.organisation!r}: expected one that is still good, "
                        "found one that expired",
                        hints=("ask the coordinator for a new one: sottovoce study invite NAME",),
                    )
                return ticket
        raise InputError(
            f"study {self.id}: expected the token of an invitation to it, found another",
            hints=("use the newest invitation, or ask the coordinator for one",),
        )

    # Seats.

    def enrol(self, seat: str, public: bytes, ticket: Ticket, *, replacing: bool) -> None:
        """Pin the identity of a seat; with the same key again nothing changes."""
        if seat not in ticket.seats or len(public) != KEY_BYTES:
            raise InputError(
                f"invitation of {ticket.organisation!r}: expected a seat of it "
                f"({', '.join(ticket.seats)}), found {seat!r}"
            )
        known = self.seats().get(seat)
        if known is not None and known.public == public:
            return
        gone_on = "the others go on without this site, or begin anew: docs/backup.md"
        invite = "ask the coordinator for a new invitation: sottovoce study invite NAME"
        if known is not None and known.token_hash == ticket.token_hash:
            raise InputError(
                f"seat {seat!r}: expected an invitation that was not used yet, found one under "
                "which another key enrolled",
                hints=(invite if replacing else gone_on,),
            )
        if known is not None and not replacing:
            raise InputError(
                f"seat {seat!r}: expected the key under which it enrolled, found another: "
                "only a peer may come back with a new key, and only once the training is over",
                hints=(gone_on,),
            )
        self._write(self.folder / "seats" / seat, EnrolledSeat(seat, public, ticket.token_hash))

    def seats(self) -> dict[str, EnrolledSeat]:
        """Everybody that enrolled, by seat."""
        enrolled = (self._read(path, EnrolledSeat) for path in _files(self.folder / "seats"))
        return {path.name: path for path in enrolled}

    # Orders and status.

    def order(self, what: Order, reason: str = "") -> None:
        """Tell the server, which looks here while it runs and when it starts."""
        storage.write_whole(
            self.folder / "orders" / what,
            reason.encode(),
            mode=storage.SECRET_MODE,
            replace=True,
        )

    def ordered(self, what: Order) -> str | None:
        """The reason of an order, if it was given."""
        path = self.folder / "orders" / what
        if not path.exists():
            return None
        return storage.read_whole(path, limit=_LARGEST).data.decode()

    def write_status(self, status: StudyStatus) -> None:
        """Let commands see how far the study is."""
        study_statuses.write_status(self.folder, status)

    def status(self, described: StudyDescribed) -> StudyStatus:
        """The study's status, as the server wrote it last."""
        known = study_statuses.read_status(self.folder)
        return known or study_statuses.unwritten(self.folder, described)

    def _ticket_path(self, organisation: str) -> Path:
        name = digest("service/organisation/v1", organisation.encode()).hex()[:32]
        return self.folder / "invitations" / name

    def _write(self, path: Path, value: Value) -> None:
        data = Codec().encode(value)
        storage.write_whole(path, data, mode=storage.SECRET_MODE, replace=True)

    def _read(self, path: Path, kind: type[V]) -> V:
        try:
            return Codec().decode(storage.read_whole(path, limit=_LARGEST).data, kind)
        except MalformedError:
            raise DamagedFileError(f"{path}: not what was written") from None


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
