"""The coordinator's folder of one study: its text, who was invited, who enrolled, what was ordered.

COORDINATOR/studies/ID/study.toml          the text that sites get
COORDINATOR/studies/ID/address             where its people reach the server
COORDINATOR/studies/ID/invitations/…       a hash of every token, its seats, its expiry
COORDINATOR/studies/ID/seats/…             the public identity of every seat that enrolled
COORDINATOR/studies/ID/orders/…            cancel or close, given by a command while the server runs
COORDINATOR/studies/ID/status.json         how far it is, written by the server

Commands and the server share these files, which are written atomically; everything else in the
folder belongs to the server's process.
"""

import hmac
from base64 import b32encode
from pathlib import Path
from typing import TypeVar

from sottovoce.config.study_file import StudyDescription
from sottovoce.course.control import COORDINATOR
from sottovoce.course.phases import OVER, Phase, admits
from sottovoce.course.training.inputs import Order
from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedFileError, InputError, LostSeatError, MalformedError
from sottovoce.hints import ShellCommand
from sottovoce.keyfiles import storage
from sottovoce.node.coordinator import study_statuses
from sottovoce.node.invitations import hash_of
from sottovoce.node.memberships import InvitationToken, StudyStatus
from sottovoce.protocols.identities import digest
from sottovoce.protocols.sealing import KEY_BYTES
from sottovoce.wire import Codec, Value

_LARGEST = 8 * 2**20
TOKEN_BYTES = 32
V = TypeVar("V", bound=Value)


class Ticket(Value, frozen=True):
    """The server's record of an invitation."""

    organisation: str
    seats: tuple[str, ...]
    token_hash: bytes
    expires: int


class EnrolledSeat(Value, frozen=True):
    """A seat that enrolled: its key, and the invitation it used."""

    name: str
    public: bytes
    token_hash: bytes


class Registry:
    """One study of a coordinator, on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def id(self) -> str:
        """The study's name on this server."""
        return self.folder.name

    @classmethod
    def create(cls, studies: Path, text: str, *, address: str, entropy: Entropy) -> "Registry":
        """Make a folder for a new study, under a new name.

        It is hidden until it is `opened`, so that nobody sees half a study after a crash.
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
        """Put the complete study in its place."""
        storage.make_folder(studies)
        return Registry(self.folder.rename(studies / self.id))

    @property
    def text(self) -> str:
        """The study's text."""
        return study_statuses.study_text(self.folder)

    @property
    def address(self) -> str:
        """The server's address in the invitations; empty if none was given."""
        path = self.folder / "address"
        return storage.read_whole(path, limit=_LARGEST).data.decode() if path.exists() else ""

    @address.setter
    def address(self, address: str) -> None:
        path = self.folder / "address"
        storage.write_whole(path, address.encode(), mode=storage.SECRET_MODE, replace=True)

    # Invitations.

    def invite(
        self, described: StudyDescription, organisation: str, *, expires: float, entropy: Entropy
    ) -> InvitationToken:
        """Make a new token for an organisation; an older one becomes void."""
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

    def check_open(self, described: StudyDescription, organisation: str) -> Phase:
        """Refuse to invite if nobody can join any more; otherwise return the study's phase.

        A study that has begun admits nobody new, but an organisation that lost its disk can return.
        """
        now = self.status(described)
        phase = Phase(now.phase)
        if self.ordered(Order.CLOSE if phase is Phase.FINISHED else Order.CANCEL) is not None:
            phase = Phase.CLOSED if phase is Phase.FINISHED else Phase.STOPPED
        again = ShellCommand(f"sottovoce study create --from {self.id}")
        if phase in OVER:
            because = f": {now.reason}" if now.reason else ""
            raise InputError(
                f"study {self.id}: it is {phase}{because}, and invites nobody",
                hints=(again,),
            )
        seats = {seat.name for seat in described.seats if seat.organisation == organisation}
        if not admits(phase, enrolled=not seats.isdisjoint(now.enrolled)):
            raise InputError(
                f"study {self.id}: enrolment is over ({phase}), and {organisation} did not join "
                f"in time",
                hints=(again,),
            )
        return phase

    def revoke(self, described: StudyDescription, organisation: str) -> None:
        """Make an organisation's invitation void; one that already joined stays."""
        seats = {seat.name for seat in described.seats if seat.organisation == organisation}
        came = sorted(seats & set(self.seats()))
        if came:
            raise InputError(
                f"study {self.id}: {organisation} already enrolled as {', '.join(came)}",
                hints=(ShellCommand(f"sottovoce study cancel {self.id}"),),
            )
        path = self._ticket_path(organisation)
        if not path.exists():
            raise InputError(
                f"study {self.id}: {organisation} has no open invitation",
                hints=(ShellCommand("sottovoce study list"),),
            )
        path.unlink()

    def tickets(self) -> list[Ticket]:
        """Every open invitation."""
        return [self._read(path, Ticket) for path in _files(self.folder / "invitations")]

    def admitted(self, token: bytes, *, now: float) -> Ticket:
        """The ticket of a token; raises a refusal with its reason."""
        given_hash = hash_of(token)
        for ticket in self.tickets():
            if hmac.compare_digest(ticket.token_hash, given_hash):
                if now > ticket.expires:
                    raise InputError(
                        f"invitation of {ticket.organisation!r}: it expired",
                        hints=("ask the coordinator for a new one, by `study invite NAME` there",),
                    )
                return ticket
        raise InputError(
            f"study {self.id}: this token belongs to no open invitation",
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
        gone_on = "the others continue without this site, or begin again: docs/backup.md"
        invite = "ask the coordinator for a new invitation, by `study invite NAME` there"
        if known is not None and known.token_hash == ticket.token_hash:
            raise InputError(
                f"seat {seat!r}: this invitation was already used with another key",
                hints=(invite if replacing else gone_on,),
            )
        if known is not None and not replacing:
            raise LostSeatError(
                f"seat {seat!r}: it enrolled with another key; only a peer may return with a new "
                f"key, and only after the training",
                hints=(gone_on,),
            )
        self._write(self.folder / "seats" / seat, EnrolledSeat(seat, public, ticket.token_hash))

    def seats(self) -> dict[str, EnrolledSeat]:
        """Every enrolled seat, by its name."""
        enrolled = (self._read(path, EnrolledSeat) for path in _files(self.folder / "seats"))
        return {path.name: path for path in enrolled}

    # Orders and status.

    def order(self, what: Order, reason: str = "") -> None:
        """Leave an order for the server, which looks here while it runs and when it starts."""
        storage.write_whole(
            self.folder / "orders" / what,
            reason.encode(),
            mode=storage.SECRET_MODE,
            replace=True,
        )

    def ordered(self, what: Order) -> str | None:
        """The reason of an order, if there is one."""
        path = self.folder / "orders" / what
        if not path.exists():
            return None
        return storage.read_whole(path, limit=_LARGEST).data.decode()

    def write_status(self, status: StudyStatus) -> None:
        """Write the study's status for commands."""
        study_statuses.write_status(self.folder, status)

    def status(self, described: StudyDescription) -> StudyStatus:
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
