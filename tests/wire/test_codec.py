"""One encoding per value: what decodes, what is refused, and that nothing else ever happens."""

import random
import tracemalloc
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import BoundError, MalformedError, MismatchError, MisuseError
from sottovoce.wire import Codec, Hook, Integers, ShortWords, Value, Words
from sottovoce.wire.codec import tag_of
from sottovoce.wire.skeleton import MAX_DEPTH, MAX_ITEMS, check_skeleton
from sottovoce.wire.tags import kebab

MODULUS = 10**30 + 57


class Inner(Value, frozen=True):
    words: Words
    residues: Integers


class Sample(Value, frozen=True):
    count: int
    name: str
    flag: bool
    data: bytes
    parts: tuple[Inner, ...]
    either: Words | Integers
    maybe: int | None
    colour: Literal["red", "blue"]
    pair: tuple[int, str]


def sample(rng: random.Random) -> Sample:
    def words() -> Words:
        shape = tuple(rng.randrange(3) for _ in range(rng.randrange(3)))
        return Words.of(np.full(shape, rng.randrange(2**64), np.uint64))

    def residues() -> Integers:
        return Integers.of(
            [rng.randrange(MODULUS) for _ in range(rng.randrange(4))], modulus=MODULUS
        )

    return Sample(
        rng.choice([0, -1, 2**63, rng.randrange(-(2**63), 2**64)]),
        rng.choice(["", "ä", "x" * 300]),
        rng.random() < 0.5,
        rng.randbytes(rng.randrange(300)),
        tuple(Inner(words(), residues()) for _ in range(rng.randrange(20))),
        rng.choice([words(), residues()]),
        rng.choice([None, 7]),
        rng.choice(["red", "blue"]),
        (rng.randrange(100), "ok"),
    )


@given(st.randoms(use_true_random=False))
def test_a_value_survives_its_bytes(rng: random.Random) -> None:
    value = sample(rng)
    data = Codec().encode(value)
    assert Codec().decode(data, Sample) == value
    assert tag_of(data) == "sample"
    check_skeleton(data)


@pytest.mark.parametrize("seed", range(40))
def test_changed_bytes_are_refused_or_another_value(seed: int) -> None:
    """Flip, cut, insert, splice: never anything but a value that encodes to just these bytes."""
    rng, codec = random.Random(seed), Codec(limit=10_000)
    data = codec.encode(sample(rng))
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(changed) + 1)
            match rng.randrange(4):
                case 0 if place < len(changed):
                    changed[place] = rng.randrange(256)
                case 1:
                    changed[place:place] = rng.randbytes(rng.randrange(5))
                case 2:
                    del changed[place : place + rng.randrange(5)]
                case _:
                    other = rng.randrange(len(data))
                    changed[place : place + 8] = data[other : other + 8]
        try:
            value = codec.decode(bytes(changed), Sample)
        except MalformedError:
            continue
        assert codec.encode(value) == bytes(changed)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        Codec().decode(data, Sample)


@given(st.lists(st.sampled_from(b"\x91\x92\x9f\xdc\xdd\xff\xc4\xc6\xda\xa0\x00\xc0"), max_size=60))
def test_headers_alone_are_refused(codes: list[int]) -> None:
    with pytest.raises(MalformedError):
        Codec().decode(bytes(codes), Sample)


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdc\xff\xff",
        b"\x99\xa6sample\xdd\x7f\xff\xff\xff" + bytes(100),
        b"\xc6\xff\xff\xff\xff" + bytes(100),
        b"\xdb\xff\xff\xff\xff" + bytes(100),
        b"\xdd\x00\x00\xff\xff" + b"\xdd\x00\x00\xff\xf0" * 9000,
        b"\x91" * 100_000 + b"\xc0",
        b"\xdd\x00\x20\x00\x00" + b"\x90" * 2**21,
        b"\xdd\x00\x02\x00\x00" + (b"\x91" * 13 + b"\x00") * 2**17,
    ],
)
def test_a_promise_of_much_allocates_little(data: bytes) -> None:
    codec = Codec()
    codec.encode(sample(random.Random(0)))
    tracemalloc.start()
    with pytest.raises(MalformedError):
        codec.decode(data, Sample)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000 + 20 * len(data)


def encode(items: Any) -> bytes:
    return msgspec.msgpack.encode(items)


class Point(Value, frozen=True):
    x: int
    y: int = 0


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (encode(["point", 1, 2]) + b"\x00", "1 bytes after its end"),
        (encode(["point", 1, 2])[:-1], "inside a value"),
        (encode(["point", 1]), "Point: expected 2 fields, found 1"),
        (encode(["point", [1], 2]), "Point.x: expected int, found a row"),
        (encode([]), "expected the tag"),
        (encode(["point", 1, 2, 3]), "Point: expected 2 fields, found 3"),
        (encode(["points", 1, 2]), "Point: expected the tag 'point', found another"),
        (encode(["point", "1", 2]), "Point.x: expected int, found str"),
        (encode(["point", True, 2]), "Point.x: expected int, found bool"),
        (encode(["point", None, 2]), "Point.x: expected int, found NoneType"),
        (encode(["point", 1.0, 2]), "opens a type that never travels"),
        (encode({"type": "point", "x": 1, "y": 2}), "opens a type that never travels"),
        (encode(["point", msgspec.msgpack.Ext(1, b"x"), 2]), "opens a type that never travels"),
        (b"\x93\xa5point\xcc\x01\x02", "not the one encoding"),
        (b"\x93\xa5point\xd3" + bytes(7) + b"\x01\x02", "not the one encoding"),
        (b"\xdc\x00\x03\xa5point\x01\x02", "not the one encoding"),
        (b"\x93\xd9\x05point\x01\x02", "not the one encoding"),
        (b"\xc1", "opens a type that never travels"),
        (b"", "ends at byte 0"),
        (b"\x01", "Point: expected a record, found int"),
    ],
)
def test_there_is_no_second_way_to_write_a_value(data: bytes, complaint: str) -> None:
    assert Codec().decode(encode(["point", 1, 2]), Point) == Point(1, 2)
    with pytest.raises(MalformedError, match=complaint):
        Codec().decode(data, Point)


def test_words_must_fill_their_shape() -> None:
    for shape, size in (((3,), 16), ((2, 2), 40), ((), 0), ((-1, -1), 8), ((1,) * 9, 8)):
        with pytest.raises(MalformedError, match="words: expected"):
            Codec().decode(encode(["words", shape, bytes(size)]), Words)
    with pytest.raises(MismatchError, match="expected an array of uint64, found int64"):
        Words.of(np.zeros(3, np.int64))  # type: ignore[arg-type]
    array = Words.of(np.arange(6, dtype=np.uint64).reshape(2, 3)).array()
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not array.flags.writeable
    turned = Words.of(np.arange(6, dtype=np.uint64).reshape(2, 3).T)
    assert turned.array().tolist() == [[0, 3], [1, 4], [2, 5]]


@given(st.integers(2, 2**200), st.data())
def test_residues_have_the_width_of_their_modulus(modulus: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, modulus - 1), max_size=5))
    residues = Integers.of(values, modulus=modulus)
    assert residues.read(modulus=modulus) == values
    assert len(residues) == len(values)
    assert all(residues.width * 8 >= value.bit_length() for value in values)


def test_residues_that_are_none() -> None:
    residues = Integers.of([96], modulus=97)
    with pytest.raises(MalformedError, match="found one above"):
        residues.read(modulus=90)
    with pytest.raises(MalformedError, match="expected a width of 2 bytes, found 1"):
        residues.read(modulus=1000)
    for values in ([97], [-1]):
        with pytest.raises(MismatchError, match="found one outside"):
            Integers.of(values, modulus=97)
    with pytest.raises(MismatchError, match="modulus of at least 2, found 1"):
        Integers.of([], modulus=1)
    for width, data in ((0, b""), (-1, b"x"), (2, b"xxx")):
        with pytest.raises(MalformedError, match="integers: expected a multiple"):
            Codec().decode(encode(["integers", width, data]), Integers)


@dataclass(frozen=True)
class Sealed:
    """A stand-in for a ciphertext: known only to a layer above."""

    value: int


@dataclass(frozen=True)
class Unsent:
    value: int


class Carrier(Value, frozen=True):
    sealed: tuple[Sealed, ...]


def hook(modulus: int) -> Hook[Sealed, Integers]:
    return Hook(
        Sealed,
        Integers,
        lambda sealed: Integers.of([sealed.value], modulus=modulus),
        lambda form: Sealed(*form.read(modulus=modulus)),
    )


def test_a_type_of_a_layer_above_travels_through_its_hook() -> None:
    codec = Codec([hook(97)])
    carrier = Carrier((Sealed(5), Sealed(96)))
    data = codec.encode(carrier)
    assert codec.decode(data, Carrier) == carrier
    with pytest.raises(MalformedError, match="found one above"):
        Codec([hook(90)]).decode(data, Carrier)
    with pytest.raises(MalformedError, match="expected a width"):
        Codec([hook(1000)]).decode(data, Carrier)
    with pytest.raises(MalformedError, match="Carrier: "):
        codec.decode(encode(["carrier", [["integers", 1, b"\1\2"]]]), Carrier)
    with pytest.raises(MalformedError, match="Carrier: "):
        codec.decode(encode(["carrier", [5]]), Carrier)
    with pytest.raises(MisuseError, match=r"Carrier.sealed: expected a type that may travel"):
        Codec().encode(carrier)
    with pytest.raises(MisuseError, match="Unsent: a value of this type has no encoding"):
        codec.encode(Carrier((Unsent(5),)))  # type: ignore[arg-type]


class HasFloat(Value, frozen=True):
    value: float


class HasList(Value, frozen=True):
    value: tuple[list[int], ...]


class HasDict(Value, frozen=True):
    value: dict[str, int]


class HasAny(Value, frozen=True):
    value: Any


class HasTwins(Value, frozen=True):
    value: Sealed | Integers


class HasRows(Value, frozen=True):
    value: int | tuple[int, ...]


class Loose(msgspec.Struct):
    value: int


class HasLoose(Value, frozen=True):
    value: Loose


@pytest.mark.parametrize("kind", [HasFloat, HasList, HasDict, HasAny, HasLoose])
def test_a_type_with_more_than_one_encoding_never_travels(kind: type[Value]) -> None:
    with pytest.raises(MisuseError, match=r"\.value: expected a type that may travel"):
        Codec().encode(kind(None))  # type: ignore[call-arg]


def test_a_union_must_be_told_apart_by_its_bytes() -> None:
    with pytest.raises(MisuseError, match=r"HasTwins.value: two options of the union"):
        Codec([hook(97)]).encode(HasTwins(Sealed(1)))
    with pytest.raises(MisuseError, match=r"HasRows.value: expected records and leaves"):
        Codec().encode(HasRows(1))


class Tree(Value, frozen=True):
    children: tuple["Tree", ...]


def test_a_record_may_contain_its_own_kind() -> None:
    tree = Tree((Tree(()), Tree((Tree(()),))))
    assert Codec().decode(Codec().encode(tree), Tree) == tree


@pytest.mark.parametrize(
    ("place", "item", "complaint"),
    [
        (5, 3, r"Sample.parts: expected a row, found int"),
        (6, ["inner", 1, 2], r"Sample.either: expected one of 2 types, found none"),
        (6, [["words"]], r"Sample.either: expected one of 2 types, found none"),
        (7, "x", r"Sample.maybe: expected one of 2 types"),
        (7, True, r"Sample.maybe: expected one of 2 types"),
        (8, "green", r"Sample.colour: expected one of .*, found another value"),
        (8, 0, r"Sample.colour: expected one of"),
        (9, [1], r"Sample.pair: expected 2 items"),
        (9, [1, 2], r"Sample.pair: expected str, found int"),
    ],
)
def test_every_field_type_says_what_it_expected(place: int, item: Any, complaint: str) -> None:
    items = msgspec.msgpack.decode(Codec().encode(sample(random.Random(3))))
    items[place] = item
    with pytest.raises(MalformedError, match=complaint):
        Codec().decode(encode(items), Sample)


def test_limits() -> None:
    with pytest.raises(BoundError, match="an int of more than 64 bits travels as Integers"):
        Codec().encode(Point(2**64))
    with pytest.raises(BoundError, match="Words: expected at most 100 bytes, found"):
        Codec(limit=100).encode(Words.of(np.zeros(20, np.uint64)))
    data = Codec().encode(Words.of(np.zeros(20, np.uint64)))
    with pytest.raises(MalformedError, match="expected at most 100 bytes, found"):
        Codec(limit=100).decode(data, Words)
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(MalformedError, match="nested deeper than 16"):
        Codec().decode(encode([deep]), Point)


class Row(Value, frozen=True):
    numbers: tuple[int, ...]


def test_a_message_has_few_items_because_each_costs_an_object() -> None:
    most = Row((0,) * (MAX_ITEMS - 3))
    assert Codec().decode(Codec().encode(most), Row) == most
    with pytest.raises(BoundError, match=f"Row: expected at most {MAX_ITEMS} items, found more"):
        Codec().encode(Row((0,) * (MAX_ITEMS - 2)))
    with pytest.raises(MalformedError, match=f"expected at most {MAX_ITEMS} items, found more"):
        Codec().decode(encode(["row", [0] * (MAX_ITEMS - 2)]), Row)


@pytest.mark.parametrize("shape", [(0, 2**62), (2**64 - 1, 0), (0, 2**30, 2**30)])
def test_an_empty_array_has_sides_that_an_array_can_have(shape: tuple[int, ...]) -> None:
    with pytest.raises(MalformedError, match="expected sides that an array can have"):
        Codec().decode(encode(["words", shape, b""]), Words)


def test_a_log_sees_no_content() -> None:
    secret = Inner(Words.of(np.full(3, 12345, np.uint64)), Integers.of([54321], modulus=MODULUS))
    assert "12345" not in repr(secret)
    assert "54321" not in repr(secret)
    assert repr(secret) == "Inner(words, residues)"
    assert repr(secret.words) == "Words(shape=(3,))"
    assert repr(secret.residues) == "Integers(1 of 13 bytes)"
    assert secret.__rich_repr__() == []


def test_tags() -> None:
    assert kebab("MaskedProduct") == "masked-product"
    assert kebab("HTTPAnswer2Go") == "http-answer2-go"
    for data in (b"", b"\x91", b"\x05\xa1x", b"\x91\x05", b"\x90\xa1x"):
        with pytest.raises(MalformedError, match="headed by its tag"):
            tag_of(data)
    with pytest.raises(MalformedError, match="a tag in ascii"):
        tag_of(b"\x91\xa1\xff")


class Long(Value, frozen=True):
    words: Words
    data: bytes
    either: bytes | int
    further: tuple[Words, ...]


def long_value() -> Long:
    words = [Words.of(np.arange(2**13 + more, dtype=np.uint64)) for more in (0, 1, -1)]
    data = bytes(range(256)) * 256
    return Long(words[0], data, data[1:], (words[1], words[2], Words.of(words[1].array()[:3])))


def test_long_words_are_views_of_their_message_and_other_long_bytes_are_bytes() -> None:
    value = long_value()
    data = Codec().encode(value)
    back = Codec().decode(data, Long)
    assert back == value
    assert Codec().encode(back) == data
    assert type(back.data) is bytes
    assert type(back.either) is bytes
    assert back.words.data.obj is data  # type: ignore[union-attr]  # a view
    assert not back.words.array().flags.writeable
    assert (back.further[0].array() == value.further[0].array()).all()
    assert msgspec.msgpack.decode(data)[1][2] == value.words.data


@pytest.mark.parametrize("seed", range(20))
def test_changed_headers_of_long_bytes_are_refused_or_another_value(seed: int) -> None:
    rng, codec = random.Random(seed), Codec()
    data = codec.encode(long_value())
    places = [place.header for place in check_skeleton(data)]
    for _ in range(60):
        changed = bytearray(data)
        changed[rng.choice(places) + rng.randrange(-2, 6)] = rng.randrange(256)
        try:
            value = codec.decode(bytes(changed), Long)
        except MalformedError:
            continue
        assert codec.encode(value) == bytes(changed)


def test_an_extension_in_a_message_is_refused_beside_long_bytes() -> None:
    data = Codec().encode(long_value())
    end = data.rindex(b"\xc4")
    with pytest.raises(MalformedError, match="opens a type that never travels"):
        Codec().decode(data[:end] + b"\xd6\x00" + bytes(4) + data[end:], Long)


def test_words_that_view_an_array_are_those_that_copy_it() -> None:
    array = np.arange(24, dtype=np.uint64).reshape(4, 6)
    for part in (array, array[:, ::2], array[:0], array.T):
        short = part.astype(np.uint32)
        assert Codec().encode(Words.viewing(part)) == Codec().encode(Words.of(part))
        assert Codec().encode(ShortWords.viewing(short)) == Codec().encode(ShortWords.of(short))
    with pytest.raises(MismatchError, match="expected an array of uint64, found int64"):
        Words.viewing(array.astype(np.int64))  # type: ignore[arg-type]
