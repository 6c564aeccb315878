"""Bytes and texts with something done to them: the raw material of fuzzing."""

from random import Random

# Beginnings of msgpack values that promise more than follows, or what never travels.
PROMISES = (
    b"\xdd\xff\xff\xff\xff",
    b"\xdc\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xcf" + b"\xff" * 8,
    b"\xd3\x80" + b"\0" * 7,
    b"\xcb" + b"\x7f\xf0" + b"\0" * 6,
    b"\xdf\xff\xff\xff\xff",
    b"\xc0",
    b"\x90",
    b"\xa0",
    b"\xc4\x00",
    b"\x91" * 40,
)


def mangled(data: bytes, random: Random) -> bytes:
    """The same with a few changes: flipped, cut, repeated, moved, or made to promise much."""
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(result) + 1)
        match random.randrange(8):
            case 0 if result:
                result[at % len(result)] ^= 1 << random.randrange(8)
            case 1 if result:
                result[at % len(result)] = random.randrange(256)
            case 2:
                del result[at:]
            case 3:
                del result[at : at + random.randrange(1, 9)]
            case 4:
                result[at:at] = random.randbytes(random.randrange(1, 9))
            case 5:
                result[at:at] = random.choice(PROMISES)
            case 6:
                end = at + random.randrange(1, 40)
                result[at:at] = result[at:end]
            case 7:
                result[at : at + 5] = random.choice(PROMISES)
    return bytes(result)


def mangled_text(text: str, random: Random) -> str:
    """The same for a text that people write."""
    signs = "\"'[]{}=,.#\\\n\t\0 -+_0aeé🜛\u202e\ud7ff\x7f"
    result = text
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(result) + 1)
        match random.randrange(6):
            case 0:
                result = result[:at] + random.choice(signs) + result[at + 1 :]
            case 1:
                result = result[:at] + result[at + random.randrange(1, 30) :]
            case 2:
                result = result[:at] + random.choice(signs) * random.randrange(1, 50) + result[at:]
            case 3:
                end = at + random.randrange(1, 200)
                result = result[:at] + result[at:end] + result[at:]
            case 4:
                number = random.choice(("1e999", "-1", "99999999999999999999", "nan", "true", "[]"))
                result = result[:at] + number + result[at:]
            case 5:
                lines = result.splitlines(keepends=True)
                random.shuffle(lines)
                result = "".join(lines)
    return result
