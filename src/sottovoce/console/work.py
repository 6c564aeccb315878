"""The console's long work; each action is the same function that a command calls.

Joining, evaluating and labelling take long, so they run as tasks beside the pages. Decisions of a
person wait for a form: consent to the roster, or approval of each letter.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any

from sottovoce.cli.answers.alone import measure_alone
from sottovoce.cli.source_choice import SourceChoice, mark_begun, recall, remember
from sottovoce.cli.terminal.watching import in_words
from sottovoce.config.study_file import parse_study
from sottovoce.course.news import SeatWaiting, StageBegan, StageEnded
from sottovoce.course.stage_progress import StageProgress
from sottovoce.errors import InputError, SottovoceError
from sottovoce.keyfiles import storage
from sottovoce.node.api import AskOptions, Classified, ConsentBy, ConsentQuestion, JoinOptions
from sottovoce.node.approval import LetterQuestion, OpenGate, Request
from sottovoce.node.events import Event as StudyEvent
from sottovoce.node.events import Moved
from sottovoce.node.site.asking import classify, evaluate
from sottovoce.node.site.joining import join
from sottovoce.node.site.shown_card import keep_consent
from sottovoce.node.site.site_folder import JoinedStudy, Site
from sottovoce.study.card.stage_bytes import stage_bytes
from sottovoce.text.documents import Document

_KEPT_LINES = 200


@dataclass
class Activity:
    """The console's activity in one study."""

    task: asyncio.Task[Any] | None = None
    asking: asyncio.Task[Any] | None = None
    question: str = ""
    error: str = ""
    said: list[str] = field(default_factory=list)
    moves: dict[tuple[str, str], StageProgress] = field(default_factory=dict)
    expected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    waits: SeatWaiting | None = None
    consent: tuple[ConsentQuestion, asyncio.Future[str]] | None = None
    letter: tuple[Request, Future[bool]] | None = None

    @property
    def joins(self) -> bool:
        """Whether this console takes part in the study; a seat that helps stays to serve others."""
        return self.task is not None and not self.task.done()

    @property
    def asks(self) -> bool:
        """Whether an evaluation or a query is running."""
        return self.asking is not None and not self.asking.done()

    @property
    def what(self) -> str:
        """Its present activity: a question is named before the study that it belongs to."""
        return self.question if self.asks else "taking part"


@dataclass
class _PageGate:
    """Asks the person at the page about each letter."""

    activity: Activity
    changed: Callable[[], None]
    closed: Event
    _turn: Lock = field(default_factory=Lock)

    def ask(self, question: LetterQuestion) -> bool:
        """The person's answer; called in a thread, which waits. Seats take turns."""
        with self._turn:
            question.check_wanted()
            if self.closed.is_set():
                raise CancelledError
            answer: Future[bool] = Future()
            self.activity.letter = (question.request, answer)
            self.changed()
            try:
                return answer.result()
            finally:
                self.activity.letter = None
                self.changed()


class ConsoleWork:
    """All activities of this console, by study."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._activities: dict[str, Activity] = {}
        self._listeners: set[asyncio.Queue[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = Event()

    def of(self, study: str) -> Activity:
        """The activity in a study."""
        return self._activities.setdefault(study, Activity())

    def listen(self) -> "asyncio.Queue[None]":
        """A queue that gets every change."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[None] = asyncio.Queue(maxsize=1)
        self._listeners.add(queue)
        return queue

    def unlisten(self, queue: "asyncio.Queue[None]") -> None:
        """Remove a queue."""
        self._listeners.discard(queue)

    def changed(self) -> None:
        """Tell every open page; also from threads."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        for queue in self._listeners:
            if queue.empty():
                queue.put_nowait(None)

    def begin_join(self, study: JoinedStudy, fields: SourceChoice | None, *, each: bool) -> None:
        """Take part or continue; with `each` a person approves each message."""
        described = study.described
        activity = self.of(study.id)
        known = fields or recall(self.site, study)
        if fields is not None:
            remember(self.site, study, fields)
        mark_begun(study)
        source = None if known is None else (lambda: known.read(described.plan))
        options = JoinOptions(
            parse_study,
            self._consent(study, activity),
            policy=self.site.policy,
            gate=_PageGate(activity, self.changed, self._closed) if each else OpenGate(),
            on_event=self._heard(activity),
        )
        if activity.joins:
            raise InputError(f"study {study.id}: this console already takes part in it")
        activity.error = ""
        activity.expected = stage_bytes(described.rehearsed())
        following = join(study.membership, source, options=options)
        activity.task = asyncio.create_task(self._run(activity, following, "taking part"))

    def begin_evaluation(self, study: JoinedStudy) -> None:
        """Evaluate with the others; figures are kept as they come."""
        described, known = study.described, recall(self.site, study)
        if known is None:
            raise InputError(f"study {study.id}: this site joined it without documents")
        options = AskOptions(parse_study, on_event=self._heard(self.of(study.id)))

        async def run() -> None:
            documents = await asyncio.to_thread(known.read, described.plan)
            await asyncio.to_thread(measure_alone, study, described, documents)
            await evaluate(study.membership, documents, options=options)

        self._start(study.id, "evaluating", run())

    def begin_labelling(
        self, study: JoinedStudy, documents: list[Document], deliver: Callable[[Classified], None]
    ) -> None:
        """Ask for the labels of documents; `deliver` writes them to a file of this site."""
        options = AskOptions(parse_study, on_event=self._heard(self.of(study.id)))
        asked = classify(study.membership, documents, options=options, deliver=deliver)
        self._start(study.id, "labelling", asked)

    def _start(self, study: str, what: str, program: Coroutine[Any, Any, Any]) -> None:
        activity = self.of(study)
        if activity.asks:
            program.close()
            raise InputError(f"study {study}: it is busy: {activity.what}")
        activity.question, activity.error = what, ""
        activity.asking = asyncio.create_task(self._run(activity, program, what))

    async def _run(self, activity: Activity, program: Coroutine[Any, Any, Any], what: str) -> None:
        try:
            await program
            activity.said.append(f"{what}: done")
        except SottovoceError as error:
            activity.error = str(error)
        finally:
            activity.moves.clear()
            activity.waits = None
            self.changed()

    def _consent(self, study: JoinedStudy, activity: Activity) -> Any:
        async def consent(question: ConsentQuestion) -> bool | ConsentBy:
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            activity.consent = (question, answer)
            self.changed()
            try:
                name = await answer
            finally:
                activity.consent = None
                self.changed()
            if not name:
                return False
            keep_consent(study.folder, question, by=name, at=time.time())
            return ConsentBy(name, compared=True)

        return consent

    def _heard(self, activity: Activity) -> Callable[[StudyEvent], None]:
        def on_event(event: StudyEvent) -> None:
            match event:
                case Moved() if (event.seat, event.stage) in activity.moves:
                    activity.moves[event.seat, event.stage].note(event, time.time())
                    activity.waits = None
                case SeatWaiting():
                    activity.waits = event
                case StageBegan():
                    place = (event.seat, event.stage)
                    known = activity.expected.get(place, 0)
                    activity.moves[place] = StageProgress(time.time(), known)
                case StageEnded():
                    activity.moves.pop((event.seat, event.stage), None)
            words = in_words(event)
            if words:
                activity.said.append(f"{time.strftime('%H:%M:%S', time.gmtime())} UTC  {words}")
                del activity.said[:-_KEPT_LINES]
            self.changed()

        return on_event

    async def close(self) -> None:
        """Stop all activities; they continue when they are started again."""
        running = [(value.task, value.asking) for value in self._activities.values()]
        tasks = [task for both in running for task in both if task is not None]
        for task in tasks:
            task.cancel()
        # A thread that waits for a person would keep the process from ending.
        self._closed.set()
        for activity in self._activities.values():
            if activity.letter is not None:
                activity.letter[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def labelled_path(study: JoinedStudy, name: str) -> Path:
    """The path of a labelled file: in the study's folder, under a safe name."""
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in Path(name).name)[:80]
    folder = study.folder / "labelled"
    storage.make_folder(folder)
    return folder / f"{int(time.time())}-{safe or 'file.csv'}"
