"""Runs any number of party programs against each other in memory, every message as its bytes."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sottovoce.errors import AbsenceError
from sottovoce.protocols.conversation import Gather, Party
from sottovoce.protocols.seat import Packet, Seat
from sottovoce.protocols.view import Traffic, View
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of


class Meddler:
    """Passes messages between the parties unchanged; tests derive classes that change them."""

    def carry(self, packet: Packet) -> Iterable[Packet]:
        """Return the packets that arrive in place of `packet`: none, the same one, or others."""
        return (packet,)

    def silent(self) -> Iterable[Packet]:
        """Return the packets that were held back, once every party waits."""
        return ()

    def crashes(self, party: str, step: int) -> bool:
        """Whether `party` crashes before its action number `step` (0 is its first)."""
        del party, step
        return False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a conversation: each party's result and view, and the traffic."""

    results: Mapping[str, Any] = field(repr=False)
    views: Mapping[str, View]
    traffic: Traffic


class Conversation:
    """Runs party programs against each other, always in the same order.

    Packets are delivered in the order in which they were sent. When none is left, the parties that
    crashed are declared gone. Then the first party (in the order given) that still gathers is told
    that its time is up. If nobody gathers, no program can continue: an `AbsenceError` says who
    waits for what. `gone` are the parties that crashed, `failed` is the party whose program raised
    an error.
    """

    def __init__(
        self,
        programs: Mapping[str, Party[Any]],
        *,
        session: bytes = b"",
        codec: Codec | None = None,
        meddler: Meddler | None = None,
        recorded: bool = True,
        on_steps: Callable[[int], None] | None = None,
    ) -> None:
        """Seat every program under its name; `recorded` keeps what each of them received.

        `on_steps` is called with the number of steps that follow, whenever a program knows it.
        """
        self._on_steps = on_steps
        self.traffic = Traffic()
        self.gone: list[str] = []
        self.failed = ""
        self._codec = codec or Codec()
        self._meddler = meddler or Meddler()
        self._under_way: deque[Packet] = deque()
        self._seats = {
            name: Seat(
                name,
                self._watched(name, program),
                partners=[other for other in programs if other != name],
                session=session,
                codec=self._codec,
                recorded=recorded,
            )
            for name, program in programs.items()
        }

    @property
    def views(self) -> dict[str, View]:
        """The messages that each party has received so far, also after a failure."""
        return {name: seat.view for name, seat in self._seats.items()}

    def run(self) -> Outcome:
        """Run all programs to their end; the error of a program carries a note with its name."""
        try:
            for name, seat in self._seats.items():
                self._step(name, seat.start)
            while self._under_way or self._nudge():
                if self._under_way:
                    self._deliver(self._under_way.popleft())
            for name, seat in self._seats.items():
                if name not in self.gone:
                    self._step(name, seat.check_surplus)
        finally:
            for seat in self._seats.values():
                seat.close()
        results = {name: seat.result for name, seat in self._seats.items() if name not in self.gone}
        return Outcome(results, self.views, self.traffic)

    def _deliver(self, packet: Packet) -> None:
        if packet.recipient in self.gone:
            return
        seat = self._seats[packet.recipient]
        self._step(packet.recipient, partial(seat.accept, packet.sender, packet))

    def _step(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except _Crash:
            self.gone.append(name)
        except Exception as error:
            self.failed = name
            error.add_note(f"in the program of {name!r}")
            raise
        for packet in self._seats[name].take():
            self.traffic.count(
                packet.sender,
                packet.recipient,
                kind=tag_of(packet.body),
                size=len(packet.body),
            )
            self._under_way.extend(self._meddler.carry(packet))
        waiting = self._seats[name].waiting
        if self._on_steps is not None and waiting is not None and waiting.steps_left is not None:
            self._on_steps(waiting.steps_left)

    def _nudge(self) -> bool:
        """Continue when no packet is on its way: report a party that left, or end a gather."""
        held = list(self._meddler.silent())
        if held:
            self._under_way.extend(held)
            return True
        unfinished = {name: seat for name, seat in self._seats.items() if not seat.finished}
        if not unfinished:
            return False
        for name, seat in unfinished.items():
            for gone in self.gone:
                if not seat.has_left(gone):
                    self._step(name, partial(seat.leave, gone))
                    return True
        for name, seat in unfinished.items():
            if isinstance(seat.waiting, Gather):
                self._step(name, seat.expire)
                return True
        stuck = "; ".join(f"{name} {seat.describe()}" for name, seat in unfinished.items())
        raise AbsenceError(f"no program can continue: {stuck}")

    def _watched(self, name: str, program: Party[Any]) -> Party[Any]:
        """Run the program, which the meddler may stop before any of its actions."""
        step, value = 0, None
        error: BaseException | None = None
        while True:
            try:
                action = program.send(value) if error is None else program.throw(error)
            except StopIteration as stop:
                return stop.value
            if self._meddler.crashes(name, step):
                program.close()
                raise _Crash
            step, error = step + 1, None
            try:
                value = yield action
            except GeneratorExit:
                program.close()
                raise
            except Exception as thrown:  # noqa: BLE001 - handed to the program, which judges it
                error = thrown


class _Crash(Exception):  # noqa: N818 - nothing went wrong: the meddler wanted it
    """A party that the meddler stopped."""


def converse(
    programs: Mapping[str, Party[Any]],
    *,
    session: bytes = b"",
    codec: Codec | None = None,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run all programs together and return their outcome."""
    return Conversation(programs, session=session, codec=codec, meddler=meddler).run()
