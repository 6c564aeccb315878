"""Programs that wait for others: run to their end, or stopped by Ctrl-C with nothing lost."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer

from sottovoce.cli.placing import placed

T = TypeVar("T")


def run(program: Coroutine[Any, Any, T], *, afterwards: str) -> T:
    """What the program returns; where it is interrupted, `afterwards` says how to go on."""
    try:
        return asyncio.run(_stoppable(program))
    except (KeyboardInterrupt, asyncio.CancelledError):
        typer.echo(f"stopped, and nothing is lost: {placed(afterwards)}", err=True)
        raise KeyboardInterrupt from None


async def _stoppable(program: Coroutine[Any, Any, T]) -> T:
    """The program as a task that the signals of a keyboard and of a service manager cancel."""
    task = asyncio.ensure_future(program)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    return await task
