"""A site withdraws its consent: what that undoes, and that nothing is sent afterwards.

Before its contribution is unmasked, nothing of it stays in any sum: it was sent under masks that
only all peers together can remove, and the others begin again without it. After that the sum cannot
be taken apart, which is what protected it; the site's part of the model is deleted here, and nobody
answers its queries any longer.
"""

import asyncio
from functools import partial
from pathlib import Path

from sottovoce.course.control import COORDINATOR, Leaving
from sottovoce.course.phases import Phase
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import AbsenceError, WithdrawnError
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.own_models import own_path
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.api import AskOptions, Withdrawal
from sottovoce.node.events import SeatWithdrawn
from sottovoce.node.memberships import Membership
from sottovoce.node.seat.after_training import SHARE_OVER
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.seat.deciders import one_error
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.retrying_line import RetryingLine
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.site.seat_status import is_withdrawn, withdrawal_mark
from sottovoce.node.site.site_study import IN_USE, MODEL, SiteStudy, forget_sessions
from sottovoce.storage.records import Outgoing
from sottovoce.study.attempts import Stage
from sottovoce.study.stages.quorum_sums import AddUp
from sottovoce.wire import Codec
from sottovoce.wire.tags import kebab

_LOOK_SECONDS = 0.25
# The lines of its own ledger that show a site that its numbers were added to those of others:
# in a blind sum it reveals masks, in a quorum it hears that the members add up now.
_ADDED_UP = {(LineKind.SENT, "revealed-shares"), (LineKind.RECEIVED, kebab(AddUp.__name__))}
_CONTRIBUTED = {str(Stage.CONTRIBUTIONS), str(Stage.TRAINING)}


def mark_withdrawn(membership: Membership) -> None:
    """Withdraw the consent for all seats of this site, also for those of other processes."""
    storage.write_whole(withdrawal_mark(membership), b"", mode=storage.SECRET_MODE, replace=True)


async def watch_for_withdrawal(membership: Membership) -> None:
    """Wait until a command withdraws the consent."""
    while not is_withdrawn(membership):  # noqa: ASYNC110 - another process writes the file
        await asyncio.sleep(_LOOK_SECONDS)


async def work_until_withdrawn(agent: SeatRuntime, membership: Membership) -> None:
    """Run the seat until a command withdraws the site."""
    with one_error():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(agent.run())
            await watch_for_withdrawal(membership)
            raise WithdrawnError(f"{agent.name}: this site withdrew from the study")


async def withdraw(
    membership: Membership, *, options: AskOptions, entropy: Entropy | None = None
) -> Withdrawal:
    """Withdraw this site, and say what stays because it was already added up."""
    mark_withdrawn(membership)
    work = await SiteStudy.open(membership, options, entropy=entropy or SystemEntropy())
    for seat in membership.seats:
        await _withdraw_seat(work, seat)
    return how_far(membership)


def how_far(membership: Membership) -> Withdrawal:
    """The effect of a withdrawal, according to the site's own ledgers."""
    stages = set[str]()
    for seat in membership.seats:
        path = membership.folder / seat / "ledger.jsonl"
        if path.exists():
            lines = (line.entry for line in read_ledger(path))
            stages |= {line.stage for line in lines if (line.what, line.kind) in _ADDED_UP}
    if stages & _CONTRIBUTED:
        return Withdrawal(
            in_sum=True,
            says="the contribution of this site is in the sum that the model came from, and "
            "cannot be taken out of it; its part of the model was deleted, its queries end, and "
            "nothing more is sent",
        )
    if stages:
        return Withdrawal(
            in_sum=False,
            says="this site's word counts are in the sums of the dictionary, and cannot be taken "
            "out of them; its contribution is in no sum, and nothing more is sent",
        )
    return Withdrawal(
        in_sum=False, says="nothing of this site is in any sum, and nothing more is sent"
    )


async def _withdraw_seat(work: SiteStudy, seat: str) -> None:
    """Leave with this seat; if another process runs it, that process leaves."""
    if not (work.folder(seat) / "journal.db").exists():
        return
    try:
        async with work.agent(work.keys(seat), ending=work.stage_seconds) as (agent, audit, line):
            await leave(agent, audit, line, work.folder(seat) / MODEL)
    except IN_USE as error:
        raise AbsenceError(
            f"waited {work.stage_seconds:.0f} s for the process that runs {seat!r} to end",
            party=seat,
        ) from error


async def leave(agent: SeatRuntime, audit: LetterAudit, line: RetryingLine, model: Path) -> None:
    """Send the notice that this seat leaves as its last letter, and delete its data.

    The notice is sent once; after a crash a further call finishes the rest.
    """
    record = read_record(agent.journal, SEAT, ParticipantRecord)
    if record.phase is not Phase.WITHDRAWN:
        await agent.do(audit.note, LineKind.WITHDRAWAL, "consent was withdrawn")
        await agent.do(_close_outbox, agent, audit, record.but(phase=Phase.WITHDRAWN))
    if agent.journal.remembered():
        await forget_sessions(agent, audit)
    for part in (model, own_path(model)):
        await agent.do(partial(part.unlink, missing_ok=True))
    agent.tell_watcher(SeatWithdrawn(agent.study, agent.name))
    for outgoing in await agent.do(lambda: list(agent.journal.pending())):
        await _post(agent, audit, line, outgoing)


def _close_outbox(agent: SeatRuntime, audit: LetterAudit, record: ParticipantRecord) -> None:
    """Delete all unsent letters but the last notice, and control letters that the server may have.

    The notice takes the number of the first letter that certainly never left, to avoid a gap.
    """
    journal, control = agent.journal, agent.control(COORDINATOR)
    pending = [letter for letter in journal.pending() if letter.letter.session == control]
    left = [letter for letter in pending if audit.may_have_left(letter)]
    unsent = [letter.letter.number for letter in pending if letter not in left]
    notes = agent.numbers.renumbered(min(unsent)) if unsent else {}
    if not audit.asks:
        left += agent.numbers.numbered([(COORDINATOR, audit.head())], notes)
    left += agent.numbers.numbered([(COORDINATOR, Leaving())], notes)
    kept = {**notes, **SHARE_OVER, SEAT: Codec().encode(record)}
    journal.close_outbox(left, notes=kept)


async def _post(
    agent: SeatRuntime, audit: LetterAudit, line: RetryingLine, outgoing: Outgoing
) -> None:
    await agent.do(audit.left, outgoing, "control")
    agent.journal.leaving(outgoing.position)
    await line.post(outgoing.letter)
    agent.journal.mark_sent(outgoing.position)
