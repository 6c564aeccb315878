"""A study that is closed has no key, wherever a crash came in between, and gets no new one."""

import asyncio
from typing import Any

import pytest

from harness.network import Network, QuickPlan, read_toy
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.coordinator.serving import close_study, study_status
from sottovoce.node.coordinator.study_runner import StudyRunner


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("moment", ["before the key is deleted", "after the key was deleted"])
def test_a_crash_while_a_study_is_closed(
    trained: Network, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    net = trained
    folder = net.place.folder / "studies" / net.study / "coordinator"
    assert (folder / "key").exists()
    deleted, generated = StudyRunner._delete_key, QuickPlan.generate
    keys: list[Any] = []
    died = asyncio.Event()

    async def dying(self: StudyRunner) -> None:
        if moment.startswith("after"):
            await deleted(self)
        died.set()
        raise Killed

    def generate(self: QuickPlan, **given: Any) -> Any:
        keys.append(generated(self, **given))
        return keys[-1]

    monkeypatch.setattr(QuickPlan, "generate", generate)

    async def story() -> None:
        monkeypatch.setattr(StudyRunner, "_delete_key", dying)
        close_study(net.place, net.study)
        with pytest.raises(Killed):
            async with net.serving():
                await died.wait()
        monkeypatch.setattr(StudyRunner, "_delete_key", deleted)
        async with net.serving():
            while study_status(net.place, net.study, read=read_toy).phase != "closed":  # noqa: ASYNC110 - a file says so
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(story(), 400))
    assert not (folder / "key").exists()
    assert keys == []
    notes = [
        line.note for line in read_ledger(folder / "ledger.jsonl") if line.what == LineKind.DELETION
    ]
    assert notes.count("deleted the Paillier key") == 1
