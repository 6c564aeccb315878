"""One seat as a process that can be killed: its journal is its disk, the rest is memory.

It runs a small service of its own: control letters begin attempts and tell who left, who is
done and why it all ended. What the service knows is one note in the journal, written in the
same commit as the letters that follow from it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from harness.entropy import SeededEntropy
from harness.letters import Salted
from sottovoce.errors import AbsenceError, SottovoceError, TheirError
from sottovoce.protocols.conversation import Gather
from sottovoce.roles.attempts import Attempt, Stage, Stop
from sottovoce.roles.relay import Letter
from sottovoce.roles.study import Study
from sottovoce.service.durable import DurableSeat, Packer, Sitting
from sottovoce.service.journal import Journal, Outgoing

KEY = bytes(32)
COORDINATOR = "coordinator"
CONTROL = b"control"


class Crash(BaseException):
    """The process is gone."""


class State(msgspec.Struct):
    """What the service of a seat must not forget."""

    attempts: list[tuple[str, int, tuple[str, ...]]] = []
    told: int = 0
    control: dict[str, int] = {}
    heard: dict[str, int] = {}
    gone: list[str] = []
    done: list[str] = []
    stop: tuple[str, int, str, str] | None = None
    finished: bool = False
    withdrawn: bool = False


class CrashingJournal(Journal):
    """A journal whose process dies before or after a commit, when it is told to."""

    bomb: str = ""

    def commit(self, **what: Any) -> None:
        self._explode("before")
        super().commit(**what)
        self._explode("after")

    def _explode(self, when: str) -> None:
        if self.bomb == when:
            self.bomb = ""
            raise Crash(when)


@dataclass(frozen=True)
class Parts:
    """What a simulation is made of: the study, a course for a seat, and how it packs letters."""

    study: Study
    course: Callable[[str], Any]
    relay: Callable[[str, Any], Packer] = field(default=lambda name, course: Salted())
    journal: type[CrashingJournal] = CrashingJournal


class Site:
    """A seat, alive or down."""

    def __init__(self, name: str, parts: Parts, folder: Path, *, seed: int) -> None:
        self.name, self.parts, self.path = name, parts, folder / f"{name}.journal"
        self.study = parts.study
        self.seeds: list[tuple[bytes, bytes]] = []
        self.alive = False
        self.dead = False
        self.boots = 0
        self._seed = seed
        self.boot()

    # Life and death.

    def boot(self) -> None:
        """Start the process: everything is made again from the disk."""
        self.boots += 1
        entropy = SeededEntropy(self._seed << 64 | crc32(self.name.encode()) << 32 | self.boots)
        self.journal = self.parts.journal(self.path, key=KEY, entropy=entropy)
        # Processes crash here, not the machine: there is no need to wait for a disk.
        self.journal._database.execute("PRAGMA synchronous = OFF")
        self.course = self.parts.course(self.name)
        self.seat: DurableSeat[Any] | None = None
        self.held: list[tuple[Letter, int]] = []
        self.read = self.journal.cursor
        self.alive = True
        note = self.journal.note("state")
        self.state = State() if note is None else msgspec.json.decode(note, type=State)
        for index in range(len(self.state.attempts)):
            self._sit(index)
        if self.name == COORDINATOR and not self.state.attempts:
            self._begin(Attempt.first(self.study, Stage.AGREEMENT))
        self._settle()

    def crash(self) -> None:
        """The process is gone; what it did not commit is lost."""
        self.alive = False
        self.journal._database.close()

    # What it does when it is let.

    def pending(self) -> list[Outgoing]:
        return list(self.journal.pending())

    def take(self, letter: Letter, position: int) -> None:
        """Deal with a letter of the mailbox."""
        if letter.session == CONTROL:
            self._control(letter, position)
        elif self.seat is not None and letter.session == self._session():
            self.seat.deliver(letter, position)
        elif self._to_come(letter):
            self.journal.arrived(position)
            self.held.append((letter, position))
            return
        else:
            self.journal.commit(position=position)
        self._settle()
        for early in list(self.held):
            if early in self.held and not self._to_come(early[0]):
                self.held.remove(early)
                self.take(*early)

    def _to_come(self, letter: Letter) -> bool:
        """Whether the letter is of a session that we were not told of yet: it has to wait."""
        attempts = map(self._attempt, range(len(self.state.attempts)))
        known = {one.session(self.study) for one in attempts}
        return letter.session not in known and not self.ended

    def expire(self) -> None:
        assert self.seat is not None
        self.seat.expire()
        self._settle()

    def withdraw(self) -> None:
        """Take consent back: nothing leaves any more but this word."""
        self.state.withdrawn = True
        word = self._letter(COORDINATOR, "withdrawn")
        self.journal.close_outbox([word], notes=self._notes())
        self._close()

    @property
    def gathers(self) -> bool:
        seat = self.seat
        return seat is not None and not seat.finished and isinstance(seat.waiting, Gather)

    @property
    def ended(self) -> bool:
        state = self.state
        return state.finished or state.stop is not None or state.withdrawn

    def declare_gone(self, parties: set[str]) -> None:
        """At the coordinator: the deadline has passed for these."""
        self._tell({"gone": sorted(parties)})
        self._left(parties)
        self._settle()

    # Attempts.

    def _attempt(self, index: int = -1) -> Attempt:
        stage, number, peers = self.state.attempts[index]
        return Attempt(Stage(stage), number, tuple(peers))

    def _session(self) -> bytes:
        return self._attempt().session(self.study)

    def _sit(self, index: int) -> None:
        attempt = self._attempt(index)
        self._close()
        if not self.course.takes_part(attempt) or self.state.stop or self.state.withdrawn:
            return
        session = attempt.session(self.study)
        sitting = Sitting(
            self.name,
            session,
            tuple(one for one in attempt.parties(self.study) if one != self.name),
            self.parts.relay(self.name, self.course),
            self.course.codec(),
            head=repr(attempt).encode(),
        )
        self.seeds.append((session, self.journal.open_session(session, sitting.head).seed))
        self.seat = DurableSeat.begin(
            self.journal, sitting, lambda entropy: self.course.program(attempt, entropy=entropy)
        )
        if index == len(self.state.attempts) - 1:
            self._left(set(self.state.gone))
        self._keep(attempt)

    def _keep(self, attempt: Attempt) -> None:
        seat = self.seat
        if seat is not None and seat.finished and seat.failure is None:
            self.course.keep(attempt, seat.result)
            self.seat = None

    def _close(self) -> None:
        if self.seat is not None and not self.seat.finished:
            self.seat.close()
        self.seat = None

    # The service.

    def _settle(self) -> None:
        """Keep what is finished, say so once, and at the coordinator decide what follows."""
        if self.ended or not self.state.attempts:
            return
        attempt = self._attempt()
        if self.seat is not None and self.seat.finished and self.seat.failure is None:
            self._keep(attempt)
        if self.state.told < len(self.state.attempts):
            failure = self.seat.failure if self.seat is not None else None
            if failure is not None:
                self._report(attempt, failure)
            elif self.seat is None:
                self._done(attempt)
        if self.name == COORDINATOR:
            self._decide(attempt)

    def _done(self, attempt: Attempt) -> None:
        self.state.told = len(self.state.attempts)
        if self.name == COORDINATOR:
            self.state.done.append(self.name)
            self.journal.commit(notes=self._notes())
        else:
            self._say(COORDINATOR, "done", len(self.state.attempts))

    def _report(self, attempt: Attempt, failure: SottovoceError) -> None:
        self.state.told = len(self.state.attempts)
        party = failure.party if isinstance(failure, TheirError) else ""
        if self.name == COORDINATOR:
            self._failed(attempt, self.name, type(failure).__name__, party)
        else:
            self._say(
                COORDINATOR, "failed", [type(failure).__name__, party, len(self.state.attempts)]
            )

    def _failed(self, attempt: Attempt, seat: str, kind: str, party: str) -> None:
        """At the coordinator: another attempt without who is missing, or the end for all."""
        missing = ({*self.state.gone, party} & set(attempt.parties(self.study))) - {""}
        if kind != "AbsenceError" or not missing:
            self._stop(Stop(attempt.stage, attempt.number, kind, party or seat))
            return
        try:
            after = self.course.following(attempt, missing=missing)
        except AbsenceError as error:
            self._stop(Stop(attempt.stage, attempt.number, "AbsenceError", error.party or party))
        else:
            self.state.gone = sorted({*self.state.gone, *missing})
            self._begin(after)

    def _decide(self, attempt: Attempt) -> None:
        here = set(attempt.parties(self.study)) - set(self.state.gone)
        if self.ended or not here <= set(self.state.done):
            return
        if attempt.stage is Stage.TRAINING:
            self.state.finished = True
            self._tell({"finished": True})
            return
        following = list(Stage)[list(Stage).index(attempt.stage) + 1]
        peers = [one for one in self.course.peers if one not in self.state.gone]
        try:
            self._begin(Attempt.first(self.study, following, peers=peers))
        except AbsenceError:
            self._stop(Stop(following, 1, "AbsenceError", (self.state.gone or [""])[0]))

    def _begin(self, attempt: Attempt) -> None:
        record = (attempt.stage.value, attempt.number, attempt.peers)
        self.state.attempts.append(record)
        self.state.done = []
        self._tell({"begin": record})
        self._sit(len(self.state.attempts) - 1)
        self._settle()

    def _stop(self, stop: Stop) -> None:
        self.state.stop = (stop.stage.value, stop.attempt, stop.kind, stop.party)
        self._tell({"stop": self.state.stop})
        self._close()

    def _left(self, parties: set[str]) -> None:
        for party in sorted(parties):
            here = self.seat is not None and party in self._attempt().parties(self.study)
            if here and party != self.name and self.seat is not None:
                self.seat.leave(party)

    # Control letters.

    def _control(self, letter: Letter, position: int) -> None:
        (word, value), state = msgspec.json.decode(letter.body), self.state
        if self.ended or letter.number < state.heard.get(letter.sender, 0):
            self.journal.commit(position=position)
            return
        state.heard[letter.sender] = letter.number + 1
        if letter.sender == COORDINATOR:
            self._hear(word, value)
        else:
            self._hear_at_the_coordinator(letter.sender, word, value)
        # What a word leads to is committed before or with it, and said twice it changes nothing.
        self.journal.commit(notes=self._notes(), position=position)
        if word == "begin":
            self._sit(len(state.attempts) - 1)
        elif self.ended:
            self._close()

    def _hear(self, word: str, value: Any) -> None:
        match word:
            case "gone":
                self.state.gone = sorted({*self.state.gone, *value})
                self._left(set(value))
            case "begin":
                stage, number, peers = value
                self.state.attempts.append((stage, number, tuple(peers)))
            case "stop":
                self.state.stop = tuple(value)
            case "finished":
                self.state.finished = True

    def _hear_at_the_coordinator(self, sender: str, word: str, value: Any) -> None:
        current = len(self.state.attempts)
        match word:
            case "failed" if value[2] == current:
                self._failed(self._attempt(), sender, *value[:2])
            case "withdrawn":
                self.declare_gone({sender})
            case "done" if value == current:
                self.state.done.append(sender)

    def _tell(self, words: dict[str, Any]) -> None:
        """To everybody: the letters, and what we know now, in one commit."""
        if "gone" in words:
            self.state.gone = sorted({*self.state.gone, *words["gone"]})
        others = [one for one in self.study.roster.names if one != self.name]
        letters = [self._letter(to, word, value) for word, value in words.items() for to in others]
        self.journal.commit(letters=letters, notes=self._notes())

    def _say(self, to: str, word: str, value: Any = None) -> None:
        letter = self._letter(to, word, value)
        self.journal.commit(letters=[letter], notes=self._notes())

    def _letter(self, to: str, word: str, value: Any = None) -> Outgoing:
        number = self.state.control.get(to, 0)
        self.state.control[to] = number + 1
        body = msgspec.json.encode([word, value])
        return Outgoing(Letter(CONTROL, self.name, to, number, body), word)

    def _notes(self) -> dict[str, bytes]:
        return {"state": msgspec.json.encode(self.state)}
