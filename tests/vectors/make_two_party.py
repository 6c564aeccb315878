"""Make tests/vectors/two_party.json: conversations between evaluator and key holder, good and bad.

Run from the repository: PYTHONPATH=.:tests python tests/vectors/make_two_party.py
Toy keys and all entropy come from seeds, so the same bytes come out every time.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from harness.conversations.blocks import BLOCKS, Block
from harness.conversations.transcripts import (
    SEEDS,
    deliver,
    from_json,
    record,
    seated,
    to_json,
    with_body,
)
from harness.two_party import codec_for
from sottovoce.errors import TheirError
from sottovoce.paper.inversion.crossed import MaskedMatrices
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.messages import Enough, Message
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.two_party.comparison import NumberBits, SealedTests
from sottovoce.protocols.two_party.lines import LineProducts, MaskedLines
from sottovoce.protocols.two_party.matrices import Fixed, FixedFactor
from sottovoce.protocols.two_party.products import MaskedFactors, Products
from sottovoce.protocols.two_party.truncation import MaskedTruncation, Truncated

FILE = Path(__file__).with_name("two_party.json")
NAMES = (
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
    "solve with its check",
    "inverse of order 2 in 2 steps",
)

Edit = Callable[[Packet, Block], Packet]


def block_of(name: str) -> Block:
    """The block of this name."""
    return next(block for block in BLOCKS if block.name == name)


def main() -> None:
    """Write the file."""
    good = {name: record(block_of(name)) for name in NAMES}
    vectors = {
        "provenance": "made by tests/vectors/make_two_party.py; toy keys, all entropy from seeds",
        "seeds": SEEDS,
        "good": [
            {
                "block": name,
                "bits": block_of(name).bits,
                "key": block_of(name).key.public.fingerprint,
                "packets": [to_json(packet) for packet in packets],
                "found": result,
            }
            for name, (packets, result) in good.items()
        ],
        "bad": [bad_case(good[case[1]][0], *case) for case in cases()],
    }
    FILE.write_text(json.dumps(vectors, indent=1) + "\n", encoding="utf-8")


def bad_case(
    packets: list[Packet], case: str, name: str, recipient: str, number: int, edit: Edit
) -> dict[str, Any]:
    """The edited packet, how many honest ones come before it, and what it is refused with."""
    block = block_of(name)
    honest = [packet for packet in packets if packet.recipient == recipient]
    wrong = edit(honest[number], block)
    seat = seated(block, recipient)
    for packet in honest[:number]:
        deliver(seat, packet, block)
    try:
        deliver(seat, from_json(to_json(wrong)), block)
    except TheirError as error:
        return {
            "case": case,
            "block": name,
            "after": number,
            "packet": to_json(wrong),
            "error": type(error).__name__,
            "party": error.party,
            "words": error.message,
        }
    raise AssertionError(f"{case}: was not refused")


def message(kind: type[Message], change: Callable[[Any, Block], Message]) -> Edit:
    """An edit of the message inside."""

    def edit(packet: Packet, block: Block) -> Packet:
        codec = codec_for(block.key)
        return with_body(packet, codec.encode(change(codec.decode(packet.body, kind), block)))

    return edit


def replaced(**fields: Any) -> Callable[[Any, Block], Message]:
    """The same message with other fields."""
    return lambda packet, _: msgspec.structs.replace(packet, **fields)


def packet(**fields: Any) -> Edit:
    """An edit of the packet around the message."""
    return lambda packet, _: msgspec.structs.replace(packet, **fields)


def cases() -> Iterator[tuple[str, str, str, int, Edit]]:
    """What is wrong, in which block, at whom, which packet, and how."""
    ask, answer = KEY_HOLDER, EVALUATOR
    yield "another session", "multiply", ask, 0, packet(session=b"another")
    yield "a number too far", "multiply", ask, 0, packet(number=1)
    yield "a negative number", "multiply", ask, 0, packet(number=-1)
    yield "from nobody at this table", "multiply", ask, 0, packet(sender="mallory")
    yield "to somebody else", "multiply", ask, 0, packet(recipient="mallory")
    yield "bytes cut short", "multiply", ask, 0, lambda p, _: with_body(p, p.body[:-1])
    yield "bytes too many", "multiply", ask, 0, lambda p, _: with_body(p, p.body + b"\0")
    yield "no message", "multiply", ask, 0, lambda p, _: with_body(p, b"\x91\xa4what")
    yield "another key", "multiply", ask, 0, _another_key
    yield "another kind of question", "multiply", ask, 0, _kind(Fixed())
    yield "an answer of another kind", "multiply", answer, 0, _kind(Enough())
    yield "an answer cut short", "multiply", answer, 0, lambda p, _: with_body(p, p.body[:-1])
    yield (
        "factors of unlike shape",
        "multiply",
        ask,
        0,
        message(MaskedFactors, lambda m, _: MaskedFactors(m.left, m.right[:2])),
    )
    yield (
        "fewer products than asked",
        "multiply",
        answer,
        0,
        message(Products, lambda m, _: Products(m.values[:2])),
    )
    yield (
        "more bits to cut than there are",
        "truncate packed",
        ask,
        0,
        message(MaskedTruncation, replaced(bits=99)),
    )
    yield (
        "quotients on another grid",
        "truncate packed",
        answer,
        0,
        message(Truncated, lambda m, _: Truncated(m.values.divided(1))),
    )
    yield "no lines", "cut and multiply lines", ask, 0, message(MaskedLines, replaced(lines=()))
    yield (
        "a line too few",
        "cut and multiply lines",
        answer,
        0,
        message(LineProducts, lambda m, _: LineProducts(m.spread[:1], m.products)),
    )
    yield (
        "an operand in no place",
        "matrix product",
        ask,
        0,
        message(FixedFactor, replaced(place=7)),
    )
    yield (
        "an operand that is not masked",
        "matrix product",
        ask,
        0,
        message(FixedFactor, lambda m, block: FixedFactor(_bare(block))),
    )
    yield "a squaring too many", "exponential", ask, 6, _repeated_elsewhere
    yield (
        "bits and what is above them exchanged",
        "signs",
        answer,
        0,
        message(NumberBits, lambda m, _: NumberBits(m.above, m.bits)),
    )
    yield (
        "tests of no numbers",
        "sealed signs",
        ask,
        1,
        message(SealedTests, replaced(numbers=0)),
    )
    yield (
        "products of matrices that are not there",
        "inverse of order 2 in 2 steps",
        ask,
        0,
        message(MaskedMatrices, lambda m, _: MaskedMatrices((), m.products)),
    )


def _kind(other: Message) -> Edit:
    return lambda p, block: with_body(p, codec_for(block.key).encode(other))


def _another_key(packet: Packet, block: Block) -> Packet:
    own = block.key.public.identity
    return with_body(packet, packet.body.replace(own, own[::-1], 1))


def _bare(block: Block) -> Any:
    """The matrix without masks on it."""
    from harness.conversations.blocks import MATRIX, ROWS, SCALE, seal
    from harness.entropy import SeededEntropy

    matrix = seal(block.key, MATRIX, SCALE, slots=ROWS)
    return matrix.for_key_holder(entropy=SeededEntropy(98))


def _repeated_elsewhere(packet: Packet, block: Block) -> Packet:
    """In the place of the goodbye, one more question: masked anew, so it is no repeat."""
    from harness.entropy import SeededEntropy
    from sottovoce.protocols.conversation import Ask

    action = next(block.start(block.key)(SeededEntropy(99)))
    assert isinstance(action, Ask)
    return with_body(packet, codec_for(block.key).encode(action.question))


if __name__ == "__main__":
    main()
