"""The coordinator carries everything and holds the Paillier key: what it can read, and what not."""

import asyncio
import logging
import secrets
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.entropy import SeededEntropy
from harness.network import Network, network, toy_key
from harness.processes.carried import letters_carried
from sottovoce.course.control import Seating, SeatRecord
from sottovoce.errors import TheirError, ViolationError
from sottovoce.keyfiles.models import read_model
from sottovoce.node.api import ConsentQuestion
from sottovoce.node.seat.after_training import kept_agreement
from sottovoce.node.seat.deciders import Effect
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.protocols.messages import kind_of
from sottovoce.protocols.sealing import OVERHEAD, Address, unseal
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.relay import Letter, padded_size
from sottovoce.study.roster import Roster
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of

SITES = ("north", "harbour", "valley")


@pytest.fixture
def carried(monkeypatch: pytest.MonkeyPatch) -> list[Letter]:
    """Every letter that the server stores."""
    return letters_carried(monkeypatch)


@dataclass(frozen=True)
class Overheard:
    """A study whose classes have names that no noise hits upon, and all that was carried in it."""

    net: Network
    names: tuple[str, str]
    study: Study
    model: Path
    carried: tuple[Letter, ...]
    said: str


@pytest.fixture
def overheard(
    tmp_path: Path,
    carried: list[Letter],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> Overheard:
    caplog.set_level(logging.DEBUG)
    names = (secrets.token_hex(8), secrets.token_hex(8))
    labels = ", ".join(f'"{name}"' for name in names)
    net = network(tmp_path, features="8", engine="paillier", labels=labels)
    renamed = dict(zip(("routine", "urgent"), names, strict=True))
    net.documents = {
        site: [Document(document.text, renamed[str(document.label)]) for document in mine]
        for site, mine in net.documents.items()
    }

    async def story() -> list[Any]:
        async with net.serving():
            joined = await net.join_all(*SITES)
        async with net.serving(), net.staying("north", "harbour"):
            answer = await net.classify("valley", net.documents["valley"][:5])
            assert len(answer.classes) == 5
        return joined

    joined = asyncio.run(story())
    out, err = capfd.readouterr()
    said = "\n".join((out, err, caplog.text, *map(repr, net.events)))
    return Overheard(net, names, joined[0].study, joined[0].model, tuple(carried), said)


def test_what_the_coordinator_carries_between_others_tells_it_nothing(
    overheard: Overheard,
) -> None:
    net, study, carried = overheard.net, overheard.study, overheard.carried
    between = [
        letter for letter in carried if "coordinator" not in {letter.sender, letter.recipient}
    ]
    assert {letter.recipient for letter in between} >= {"evaluator", *SITES}

    # It tries every key that it has or ever saw, as the key of either end.
    files = SealedFiles(net.place.folder / "studies" / net.study, net.place.at_rest)
    mine = SeatKeys.open(files, "coordinator", entropy=SeededEntropy(1))
    key = files.key_for("journal coordinator")
    with Journal(files.root / "coordinator" / "journal.db", key=key) as journal:
        agreement = kept_agreement(journal, study)
    assert agreement is not None
    assert agreement.boxes["coordinator"] == mine.box.public
    for letter in between:
        with pytest.raises(TheirError):
            kind_of(tag_of(letter.body))
        for box in agreement.boxes.values():
            for recipient in (mine.box.public, agreement.boxes[letter.recipient]):
                address = Address(box, recipient, info=study.digest, label=b"")
                with pytest.raises(TheirError):
                    unseal(letter.body, address, key=mine.box)
        # Sizes come in steps, so that they say little.
        assert padded_size(len(letter.body) - OVERHEAD) == len(letter.body) - OVERHEAD

    # The encrypted model, which its Paillier key would open, passed by: it is in no letter.
    weights = read_model(overheard.model, study)[1].weights.to_bytes()
    pieces = [weights[start : start + 48] for start in range(64, len(weights) - 48, 48)]
    assert pieces
    everything = b"".join(letter.body for letter in carried)
    assert not any(piece in everything for piece in pieces)

    # Its key opens whatever is a ciphertext, wherever it begins: the model's own bytes show it.
    assert opened_anywhere(weights) > 0
    assert sum(opened_anywhere(letter.body) for letter in between) == 0
    for letter in carried:
        if letter not in between:
            leaves = list(leaves_of(study.codec(toy_key().public), letter.body))
            assert sum(map(opened_leaf, leaves)) == 0, tag_of(letter.body)

    # Nor do the names of classes, which consents quote with the whole plan, pass in anything else,
    # lie where they do not belong, or are said aloud.
    quoting = {
        letter.body
        for letter in carried
        if letter not in between and tag_of(letter.body) == "consent"
    }
    rest = b"".join(letter.body for letter in carried if letter.body not in quoting)
    for form in forms_of(overheard.names):
        assert form not in rest
        assert form not in overheard.said.encode()
        for path in net.root.rglob("*"):
            if path.is_file() and path.name not in {"study.toml", "model"}:
                assert form not in path.read_bytes(), path


def forms_of(names: tuple[str, ...]) -> list[bytes]:
    """Names as they could stand in a file."""
    plain = [name.encode() for name in names]
    coded = [form(secret) for secret in plain for form in (b64encode, bytes.hex)]
    return [
        *plain,
        *(secret if isinstance(secret, bytes) else secret.encode() for secret in coded),
        *(name.encode("utf-16-le") for name in names),
    ]


WIDTH = (2 * 768) // 8
# By chance a plaintext is so far below the modulus once in 2^48 times.
FAR = 48


def reads(residues: list[int]) -> int:
    """How many of these the coordinator's key opens to a number that is not noise."""
    key = toy_key()
    modulus = key.public.modulus
    fit = [
        residue for residue in residues if 1 < residue < modulus**2 and gcd(residue, modulus) == 1
    ]
    result = key.residues(fit) if fit else []
    return sum(
        min(residue, modulus - residue).bit_length() < modulus.bit_length() - FAR
        for residue in result
    )


def opened_anywhere(body: bytes) -> int:
    """A run of ciphertexts that begins anywhere has one that begins in each of these windows."""
    starts = {*range(WIDTH + 64), *range(len(body) // 2, len(body) // 2 + WIDTH)}
    pieces = [body[at : at + WIDTH] for at in sorted(starts) if at + WIDTH <= len(body)]
    return reads([int.from_bytes(piece) for piece in pieces])


def opened_leaf(leaf: bytes | int) -> int:
    """A field that could be a ciphertext, read as an integer in both directions."""
    if isinstance(leaf, int):
        return reads([leaf]) if leaf.bit_length() > 8 * WIDTH // 2 else 0
    if len(leaf) < WIDTH // 2:
        return 0
    return reads([int.from_bytes(leaf[-WIDTH:]), int.from_bytes(leaf[:WIDTH], "little")])


def leaves_of(codec: Codec, body: bytes) -> Iterator[bytes | int]:
    """Every number and string of bytes of a message; ciphertexts in it are for the coordinator."""
    yield from _leaves(codec.decode(body, kind_of(tag_of(body))))


def _leaves(value: Any) -> Iterator[bytes | int]:
    if isinstance(value, bytes | int):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _leaves(getattr(value, name))


def swapped(seating: Seating, seat: str) -> Seating:
    """The roster with a key that is not the seat's."""
    seats = tuple(
        SeatRecord(seated.name, seated.organisation, seated.role, b"\x07" * 32)
        if seated.name == seat
        else seated
        for seated in seating.seats
    )
    return Seating(seating.number, seats)


def test_a_relay_that_swaps_a_key_is_caught_by_whose_key_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, of = network(tmp_path), Seating.of

    def lying(number: int, roster: Roster) -> Seating:
        return swapped(of(number, roster), "valley")

    monkeypatch.setattr(Seating, "of", lying)

    async def story() -> list[Any]:
        async with net.serving():
            joining = (net.join(site) for site in SITES)
            return list(await asyncio.gather(*joining, return_exceptions=True))

    caught = asyncio.run(story())[2]
    assert isinstance(caught, ViolationError)
    assert caught.party == "coordinator"
    assert "our own key at the seat 'valley'" in caught.message


def test_a_relay_that_shows_one_site_another_roster_is_heard_in_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Valley is shown another key of the evaluator; who compares hears it, who does not is safe."""
    net, commit = network(tmp_path, stage="2 seconds"), SeatRuntime.commit
    words: dict[str, tuple[str, ...]] = {}

    async def lying(self: SeatRuntime, effect: Effect) -> None:
        letters = [
            (
                name,
                swapped(letter, "evaluator")
                if isinstance(letter, Seating) and name == "valley"
                else letter,
            )
            for name, letter in effect.letters
        ]
        await commit(self, Effect(effect.notes, letters))

    monkeypatch.setattr(SeatRuntime, "commit", lying)

    def noting(site: str) -> Any:
        async def consent(question: ConsentQuestion) -> bool:
            words[site] = question.words
            return True

        return consent

    async def story() -> list[Any]:
        async with net.serving():
            joining = (net.join(site, consent=noting(site)) for site in SITES)
            return list(await asyncio.gather(*joining, return_exceptions=True))

    result = asyncio.run(story())
    assert words["north"] == words["harbour"] != words["valley"]
    assert all(isinstance(error, TheirError) for error in result)
    assert not list(tmp_path.rglob("model"))
