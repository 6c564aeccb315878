"""SIGHUP opens a log anew; one that comes while a command still starts waits for its log.

It is blocked rather than ignored: once the command knows that it has no log, a hang-up that came
meanwhile ends it, as it would have at once.
"""

import signal
from collections.abc import Callable

_HANGUP = getattr(signal, "SIGHUP", None)


def hold_hangups() -> None:
    """Let hang-ups wait."""
    if _HANGUP is not None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {_HANGUP})


def release_hangups() -> None:
    """Deliver a hang-up that waits, and all later ones."""
    if _HANGUP is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {_HANGUP})


def at_hangup(action: Callable[[], None]) -> Callable[[], None]:
    """Do this at every hang-up, also at one that waits; returns what ends it."""
    if _HANGUP is None:
        return lambda: None
    signal.signal(_HANGUP, lambda *_: action())
    release_hangups()
    # What comes after that finds a command that ends anyway, and its exit code stays its own. A
    # signal that only this thread blocks would reach another one.
    return lambda: _ignore(_HANGUP)


def _ignore(number: int) -> None:
    signal.signal(number, signal.SIG_IGN)
