"""Every message of every block in every state, wrong in every way, names its sender."""

from collections.abc import Callable

import msgspec
import pytest

from harness.conversations.blocks import BLOCKS, Block
from harness.entropy import SeededEntropy
from harness.meddling import Change
from harness.two_party import codec_for
from sottovoce.errors import AbsenceError, MalformedError, TheirError, ViolationError
from sottovoce.paillier import Ciphertext
from sottovoce.protocols.conversation import EVALUATOR
from sottovoce.protocols.messages import Enough
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.two_party.in_memory import run
from sottovoce.protocols.two_party.matrices import Fixed
from sottovoce.protocols.view import leaves

NAMES = {
    "multiply",
    "inner product",
    "outer product",
    "matrix product",
    "cut vector times fixed matrix",
    "truncate packed",
    "cut and multiply lines",
    "exponential",
    "divide",
    "logarithm",
    "signs",
    "sealed signs",
    "solve",
    "inverse of order 2 in 2 steps",
}
CHOSEN = [block for block in BLOCKS if block.name in NAMES]
assert {block.name for block in CHOSEN} == NAMES

Turn = Callable[[Packet, Block], Packet]


def talk(block: Block, meddler: Meddler | None = None) -> Outcome:
    key = block.key
    program = block.start(key)(SeededEntropy(2))
    return run(program, block.stages(key, SeededEntropy(3)), key=key, meddler=meddler)


def another_kind(packet: Packet, block: Block) -> Packet:
    other = Fixed() if packet.sender == EVALUATOR else Enough()
    return msgspec.structs.replace(packet, body=codec_for(block.key).encode(other))


def cut_short(packet: Packet, block: Block) -> Packet:
    return msgspec.structs.replace(packet, body=packet.body[:-1])


def another_key(packet: Packet, block: Block) -> Packet:
    own = block.key.public.identity
    assert own in packet.body
    return msgspec.structs.replace(packet, body=packet.body.replace(own, own[::-1], 1))


def another_session(packet: Packet, block: Block) -> Packet:
    return msgspec.structs.replace(packet, session=b"another")


def one_too_far(packet: Packet, block: Block) -> Packet:
    return msgspec.structs.replace(packet, number=packet.number + 1)


TURNS: dict[Turn, type[TheirError]] = {
    another_kind: ViolationError,
    cut_short: MalformedError,
    another_key: MalformedError,
    another_session: ViolationError,
    one_too_far: ViolationError,
}


def the_one(sender: str, number: int) -> Callable[[Packet], bool]:
    """Picks one packet of the conversation."""
    return lambda packet: (packet.sender, packet.number) == (sender, number)


@pytest.mark.parametrize("block", CHOSEN, ids=lambda block: block.name)
def test_every_message_in_every_state_wrong_in_every_way_names_its_sender(block: Block) -> None:
    for view in talk(block).views.values():
        for number, item in enumerate(view.received):
            sealed = any(isinstance(leaf, Ciphertext) for leaf in leaves(item.message))
            for turn, error in TURNS.items():
                if isinstance(item.message, Enough) or (turn is another_key and not sealed):
                    continue
                when = the_one(item.sender, number)
                meddler = Change(when, lambda packet, turn=turn: (turn(packet, block),))
                with pytest.raises(TheirError) as caught:
                    talk(block, meddler)
                assert isinstance(caught.value, error), (item, turn, caught.value)
                assert caught.value.party == item.sender, (item, turn, caught.value)
                assert meddler.done == 1


@pytest.mark.parametrize("block", CHOSEN[:8], ids=lambda block: block.name)
def test_a_lost_message_stops_it_and_a_repeated_one_changes_nothing(block: Block) -> None:
    honest = talk(block)
    for view in honest.views.values():
        first = the_one(view.received[0].sender, 0)
        with pytest.raises(AbsenceError, match=r"no program can continue: .* waits for"):
            talk(block, Change(first, lambda packet: ()))
        again = talk(block, Change(first, lambda packet: (packet, packet)))
        expected = block.outcome_of(block.key, honest.results[EVALUATOR])
        assert block.outcome_of(block.key, again.results[EVALUATOR]) == expected
