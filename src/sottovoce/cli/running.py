"""Runs programs that wait for others to their end; a signal stops them without loss."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer

from sottovoce.cli.shell_words import placed
from sottovoce.cli.terminal import screen

T = TypeVar("T")


def run(program: Coroutine[Any, Any, T], *, afterwards: str) -> T:
    """Run the program and return its result; if it is stopped, `afterwards` says how to continue.

    Ctrl-C interrupts it (exit code 130); SIGTERM of a service manager ends it with exit code 0.
    """
    came: list[signal.Signals] = []
    try:
        return asyncio.run(_stoppable(program, came))
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.say(f"stopped, and nothing is lost: {placed(afterwards)}", err=True)
        if signal.SIGTERM in came:
            raise typer.Exit(0) from None
        raise KeyboardInterrupt from None


async def _stoppable(program: Coroutine[Any, Any, T], came: list[signal.Signals]) -> T:
    """The program as a task that the signals of a keyboard and of a service manager cancel."""
    task = asyncio.ensure_future(program)
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        came.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    return await task
