"""What a coordinator's disk says of a study: who was seen when, and how long everybody waits."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

from harness.entropy import SeededEntropy
from harness.network import described, network, read_toy
from sottovoce.cli.consent import card_of
from sottovoce.protocols.identities import Identity
from sottovoce.service.chairs import Waits
from sottovoce.service.coordinator import registry_of, study_status
from sottovoce.service.deadlines import LINE_STAGES, in_words
from sottovoce.service.events import unheard
from sottovoce.service.hall import Hall
from sottovoce.service.study_file import parse_study
from sottovoce.transport.client import Line


def test_the_last_request_of_a_seat_is_when_it_was_seen_last(tmp_path: Path) -> None:
    net = network(tmp_path, enrolment="1 hour")

    def seen() -> float:
        return dict(study_status(net.office, net.study, read=read_toy).seen).get("valley", 0.0)

    async def until_after(moment: float) -> None:
        while seen() < moment:  # noqa: ASYNC110 - a file says so
            await asyncio.sleep(0.05)

    async def story() -> None:
        async with net.serving():
            line = Line(
                net.address,
                fingerprint=net.fingerprint,
                study=net.study,
                identity=Identity.draw("valley", SeededEntropy(9)),
                patience=5,
            )
            async with line:
                await line.enrol(net.membership("valley").token)
                for _ in range(2):
                    asked = time.time()
                    await line.status()
                    # Clocks that run on and clocks that are set differ by less than this.
                    await until_after(asked - 0.05)
                    assert seen() <= time.time() + 0.05
        last = seen()
        async with net.serving():
            # Nobody asked since: a restart forgets nothing.
            assert abs(seen() - last) < 0.001

    asyncio.run(asyncio.wait_for(story(), 60))


def test_the_card_tells_the_times_that_the_programs_wait(tmp_path: Path) -> None:
    net = network(tmp_path, stage="20 seconds")
    registry = registry_of(net.office, net.study)
    study = described(net.text)

    async def waits() -> Waits:
        hall = Hall(registry, study, at_rest=bytes(32), entropy=SeededEntropy(1), on_event=unheard)
        await hall.close()
        return hall.agent.waits

    found = asyncio.run(waits())
    card = card_of(parse_study(net.text, plan_type=type(study.plan))).markdown()
    for seconds in (60.0, found.gather, found.receive, LINE_STAGES * found.gather):
        assert in_words(timedelta(seconds=seconds)) in card
    assert (found.gather, found.receive) == (20.0, 60.0)
