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
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(found) + 1)
        match random.randrange(8):
            case 0 if found:
                found[at % len(found)] ^= 1 << random.randrange(8)
            case 1 if found:
                found[at % len(found)] = random.randrange(256)
            case 2:
                del found[at:]
            case 3:
                del found[at : at + random.randrange(1, 9)]
            case 4:
                found[at:at] = random.randbytes(random.randrange(1, 9))
            case 5:
                found[at:at] = random.choice(PROMISES)
            case 6:
                end = at + random.randrange(1, 40)
                found[at:at] = found[at:end]
            case 7:
                found[at : at + 5] = random.choice(PROMISES)
    return bytes(found)


def mangled_text(text: str, random: Random) -> str:
    """The same for a text that people write."""
    signs = "\"'[]{}=,.#\\\n\t\0 -+_0aeé🜛\u202e\ud7ff\x7f"
    found = text
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(found) + 1)
        match random.randrange(6):
            case 0:
                found = found[:at] + random.choice(signs) + found[at + 1 :]
            case 1:
                found = found[:at] + found[at + random.randrange(1, 30) :]
            case 2:
                found = found[:at] + random.choice(signs) * random.randrange(1, 50) + found[at:]
            case 3:
                end = at + random.randrange(1, 200)
                found = found[:at] + found[at:end] + found[at:]
            case 4:
                number = random.choice(("1e999", "-1", "99999999999999999999", "nan", "true", "[]"))
                found = found[:at] + number + found[at:]
            case 5:
                lines = found.splitlines(keepends=True)
                random.shuffle(lines)
                found = "".join(lines)
    return found
