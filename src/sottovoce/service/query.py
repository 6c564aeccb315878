"""What a peer does with a trained study: it asks for labels, and evaluates with the others."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError
from sottovoce.keyfiles.models import read_model
from sottovoce.roles.classification import Answer
from sottovoce.service.agent import Waits
from sottovoce.service.api import AskOptions, Evaluated, Membership
from sottovoce.service.asker_seat import AskerSeat
from sottovoce.service.house import seated
from sottovoce.service.participant import while_working
from sottovoce.service.seat_book import SeatBook
from sottovoce.service.standing import Standing
from sottovoce.service.workplace import MODEL, Workplace
from sottovoce.text.documents import Document


async def classify(
    membership: Membership,
    documents: Sequence[Document],
    *,
    options: AskOptions,
    entropy: Entropy | None = None,
) -> Answer:
    """The classes of every row of these documents, which nobody but this site learns."""
    work = await Workplace.open(membership, options, entropy=entropy or SystemEntropy())
    async with _asking(work) as (asker, working):
        return await while_working(working, asker.classify(documents))


async def evaluate(
    membership: Membership,
    documents: Sequence[Document],
    *,
    options: AskOptions,
    entropy: Entropy | None = None,
) -> Evaluated:
    """This site's own table, which stays here, and the joint one of all peers that take part."""
    work = await Workplace.open(membership, options, entropy=entropy or SystemEntropy())
    until = time.time() + work.described.deadlines.enrolment.total_seconds()
    async with _asking(work) as (asker, working):
        own, joint = await while_working(working, asker.evaluate(documents, until=until))
        return Evaluated(own, joint)


@asynccontextmanager
async def _asking(work: Workplace) -> "AsyncIterator[tuple[AskerSeat, asyncio.Task[None]]]":
    """The peer's seat of this site, ready to ask; what was broken off before is over."""
    seat = work.peer
    keys = work.keys(seat)
    path = work.folder(seat) / MODEL
    async with work.agent(keys) as (agent, _, _):
        book = SeatBook.read(agent.journal)
        if not path.exists() or not book.seating:
            raise InputError(
                f"{path}: expected the sealed model of a finished study, found none",
                hints=("sottovoce status", "sottovoce join, until the study is finished"),
            )
        publics = {seat: keys.identity.public}
        study = seated(work.described, publics, book.seating[0])
        standing = await agent.do(Standing.read, agent.journal, study, keys)
        _, model = await agent.do(read_model, path, study)
        await agent.settle_known()
        # The asker gives up before the coordinator does, and knows for whom it waited.
        agent.waits = Waits(work.stage_seconds, 2 * work.stage_seconds)
        asker = AskerSeat(agent, standing, model)
        agent.chair = asker
        working = asyncio.create_task(agent.run())
        try:
            yield asker, working
            if not working.done():
                await agent.drained()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
