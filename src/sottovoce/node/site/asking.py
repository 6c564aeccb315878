"""A peer's work with a trained study: ask for labels, and evaluate with the others."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from sottovoce.course.phases import Phase
from sottovoce.course.seating import seated
from sottovoce.course.training.inputs import Started
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, WithdrawnError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.keyfiles.models import read_model
from sottovoce.node.api import AskOptions, Classified, EvaluationTables, JoinOptions
from sottovoce.node.course_terms import terms_of
from sottovoce.node.memberships import Membership
from sottovoce.node.seat.after_training import AfterTraining, kept_share
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.seat.deciders import Waits, one_error
from sottovoce.node.seat.query_client import InSafety, QueryClient
from sottovoce.node.seat.query_seat import QueryHelper
from sottovoce.node.site.joining import while_working
from sottovoce.node.site.leaving import leave, mark_withdrawn, work_until_withdrawn
from sottovoce.node.site.rejoining import hand_over
from sottovoce.node.site.seat_status import is_withdrawn
from sottovoce.node.site.site_context import seated_before
from sottovoce.node.site.site_study import IN_USE, MODEL, SiteStudy
from sottovoce.storage.journal import Journal
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.queries.thresholds import Floats
from sottovoce.text.documents import Document


def in_hand(answer: object) -> None:
    """Deliver nothing: the caller gets the answer as a return value."""
    del answer


async def classify(
    membership: Membership,
    documents: Sequence[Document],
    *,
    options: AskOptions,
    deliver: InSafety[Classified] = in_hand,
    explain: bool = False,
    thresholds: Floats | None = None,
    entropy: Entropy | None = None,
) -> Classified:
    """Classify every row of these documents; only this site learns the labels.

    After an interruption, a call with the same documents continues. `deliver` stores the answer (in
    a file): until it returns, the answer can be had again without asking or paying again. With
    `explain` the answer names words that decided the labels, within the free places of the batch.
    `thresholds` are this site's own, a score each, beside the operating point.
    """
    work = await SiteStudy.open(membership, options, entropy=entropy or SystemEntropy())
    async with _asking(work) as (asker, working):
        asking = asker.classify(documents, deliver, explain=explain, own=thresholds)
        return await while_working(working, asking)


async def evaluate(
    membership: Membership,
    documents: Sequence[Document],
    *,
    options: AskOptions,
    deliver: InSafety[EvaluationTables] = in_hand,
    entropy: Entropy | None = None,
) -> EvaluationTables:
    """This site's own table, which stays here, and the joint table of all peers.

    After an interruption it continues, as `classify` does.
    """
    work = await SiteStudy.open(membership, options, entropy=entropy or SystemEntropy())
    until = time.time() + work.described.deadlines.enrolment.total_seconds()
    async with _asking(work) as (asker, working):
        return await while_working(working, asker.evaluate(documents, deliver, until=until))


async def hand_model(
    membership: Membership,
    seat: str,
    *,
    options: JoinOptions,
    entropy: Entropy | None = None,
) -> None:
    """Give our part of the model to a peer that lost its disk, once a person compared the words."""
    work = await SiteStudy.open(membership, options, entropy=entropy or SystemEntropy())
    async with _asking(work) as (asker, working):
        rejoining = await while_working(working, asker.rejoining(seat, seconds=work.stage_seconds))
        model = work.folder(work.peer) / MODEL
        handing = hand_over(
            asker.agent,
            asker.audit,
            asker.standing,
            rejoining,
            model=model,
            confirm=options.consent,
        )
        await while_working(working, handing)


def standing_of(
    journal: Journal, work: SiteStudy, record: ParticipantRecord, keys: SeatKeys
) -> AfterTraining:
    """The peer's seat after the training, or after it enrolled again."""
    if record.reseated:
        reseated = record.reseated[0]
        return AfterTraining.again(
            journal, reseated, seated_before(work.described, reseated.before), keys
        )
    publics = {keys.identity.name: keys.identity.public}
    return AfterTraining.read(
        journal,
        seated(terms_of(work.membership.study, work.described), publics, record.seating[0]),
        keys,
    )


async def _work(asker: QueryClient, work: SiteStudy) -> None:
    """Run the seat and carry the asker's decisions, until a command withdraws the site.

    The site's other seats help meanwhile: it would wait for its own share in vain otherwise.
    """
    with one_error():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work_until_withdrawn(asker.agent, work.membership))
            tasks.create_task(asker.run())
            for seat in work.membership.seats:
                if seat != asker.agent.name:
                    tasks.create_task(_help(work, seat))


async def _help(work: SiteStudy, seat: str) -> None:
    """Serve with this seat's share of the model, unless `sottovoce join` runs the seat."""
    keys = work.keys(seat)
    with suppress(*IN_USE):
        async with work.agent(keys, ending=0.0) as (agent, _, _):
            record = read_record(agent.journal, SEAT, ParticipantRecord)
            if record.phase is not Phase.FINISHED or not record.seating:
                return
            standing = await agent.do(standing_of, agent.journal, work, record, keys)
            held = await agent.do(kept_share, agent.journal, standing.study)
            # A seat that looks up rows needs the documents, which `sottovoce join` has.
            if held is not None:
                agent.decider = helper = QueryHelper(agent, standing, held)
                working = asyncio.create_task(work_until_withdrawn(agent, work.membership))
                await while_working(working, helper.serve())


@asynccontextmanager
async def _asking(work: SiteStudy) -> "AsyncIterator[tuple[QueryClient, asyncio.Task[None]]]":
    """The peer's seat of this site, ready to ask or to continue an interrupted question."""
    seat = work.peer
    keys = work.keys(seat)
    path = work.folder(seat) / MODEL
    work.check_consent()
    async with work.agent(keys) as (agent, audit, line):
        record = read_record(agent.journal, SEAT, ParticipantRecord)
        if not path.exists() or not record.seating:
            raise InputError(
                f"{path}: there is no sealed model; the study is not finished here",
                hints=(
                    ShellCommand("sottovoce status"),
                    Hint("`", ShellCommand("sottovoce join"), "` until the study is finished"),
                ),
            )
        standing = await agent.do(standing_of, agent.journal, work, record, keys)
        _, model = await agent.do(read_model, path, standing.study)
        # The asker gives up before the coordinator does, so that it can name whom it waited for.
        agent.waits = Waits(work.stage_seconds, 2 * work.stage_seconds)
        asker = QueryClient(agent, standing, model, audit)
        agent.decider = asker
        await asker.take(Started())
        working = asyncio.create_task(_work(asker, work))
        try:
            yield asker, working
            await while_working(working, agent.drained())
        except WithdrawnError:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            # A peer that only did not confirm another's words keeps its model.
            if audit.ledger.has_left:
                mark_withdrawn(work.membership)
            if is_withdrawn(work.membership):
                await leave(agent, audit, line, path)
            raise
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
