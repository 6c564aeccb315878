"""The encodings on file: what a second implementation would have to write and refuse."""

import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from sottovoce.errors import MalformedError
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec, Integers, Value, Words
from sottovoce.wire.values import Blob

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "wire.json").read_text(encoding="utf-8")
)
KINDS: dict[str, type[Value]] = {"words": Words, "integers": Integers, "packet": Packet}


def typed(kind: type[Value], fields: list[Any]) -> Value:
    hints = get_type_hints(kind)
    parts = []
    for name, part in zip(kind.__struct_fields__, fields, strict=True):
        is_bytes = hints[name] in {bytes, Blob}
        parts.append(
            bytes.fromhex(part) if is_bytes else tuple(part) if isinstance(part, list) else part
        )
    return kind(*parts)


@pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda vector: vector["kind"])
def test_good(vector: dict[str, Any]) -> None:
    kind, data = KINDS[vector["kind"]], bytes.fromhex(vector["bytes"])
    value = typed(kind, vector["fields"])
    assert Codec().encode(value) == data
    assert Codec().decode(data, kind) == value


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=lambda vector: vector["bytes"][:30])
def test_bad(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedError) as caught:
        Codec().decode(bytes.fromhex(vector["bytes"]), KINDS[vector["kind"]])
    assert caught.value.message == vector["complaint"]
