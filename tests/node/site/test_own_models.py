"""A site's own model on its disk: used, missing and put back, not handed over, and deleted."""

import asyncio
from pathlib import Path

import pytest

from harness.network import Network, lost, network
from harness.processes.carried import letters_carried
from sottovoce.errors import KeyFileError
from sottovoce.keyfiles.own_models import own_path
from sottovoce.node.site.asking import hand_model
from sottovoce.node.site.leaving import withdraw

SITES = ("north", "harbour", "valley")


def own_model(net: Network, seat: str) -> Path:
    return own_path(net.membership(seat).folder / seat / "model")


async def check_missing(net: Network) -> None:
    """Nothing is asked without it; back from a copy it gives the same labels."""
    mine, own = net.documents["valley"][:12], own_model(net, "valley")
    expected = (await net.classify("valley", mine)).classes
    kept = own.read_bytes()
    own.unlink()
    with pytest.raises(KeyFileError, match=r"model\.own: .* found none") as missing:
        await net.classify("valley", mine)
    assert missing.value.hints == ("put model.own back from a copy of its folder",)
    own.touch(0o600)
    own.write_bytes(kept)
    assert (await net.classify("valley", mine)).classes == expected


async def check_handed(net: Network) -> None:
    """A site that lost its disk gets the joint model from another one, and nobody's own model."""
    lost(net, "valley")
    again = asyncio.create_task(net.join("valley"))
    await hand_model(net.membership("north"), "valley", options=net.options())
    await again
    assert len(own_model(net, "valley").read_bytes()) < 1000
    assert len((await net.classify("valley", net.documents["valley"][:12])).classes) == 12


def test_an_own_model_stays_at_its_site_and_goes_with_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, features="16", more="own_weight = 0.5\n", enrolment="1 hour")
    carried = letters_carried(monkeypatch)

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)
        weights = [own_model(net, site).read_bytes()[-20_000:] for site in SITES]
        assert len(set(weights)) == 3
        async with net.serving(), net.staying("north", "harbour"):
            await check_missing(net)
            await check_handed(net)
            assert own_model(net, "valley").exists()
            await withdraw(net.membership("valley"), options=net.options())
            assert not own_model(net, "valley").exists()
        everything = b"".join(letter.body for letter in carried)
        assert all(mine not in everything for mine in weights)

    asyncio.run(story())
