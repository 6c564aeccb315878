"""Errors about a study that is over at this site: why it ended, and what can be done."""

from typing import TYPE_CHECKING

from sottovoce.errors import InputError, SottovoceError, StoppedError, WithdrawnError
from sottovoce.hints import Hint, ShellCommand

if TYPE_CHECKING:
    from sottovoce.node.memberships import SeatStatus
    from sottovoce.node.site.site_folder import JoinedStudy


def check_goes_on(study: "JoinedStudy", *, asking: bool = False) -> None:
    """Refuse a study that is over here, by this site's own disk, before anybody is asked.

    If one seat was stopped, another can still take part; a query needs all of them.
    """
    from sottovoce.course.phases import OVER, Phase
    from sottovoce.node.site.seat_status import status

    seats = status(study.membership)
    over = [seat for seat in seats if seat.phase in OVER]
    ended = [seat for seat in over if seat.phase != Phase.STOPPED]
    if not ended and (not over or (len(over) < len(seats) and not asking)):
        return
    ended_study = (*ended, *over)[0]
    if ended_study.phase == Phase.WITHDRAWN:
        raise withdrawn(study)
    if ended_study.phase == Phase.CLOSED:
        raise stopped(study, "the coordinator closed it: queries are over")
    raise stopped(study, why_stopped(ended_study) or "it ended without a model")


def why_stopped(seat: "SeatStatus") -> str:
    """Why a seat ended, and because of whom: the coordinator speaks for itself in its reason."""
    party = "" if seat.party in {"", "coordinator", seat.seat} else f"{seat.party}: "
    return f"{party}{seat.reason.removeprefix('stopped the study: ')}"


def check_trained(study: "JoinedStudy") -> None:
    """Refuse a query while the training is not finished: there is no model yet."""
    from sottovoce.course.phases import STAGES, Phase
    from sottovoce.node.site.seat_status import is_running, status

    seats = status(study.membership)
    begun = (Phase.ENROLMENT, Phase.CONSENT, *STAGES)
    if all(seat.phase not in begun for seat in seats):
        return
    phases = ", ".join(f"{seat.seat} {seat.phase}" for seat in seats)
    hints = [Hint("its progress: ", ShellCommand(f"sottovoce status --study {study.id}"))]
    if not any(map(is_running, seats)):
        # A second process beside the one that takes part would only wait for it.
        hints.append(Hint("to continue it: ", ShellCommand(f"sottovoce join --study {study.id}")))
    raise InputError(
        f"study {study.invitation.title!r}: expected a finished training, found {phases}",
        hints=tuple(hints),
    )


def stopped(study: "JoinedStudy", why: str) -> StoppedError:
    """The error for a stopped study, and what people can do about it."""
    return StoppedError(
        f"study {study.invitation.title!r} is over: {why}",
        hints=(
            # Without our --home: it is typed at another machine.
            f"ask the coordinator to begin again, by `study create --from {study.id}` there",
            Hint(
                "what left this site: ", ShellCommand(f"sottovoce ledger show --study {study.id}")
            ),
        ),
    )


def withdrawn(study: "JoinedStudy", why: str = "") -> SottovoceError:
    """The error for a study in which this site takes no part."""
    because = why or "it did not consent or withdrew"
    return WithdrawnError(
        f"study {study.invitation.title!r}: this site takes no part, because {because}, and "
        f"cannot return",
        hints=(
            Hint(
                "what left this site before: ",
                ShellCommand(f"sottovoce ledger show --study {study.id}"),
            ),
        ),
    )
