"""A study that is over at this site: what ended it, and what can be done."""

from typing import TYPE_CHECKING

from sottovoce.errors import SottovoceError, StoppedError, WithdrawnError

if TYPE_CHECKING:
    from sottovoce.service.site import JoinedStudy


def check_goes_on(study: "JoinedStudy", *, asking: bool = False) -> None:
    """Refuse a study that is over here, from this site's own disk and before anybody is asked.

    Where one seat was stopped, another may go on taking part; to ask, none may have been.
    """
    from sottovoce.service.phases import OVER, Phase
    from sottovoce.service.seat_status import status

    seats = status(study.membership)
    over = [one for one in seats if one.phase in OVER]
    ended = [one for one in over if one.phase != Phase.STOPPED]
    if not ended and (not over or (len(over) < len(seats) and not asking)):
        return
    found = (*ended, *over)[0]
    if found.phase == Phase.WITHDRAWN:
        raise withdrawn(study)
    if found.phase == Phase.CLOSED:
        raise stopped(study, "the coordinator closed it: its key is deleted, queries are over")
    party = f"{found.party}: " if found.party else ""
    raise stopped(study, f"{party}{found.reason or 'it ended without a model'}")


def stopped(study: "JoinedStudy", why: str) -> StoppedError:
    """The error for a study that was stopped, and what people can do about it."""
    return StoppedError(
        f"study {study.invitation.title!r} is over: {why}",
        hints=(
            f"the coordinator can begin anew: sottovoce study create --from {study.id}",
            f"what left this site: sottovoce ledger show --study {study.id}",
        ),
    )


def withdrawn(study: "JoinedStudy", why: str = "") -> SottovoceError:
    """The error for a study in which this site takes no part."""
    because = why or "it did not consent or withdrew"
    return WithdrawnError(
        f"study {study.invitation.title!r}: this site takes no part, because {because}, "
        "and cannot come back",
        hints=(f"what left this site before: sottovoce ledger show --study {study.id}",),
    )
