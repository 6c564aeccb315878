"""What a peer does with a trained study: it asks for labels, and evaluates with the others."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, WithdrawnError
from sottovoce.keyfiles.models import read_model
from sottovoce.service.api import AskOptions, Classified, Evaluated, JoinOptions, Membership
from sottovoce.service.asker_seat import AskerSeat, Deliver
from sottovoce.service.chairs import Waits
from sottovoce.service.house import seated, seated_before
from sottovoce.service.journal import Journal
from sottovoce.service.leaving import leave, mark_withdrawn, work_until_withdrawn
from sottovoce.service.participant import while_working
from sottovoce.service.rejoining import hand_over
from sottovoce.service.seat_book import SeatBook
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.seat_status import is_withdrawn
from sottovoce.service.standing import Standing
from sottovoce.service.workplace import MODEL, Workplace
from sottovoce.text.documents import Document


def in_hand(answer: object) -> None:
    """Whoever called has the answer when it is returned."""
    del answer


async def classify(
    membership: Membership,
    documents: Sequence[Document],
    *,
    options: AskOptions,
    deliver: Deliver[Classified] = in_hand,
    entropy: Entropy | None = None,
) -> Classified:
    """The classes of every row of these documents, which nobody but this site learns.

    Broken off at any moment and called again with the same documents, it goes on where it was.
    `deliver` takes the answer into safety (a file): until it returned, the answer can be had
    again without asking, or paying, again.
    """
    work = await Workplace.open(membership, options, entropy=entropy or SystemEntropy())
    async with _asking(work) as (asker, working):
        return await while_working(working, asker.classify(documents, deliver))


async def evaluate(
    membership: Membership,
    documents: Sequence[Document],
    *,
    options: AskOptions,
    deliver: Deliver[Evaluated] = in_hand,
    entropy: Entropy | None = None,
) -> Evaluated:
    """This site's own table, which stays here, and the joint one of all peers that take part.

    Broken off and called again it goes on, as `classify` does.
    """
    work = await Workplace.open(membership, options, entropy=entropy or SystemEntropy())
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
    """Hand our part of the model to a peer that lost its disk, once a person compared the words."""
    work = await Workplace.open(membership, options, entropy=entropy or SystemEntropy())
    async with _asking(work) as (asker, working):
        told = await while_working(working, asker.rejoining(seat, seconds=work.stage_seconds))
        model = work.folder(work.peer) / MODEL
        handing = hand_over(
            asker.agent,
            asker.witness,
            asker.standing,
            told,
            model=model,
            confirm=options.consent,
        )
        await while_working(working, handing)


def _standing(journal: Journal, work: Workplace, book: SeatBook, keys: SeatKeys) -> Standing:
    """What the peer's seat has after the training, or after it enrolled again."""
    if book.reseated:
        told = book.reseated[0]
        return Standing.again(journal, told, seated_before(work.described, told.before), keys)
    publics = {keys.identity.name: keys.identity.public}
    return Standing.read(journal, seated(work.described, publics, book.seating[0]), keys)


@asynccontextmanager
async def _asking(work: Workplace) -> "AsyncIterator[tuple[AskerSeat, asyncio.Task[None]]]":
    """The peer's seat of this site, ready to ask, or to go on with what was broken off before."""
    seat = work.peer
    keys = work.keys(seat)
    path = work.folder(seat) / MODEL
    work.check_consent()
    async with work.agent(keys) as (agent, witness, line):
        book = SeatBook.read(agent.journal)
        if not path.exists() or not book.seating:
            raise InputError(
                f"{path}: expected the sealed model of a finished study, found none",
                hints=("sottovoce status", "`sottovoce join` until the study is finished"),
            )
        standing = await agent.do(_standing, agent.journal, work, book, keys)
        _, model = await agent.do(read_model, path, standing.study)
        # The asker gives up before the coordinator does, and knows for whom it waited.
        agent.waits = Waits(work.stage_seconds, 2 * work.stage_seconds)
        asker = AskerSeat(agent, standing, model, witness)
        agent.chair = asker
        await asker.settle()
        working = asyncio.create_task(work_until_withdrawn(agent, work.membership))
        try:
            yield asker, working
            await while_working(working, agent.drained())
        except WithdrawnError:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            # Who only did not confirm another's words keeps the model.
            if witness.ledger.has_left:
                mark_withdrawn(work.membership)
            if is_withdrawn(work.membership):
                await leave(agent, witness, line, path)
            raise
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
