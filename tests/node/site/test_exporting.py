"""A released model from a site's disk: the labels that the study gives, without anybody."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.network import network, read_toy
from sottovoce import ReleasedClassifier
from sottovoce.errors import InputError, MisuseError
from sottovoce.node.site import exporting
from sottovoce.node.site.exporting import export_model
from sottovoce.study.policy import Policy
from sottovoce.study.release import Release

SITES = ("north", "harbour", "valley")


def test_a_site_labels_alone_with_what_was_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy(releases=frozenset({Release.PEERS}), key_bits=768)
    monkeypatch.setattr("harness.network.TOY_POLICY", policy)
    net = network(tmp_path / "net", features="16", more='release = "peers"\n')
    out, mine = tmp_path / "model.json", net.documents["valley"][:20]

    async def story() -> Any:
        async with net.serving():
            await net.join_all(*SITES)
            return await net.classify("valley", mine)

    answer = asyncio.run(story())
    membership = net.membership("valley")
    export_model(membership, out, read=read_toy)
    alone = ReleasedClassifier.load(out).predict(mine)
    assert [(label,) for label in alone.tolist()] == answer.classes

    sealed = exporting.read_model

    def without_weights(*place: Any) -> Any:
        name, model = sealed(*place)
        return name, replace(model, released=None)

    monkeypatch.setattr(exporting, "read_model", without_weights)
    with pytest.raises(MisuseError, match="the study did not release its weights"):
        export_model(membership, tmp_path / "other", read=read_toy)
    assert not (tmp_path / "other").exists()
    (membership.folder / "valley" / "model").unlink()
    with pytest.raises(InputError, match="there is no model; the study is not finished"):
        export_model(membership, tmp_path / "other", read=read_toy)
