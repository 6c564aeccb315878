"""A whole study between a coordinator and three sites, over TLS on loopback."""

import asyncio
from pathlib import Path

import pytest

from harness.network import network

SITES = ("north", "harbour", "valley")


@pytest.mark.parametrize("engine", ["shares", "paillier"])
def test_three_sites_train_a_model_that_each_keeps_sealed(tmp_path: Path, engine: str) -> None:
    changes = {"features": "8"} if engine == "paillier" else {}
    net = network(tmp_path, engine=engine, **changes)

    async def story() -> None:
        async with net.serving():
            joined = await net.join_all(*SITES)
        assert all(one.model is not None and one.model.exists() for one in joined)

    asyncio.run(story())
