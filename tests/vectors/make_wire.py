"""Make tests/vectors/wire.json: values with their one encoding, and bytes that encode nothing.

Run from the repository: PYTHONPATH=tests python tests/vectors/make_wire.py
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sottovoce.errors import MalformedError
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec, Integers, Value, Words

HERE = Path(__file__).parent
KINDS: dict[str, type[Value]] = {"words": Words, "integers": Integers, "packet": Packet}

GOOD: list[Value] = [
    Words.of(np.zeros((), np.uint64)),
    Words.of(np.zeros((0, 5), np.uint64)),
    Words.of(np.array([[1, 2**64 - 1], [2**63, 0]], np.uint64)),
    Integers.of([], modulus=2),
    Integers.of([0, 1, 96], modulus=97),
    Integers.of([2**200 + 1, 0], modulus=2**201),
    Packet(b"", "alice", "bob", 0, b""),
    Packet(bytes(range(32)), "alice", "key holder", 2**40, bytes(300)),
]


def bad() -> list[tuple[str, bytes]]:
    """Bytes that a lazy decoder would take for one of the values above."""
    pack = msgspec.msgpack.encode
    packet = ["packet", b"", "alice", "bob", 0, b""]
    return [
        ("words", pack(["words", [2], bytes(8)])),
        ("words", pack(["words", [-1], b""])),
        ("words", pack(["words", [2**32, 2**32], b""])),
        ("words", pack(["words", [1] * 9, bytes(8)])),
        ("words", pack(["words", "1", bytes(8)])),
        ("words", pack(["words", [1], "12345678"])),
        ("words", pack(["words", [True], bytes(8)])),
        ("words", pack(["words", [1.0], bytes(8)])),
        ("words", pack(["Words", [1], bytes(8)])),
        ("words", pack(["words", [1], bytes(8), 0])),
        ("words", pack(["words", [1]])),
        ("words", pack({"shape": [1], "data": bytes(8)})),
        ("words", b"\x93\xa5words\x91\xcc\x01\xc4\x08" + bytes(8)),
        ("words", b"\x93\xa5words\x91\x01\xc5\x00\x08" + bytes(8)),
        ("words", b"\x93\xd9\x05words\x91\x01\xc4\x08" + bytes(8)),
        ("words", b"\xdd\x00\x00\x00\x03\xa5words\x91\x01\xc4\x08" + bytes(8)),
        ("words", b"\x93\xa5words\xdd\xff\xff\xff\xff\x01\xc4\x08" + bytes(8)),
        ("words", b"\x93\xa5words\x91\x01\xc6\xff\xff\xff\xff" + bytes(8)),
        ("integers", pack(["integers", 0, b""])),
        ("integers", pack(["integers", 2, b"abc"])),
        ("integers", pack(["integers", -1, b"abc"])),
        ("integers", pack(["words", [0], b""])),
        ("packet", pack(packet) + b"\x00"),
        ("packet", pack(packet)[:-1]),
        ("packet", pack([*packet[:2], None, *packet[3:]])),
        ("packet", pack([*packet[:2], b"alice", *packet[3:]])),
        ("packet", b"\x96\xa6packet\xc4\x00\xa1\xff\xa3bob\x00\xc4\x00"),
        ("packet", b"\x91" * 20 + b"\x00"),
        ("packet", b""),
        ("packet", b"\xc1"),
    ]


def complaint(kind: str, data: bytes) -> str:
    """What the codec says about bytes that it refuses."""
    try:
        Codec().decode(data, KINDS[kind])
    except MalformedError as error:
        return error.message
    raise AssertionError(data)


def main() -> None:
    """Write the file."""
    made: dict[str, Any] = {
        "provenance": "made by tests/vectors/make_wire.py; the bad ones were written by hand",
        "good": [
            {
                "kind": type(value).__name__.lower(),
                "fields": [plain(getattr(value, name)) for name in value.__struct_fields__],
                "bytes": Codec().encode(value).hex(),
            }
            for value in GOOD
        ],
        "bad": [
            {"kind": kind, "bytes": data.hex(), "complaint": complaint(kind, data)}
            for kind, data in bad()
        ],
    }
    text = json.dumps(made, indent=1, ensure_ascii=False)
    (HERE / "wire.json").write_text(text + "\n", encoding="utf-8")


def plain(part: object) -> object:
    """A field as JSON: bytes in hex, tuples as lists."""
    if isinstance(part, bytes):
        return part.hex()
    return list(part) if isinstance(part, tuple) else part


if __name__ == "__main__":
    main()
