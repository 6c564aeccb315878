"""A site whose documents cannot go into a study hears so before its seat is taken."""

import asyncio
from pathlib import Path

import pytest

from harness.network import network
from sottovoce.errors import InputError
from sottovoce.node.coordinator.serving import registry_of
from sottovoce.node.events import Enrolled


def test_a_site_with_one_class_takes_no_seat_and_can_come_back_with_two(tmp_path: Path) -> None:
    net = network(tmp_path, documents=120, features="8")
    enrolled = net.when(lambda event: isinstance(event, Enrolled) and event.seat == "evaluator")
    one_class = [peer for peer in net.documents["north"] if peer.label == "urgent"]

    async def story() -> None:
        async with net.serving():
            with pytest.raises(InputError, match="north: expected documents of at least two"):
                await net.join("north", source=lambda: one_class)
            assert registry_of(net.place, net.study).seats() == {}
            # The same invitation is still good.
            joining = asyncio.create_task(net.join("north"))
            await enrolled.wait()
            assert "north" in registry_of(net.place, net.study).seats()
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 400))
