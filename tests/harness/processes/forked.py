"""The process that forks machines (`python -m harness.processes.forked`), and what each one does.

It imports everything once, so that a machine starts in milliseconds. A machine has the toy plan of
`harness.network`; everything else of it is what the commands run. Every machine writes its events
and its result to a file.
"""

import asyncio
import ctypes
import faulthandler
import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.examples.arrangements import one_draw
from harness.network import read_toy
from harness.processes.namespaces import enter
from harness.processes.scenes import BODIES, COORDINATOR, WEATHER, WHERE, Order
from harness.processes.storms import Storm
from sottovoce.cli.terminal.watching import as_line
from sottovoce.errors import SottovoceError
from sottovoce.keyfiles.models import read_model
from sottovoce.node.approval import OpenGate, ScriptGate
from sottovoce.node.coordinator.serving import run_coordinator
from sottovoce.study import Policy
from sottovoce.study.arrangement import Remote, Weights
from sottovoce.study.release import RELEASES
from sottovoce.transport.server.bodies import BodyReader
from sottovoce.transport.signing import read_signed

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ReadBody:
    """What a curious coordinator has read of a letter, or of a part of it."""

    sender: str
    place: tuple[str, ...]
    digest: str


def _be_curious(notes: Path) -> None:
    """Write down every body that the server's process reads, before anybody can refuse it."""
    real: Callable[..., Any] = BodyReader.read

    async def noted(bodies: Any, request: Any, limit: int, digest: Any) -> bytes:
        body: bytes = await real(bodies, request, limit, digest)
        if body and "to" in request.query:
            # Only a part of a long letter says where it begins.
            asked = {"offset": "0", **request.query}
            place = tuple(asked[field] for field in ("session", "to", "number", "offset"))
            sender = read_signed(request.headers).seat
            read = ReadBody(sender, place, hashlib.sha256(body).hexdigest())
            with notes.open("a") as out:
                out.write(json.dumps(asdict(read)) + "\n")
        return body

    BodyReader.read = noted  # type: ignore[method-assign]


async def _serve(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    _be_curious(Path(order.root) / BODIES)
    place = replace(order.network.place, host=order.host)
    until = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, until.set)
    await run_coordinator(place, read=read_toy, on_event=tell, until=until)
    return {}


async def _join(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    policy = Policy(
        key_bits=768,
        min_peers=1,
        releases=frozenset(RELEASES.values()),
        remotes=frozenset(Remote),
        weights=frozenset(Weights),
    )
    gate = ScriptGate(Path(order.approve)) if order.approve else OpenGate()
    mine = [*order.scene.by_site.get(order.name, ())]
    if order.edited:
        mine[0] = replace(mine[0], text="redacted")
    joined = await order.network.join(
        order.name,
        (lambda: mine) if mine else None,
        policy=policy,
        on_event=tell,
        stay=order.stay,
        gate=gate,
    )
    if joined.model is None:
        return {"weights": None}
    _, model = read_model(joined.model, joined.study)
    weights = None if model.released is None else model.released.tolist()
    return {"weights": weights, "peers": list(joined.study.roster.peers)}


async def _ask(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    del tell
    net, documents = order.network, order.scene.by_site[order.name]
    return {"labels": (await net.classify(order.name, documents[: order.ask])).classes}


async def _blow(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    del tell
    port = int(order.address.rpartition(":")[2])
    weather = Storm(order.port, port=port, badness=order.badness)
    await weather.blow(order.network.place.folder)
    return {"fates": dict(weather.fates)}


_PROGRAMS = {COORDINATOR: _serve, WEATHER: _blow}


async def _shown(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """The same work; asked by a signal, it prints where every task and thread is."""

    def show() -> None:
        for task in asyncio.all_tasks():
            task.print_stack()
        faulthandler.dump_traceback()

    asyncio.get_running_loop().add_signal_handler(WHERE, show)
    return await work


def _live(order: Order) -> None:
    with Path(order.log).open("a", buffering=1) as log:
        program = _PROGRAMS.get(order.name, _ask if order.ask else _join)
        drawn = one_draw() if order.scene.arrangement else nullcontext()
        try:
            with drawn:
                work = program(order, lambda event: print(as_line(event), file=log))
                result = asyncio.run(_shown(work))
        except SottovoceError as error:
            party = getattr(error, "party", "")
            result = {"error": type(error).__name__, "message": str(error), "party": party}
        print(json.dumps({"event": "result", **result}), file=log)


def _fork(order: Order) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        # Whatever becomes of the tests, no machine outlives them.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            output = os.open(order.log + ".err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for number in (1, 2):
                os.dup2(output, number)
            if order.space:
                enter(order.space)
            _live(order)
            status = 0
    finally:
        os._exit(status)


def serve_forks() -> None:
    """Fork a machine for every line of standard input.

    Those that ended are not reaped: while this process lives their numbers are nobody else's.
    """
    for line in sys.stdin:
        sys.stdout.write(f"{_fork(Order.decode(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve_forks()
