"""Who is waited for, and until when, in the words of every screen."""

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """A moment in UTC, as people write it."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def names(listed: tuple[str, ...]) -> str:
    """Names beside each other."""
    return ", ".join(listed) or "nobody"


def waiting(what: str, whom: tuple[str, ...], until: float) -> str:
    """What is waited for, for whom, and until when; 0 where nobody gives up."""
    limit = f"until {moment(until)}" if until else "for as long as it takes"
    return f"waits for {names(whom)} ({what}) {limit}"
