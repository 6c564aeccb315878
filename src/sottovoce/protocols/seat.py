"""A seat runs one party's program, keeps its inbox and checks the order of its messages.

The in-memory runner, the network and the fault simulator use the same seat: they give it packets,
tell it who left and when the time for gathering is up, and deliver what it sends. A packet names
its session, sender and number. A message of another session or attempt, one out of order, or one
repeated with a change is refused, and the error names the party. The very same packet again (a
resend after a crash) is ignored.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sottovoce.entropy import SystemEntropy
from sottovoce.errors import (
    AbsenceError,
    MisuseError,
    TheirError,
    ViolationError,
)
from sottovoce.protocols.conversation import Action, Ask, Gather, Party, Receive, Send
from sottovoce.protocols.messages import Message, kind_of
from sottovoce.protocols.view import Received, View
from sottovoce.wire import Codec, Value
from sottovoce.wire.codec import tag_of

R = TypeVar("R")

# Tags are compared and never shown, so one nonce is enough for all of them.
_NONCE = bytes(12)
# The number of messages by which a sender may be ahead of the program before it is refused.
MAX_WAITING = 1024


class Packet(Value, frozen=True):
    """A message on its way: which session, from whom to whom, its number, and its bytes."""

    session: bytes
    sender: str
    recipient: str
    number: int
    body: bytes


@dataclass
class _Line:
    """The messages from one partner, and to it."""

    sent: int = 0
    digests: list[bytes] = field(default_factory=list)
    waiting: deque[Received] = field(default_factory=deque)
    # Kinds that a gather no longer waits for: each is discarded once when it comes.
    missed: list[type[Message]] = field(default_factory=list)
    left: bool = False


@dataclass(frozen=True, repr=False)
class _Next:
    """The next input of a waiting program: a value, or an error to raise."""

    value: Any = None
    error: TheirError | None = None

    def into(self, program: Party[Any]) -> Action:
        return program.send(self.value) if self.error is None else program.throw(self.error)


class Seat(Generic[R]):
    """One party in one session."""

    def __init__(
        self,
        name: str,
        program: Party[R],
        *,
        partners: Collection[str],
        session: bytes = b"",
        codec: Codec | None = None,
        recorded: bool = True,
    ) -> None:
        """Seat `program` under `name`; only `partners` may send to it or be sent to.

        Where it is not `recorded`, the view stays empty: it would hold every message.
        """
        self.name = name
        self._recorded = recorded
        self.view = View(name)
        self.waiting: Receive | Gather | None = None
        self.finished = False
        self.steps = 0
        self._program = program
        self._session = session
        self._codec = codec or Codec()
        self._lines = {partner: _Line() for partner in partners}
        self._outbox: list[Packet] = []
        self._written: tuple[Message, bytes] | None = None
        self._reduced: set[str] = set()
        self._fingerprints = Fingerprints()
        self._result: R | None = None

    def __repr__(self) -> str:
        return f"Seat({self.name!r}, {self.describe()})"

    def start(self) -> None:
        """Run the program up to its first wait."""
        if self.steps or self.finished:
            raise MisuseError(f"{self.name}: the program was started already")
        self._go(_Next())

    def take(self) -> list[Packet]:
        """Return the packets that the program sent since the last call, in order."""
        packets, self._outbox = self._outbox, []
        return packets

    def deliver(self, sender: str, data: bytes) -> None:
        """Take a packet's bytes from `sender`, and continue the program if it waited for them."""
        try:
            self._line_from(sender)
            packet = self._codec.decode(data, Packet)
        except TheirError as error:
            self.refuse(error.by(sender))
        else:
            self.accept(sender, packet)

    def accept(self, sender: str, packet: Packet) -> None:
        """Take in a decoded packet of `sender`; `deliver` takes its bytes."""
        try:
            line = self._line_from(sender)
            if line.left or not self._is_next(sender, line, packet):
                return
            self._admit(sender, line, packet.body)
        except TheirError as error:
            self.refuse(error.by(sender))
        else:
            self._go(self._ready())

    def refuse(self, error: TheirError) -> None:
        """Raise the error inside the program, which may be able to continue without the party."""
        if self.waiting is None:
            raise error
        self._go(_Next(error=error))

    def came(self, packet: Packet) -> bool:
        """Whether this very packet was taken in before, so that it is a resend."""
        line = self._lines.get(packet.sender)
        if line is None or packet.session != self._session or packet.recipient != self.name:
            return False
        known = 0 <= packet.number < len(line.digests)
        return known and self._fingerprints.of(packet.body) == line.digests[packet.number]

    def expire(self) -> None:
        """End a gathering: the program continues with the messages that came."""
        if not isinstance(self.waiting, Gather):
            raise MisuseError(f"{self.name}: expected a program that gathers, {self.describe()}")
        self._go(_Next(self._close(self.waiting)))

    def leave(self, partner: str) -> None:
        """Stop awaiting and accepting messages of `partner`, which has left for good."""
        self._lines[partner].left = True
        self._go(self._ready())

    def has_left(self, partner: str) -> bool:
        """Whether this seat was told that `partner` has left."""
        return self._lines[partner].left

    def check_surplus(self) -> None:
        """Refuse every message that the finished program never waited for."""
        for partner, line in self._lines.items():
            self._drop_missed(line)
            if line.waiting:
                kind = type(line.waiting[0].message).__name__
                raise ViolationError(
                    f"{self.name} expected nothing more, found {kind}", party=partner
                )

    def close(self) -> None:
        """Stop the program where it is, as a crash would."""
        self._program.close()
        self.waiting, self.finished = None, True

    @property
    def result(self) -> R:
        """The value that the program returned."""
        if not self.finished:
            raise MisuseError(f"{self.name}: the program has no result yet, {self.describe()}")
        return self._result  # type: ignore[return-value]  # finished: R may itself be None

    @property
    def late(self) -> tuple[str, ...]:
        """The parties whose message the program still waits for."""
        match self.waiting:
            case Receive(sender, _):
                return (sender,)
            case Gather(_, senders, _):
                lines = {name: self._lines[name] for name in senders}
                return tuple(
                    name for name in senders if not (lines[name].waiting or lines[name].left)
                )
        return ()

    def describe(self) -> str:
        """Return what this party is doing, in words for an error message."""
        match self.waiting:
            case Receive(sender, kinds):
                return f"waits for {_names(kinds)} from {sender!r}"
            case Gather(kind, _, _):
                return f"gathers {kind.__name__} from {', '.join(map(repr, self.late))}"
        return "has finished" if self.finished else "has not started"

    def _line_from(self, sender: str) -> _Line:
        if sender not in self._lines:
            raise ViolationError(f"{self.name} expected no message from this party")
        return self._lines[sender]

    def _is_next(self, sender: str, line: _Line, packet: Packet) -> bool:
        """Whether the packet is its sender's next one (False: it came before, unchanged)."""
        if packet.session != self._session:
            raise ViolationError(
                f"{self.name} expected a message of this session, and this is of another"
            )
        if (packet.sender, packet.recipient) != (sender, self.name):
            raise ViolationError(
                f"{self.name} expected a message from {sender!r} to {self.name!r}, "
                f"found one from {packet.sender!r} to {packet.recipient!r}"
            )
        digest = self._fingerprints.of(packet.body)
        if 0 <= packet.number < len(line.digests):
            if digest != line.digests[packet.number]:
                raise ViolationError(
                    f"{self.name} expected message {packet.number} as it came before, "
                    "and it is changed"
                )
            return False
        if packet.number != len(line.digests):
            raise ViolationError(
                f"{self.name} expected message {len(line.digests)}, found message {packet.number}"
            )
        line.digests.append(digest)
        return True

    def _admit(self, sender: str, line: _Line, body: bytes) -> None:
        if len(line.waiting) >= MAX_WAITING:
            raise ViolationError(
                f"{self.name} expected at most {MAX_WAITING} messages ahead of time, found more"
            )
        message = self._codec.decode(body, kind_of(tag_of(body)))
        late = type(message) in line.missed
        received = Received(sender, message, len(body), late)
        if self._recorded:
            self.view.received.append(received)
        line.waiting.append(received)
        if self.finished:
            self.check_surplus()

    def _drop_missed(self, line: _Line) -> None:
        while line.waiting and type(line.waiting[0].message) in line.missed:
            line.missed.remove(type(line.waiting.popleft().message))

    def _ready(self) -> "_Next | None":
        """Return the input with which the program can continue, or None while it must wait."""
        match self.waiting:
            case Receive():
                return self._received(self.waiting)
            case Gather():
                return self._gathered(self.waiting)
        return None

    def _received(self, wait: Receive) -> "_Next | None":
        line = self._lines[wait.sender]
        self._drop_missed(line)
        if line.waiting:
            message = line.waiting.popleft().message
            if isinstance(message, wait.kinds):
                return _Next(message)
            return self._refusal(wait.sender, _names(wait.kinds), message)
        if line.left:
            absence = f"left while {self.name} waited for {_names(wait.kinds)}"
            return _Next(error=AbsenceError(absence, party=wait.sender))
        return None

    def _gathered(self, wait: Gather) -> "_Next | None":
        lines = {sender: self._lines[sender] for sender in wait.senders}
        for sender, line in lines.items():
            self._drop_missed(line)
            if line.waiting and not isinstance(line.waiting[0].message, wait.kind):
                return self._refusal(sender, wait.kind.__name__, line.waiting.popleft().message)
            try:
                self._reduce(wait, sender, line)
            except TheirError as error:
                line.waiting.popleft()
                return _Next(error=error.by(sender))
        if all(line.waiting or line.left for line in lines.values()):
            return _Next(self._close(wait))
        return None

    def _reduce(self, wait: Gather, sender: str, line: _Line) -> None:
        """Keep the part of a message that the program wants."""
        if wait.keep is not None and line.waiting and sender not in self._reduced:
            self._reduced.add(sender)
            received = line.waiting[0]
            line.waiting[0] = replace(received, message=wait.keep(sender, received.message))

    def _close(self, wait: Gather) -> dict[str, Message]:
        came = {}
        for sender in wait.senders:
            line = self._lines[sender]
            if line.waiting:
                came[sender] = line.waiting.popleft().message
            else:
                line.missed.append(wait.kind)
        return came

    def _refusal(self, sender: str, expected: str, message: Message) -> "_Next":
        wrong = f"{self.name} expected {expected}, found {type(message).__name__}"
        return _Next(error=ViolationError(wrong, party=sender))

    def _go(self, ready: "_Next | None") -> None:
        """Run the program until it waits for a message that has not come, or returns."""
        while ready is not None:
            self.waiting = None
            try:
                action = ready.into(self._program)
                self.steps += 1
                self.waiting = self._perform(action)
            except StopIteration as stop:
                self._result, self.finished = stop.value, True
                return
            except BaseException:
                self.finished = True
                raise
            ready = self._ready() if self.waiting else _Next()

    def _perform(self, action: Action) -> Receive | Gather | None:
        """Do what the program asks for, and return what it waits for now."""
        match action:
            case Send(to, message):
                self._post(to, message)
                return None
            case Ask(to, question):
                self._post(to, question)
                return Receive(to, (question.answer_kind(),))
            case Receive(sender, _):
                self._known(sender)
                return action
            case Gather(_, senders, _):
                for sender in senders:
                    self._known(sender)
                self._reduced.clear()
                return action
        raise MisuseError(
            f"{self.name}: expected a program that yields actions, found {type(action).__name__}"
        )

    def _known(self, partner: str) -> _Line:
        if partner not in self._lines:
            raise MisuseError(f"{self.name}: expected a partner of this session, found {partner!r}")
        return self._lines[partner]

    def _post(self, to: str, message: Message) -> None:
        line = self._known(to)
        # A message to several partners is encoded once.
        if self._written is None or self._written[0] is not message:
            self._written = message, self._codec.encode(message)
        body = self._written[1]
        self._outbox.append(Packet(self._session, self.name, to, line.sent, body))
        line.sent += 1


class Fingerprints:
    """16 bytes that identify a body, under a key that nobody else ever sees.

    A tag of GMAC costs a tenth of a digest. It is compared here and shown to nobody, so without the
    key nobody can make two bodies with the same tag.
    """

    def __init__(self, key: bytes = b"") -> None:
        """Draw a key for this process, unless there is one of 16 or 32 bytes for another, too."""
        self._mac = AESGCM(key or SystemEntropy().read(16))

    def of(self, body: bytes) -> bytes:
        """The fingerprint of a body."""
        return self._mac.encrypt(_NONCE, b"", body)


def _names(kinds: tuple[type[Message], ...]) -> str:
    return " or ".join(kind.__name__ for kind in kinds)
