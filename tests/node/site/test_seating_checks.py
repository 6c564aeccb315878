"""What a site checks before it consents: the coordinator proposes keys, and nothing else."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.network import described, network, study_text
from sottovoce.course.control import Seating, SeatRecord
from sottovoce.course.seating import seated
from sottovoce.errors import InputError, MalformedError, StoppedError, ViolationError
from sottovoce.protocols.identities import digest
from sottovoce.study import Policy

Change = Callable[[list[SeatRecord]], list[SeatRecord]]
OWN = digest("key", b"valley")


def key(name: str) -> bytes:
    return OWN if name == "valley" else digest("key", name.encode())


def proposal(change: Change = list) -> Seating:
    seats = [
        SeatRecord(seat.name, seat.organisation, str(seat.role), key(seat.name))
        for seat in described(study_text()).seats
    ]
    return Seating(1, tuple(change(seats)))


def replaced(name: str, **fields: Any) -> Change:
    def change(seats: list[SeatRecord]) -> list[SeatRecord]:
        return [
            SeatRecord(**{**{f: getattr(seat, f) for f in seat.__struct_fields__}, **fields})
            if seat.name == name
            else seat
            for seat in seats
        ]

    return change


def without(name: str) -> Change:
    return lambda seats: [seat for seat in seats if seat.name != name]


def test_the_study_is_the_texts_with_the_proposed_keys() -> None:
    study = seated(described(study_text()), {"valley": OWN}, proposal())
    assert study.roster.peers == ("north", "harbour", "valley")


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (
            lambda seats: [*seats, SeatRecord("friend", "Friends", "peer", b"\x05" * 32)],
            ViolationError,
            "expected the seats of the study's text, found peer 'friend'",
        ),
        (replaced("north", organisation="Institute Two"), ViolationError, "of 'Institute Two'"),
        (replaced("north", role="dealer"), MalformedError, "roster"),
        (replaced("north", role="king"), MalformedError, "roster"),
        (replaced("valley", public=b"\x05" * 32), ViolationError, "our own key at the seat"),
        (replaced("north", public=OWN), MalformedError, "identity of its own"),
        (replaced("north", public=b"short"), MalformedError, "identity key of 32 bytes"),
        (without("valley"), ViolationError, "found nobody"),
        (without("evaluator"), ViolationError, "the roster has no evaluator"),
        (without("dealer"), ViolationError, "the roster has no dealer"),
        (without("north"), InputError, "expected at least 3 peers"),
    ],
)
def test_a_coordinator_cannot_fill_or_change_the_table(
    change: Change, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        seated(described(study_text()), {"valley": OWN}, proposal(change))


def test_a_plan_beyond_a_sites_policy_is_declined_by_that_site(tmp_path: Path) -> None:
    net = network(tmp_path, features="8")

    async def story() -> list[Any]:
        async with net.serving():
            strict = {"policy": Policy(key_bits=768, min_documents=10)}
            joining = (
                net.join(peer, **(strict if peer == "valley" else {})) for peer in net.documents
            )
            return list(await asyncio.gather(*joining, return_exceptions=True))

    result = dict(zip(net.documents, asyncio.run(story()), strict=True))
    with pytest.raises(InputError, match="min_documents: expected at least 10, found 3"):
        raise result["valley"]
    assert isinstance(result["north"], StoppedError)
