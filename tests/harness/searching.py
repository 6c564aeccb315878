"""Look for many pieces of text or key in large files, all at once."""

from collections.abc import Iterable

import numpy as np

WORD = 8


def first_held(data: bytes, pieces: Iterable[bytes]) -> bytes | None:
    """A piece (of at least 8 bytes) that stands somewhere in the data; None if none does."""
    wanted: dict[int, list[bytes]] = {}
    for piece in pieces:
        assert len(piece) >= WORD
        wanted.setdefault(int.from_bytes(piece[:WORD], "little"), []).append(piece)
    if not wanted:
        return None
    keys = np.array(sorted(wanted), np.uint64)
    # Most words are sorted out by their low bits alone.
    table = np.zeros(1 << 16, np.bool_)
    table[(keys & np.uint64(0xFFFF)).astype(np.intp)] = True
    for shift in range(WORD):
        count = (len(data) - shift) // WORD
        if count <= 0:
            break
        words = np.frombuffer(data, "<u8", count=count, offset=shift)
        near = np.flatnonzero(table[(words & np.uint64(0xFFFF)).astype(np.intp)])
        for index in near[np.isin(words[near], keys)]:
            start = shift + WORD * int(index)
            for piece in wanted[int(words[index])]:
                if data[start : start + len(piece)] == piece:
                    return piece
    return None
