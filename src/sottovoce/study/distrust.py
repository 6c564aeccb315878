"""The positions of distrusted columns, which get a penalty of their own, from their names."""

from collections.abc import Sequence

from sottovoce.errors import InputError
from sottovoce.text.columns import Column


def distrusted_places(
    names: Sequence[str], *, words: Sequence[str], beside: int = 0, columns: Sequence[Column] = ()
) -> tuple[int, ...]:
    """Return the positions of given words and further columns in a row.

    `beside` is the number of columns of other blocks between the two. A column of categories stands
    for all its values: a block of the paper's Γ.
    """
    places: dict[str, tuple[int, ...]] = {word: (place,) for place, word in enumerate(words)}
    start = len(words) + beside
    for column in columns:
        places[column.name] = tuple(range(start, start + column.width))
        start += column.width
    stranger = next((name for name in names if name not in places), None)
    if stranger is not None:
        raise InputError(
            f"expected words of a given dictionary, or further columns, found {stranger!r}",
            place="distrusted",
            setting="distrusted",
        )
    return tuple(place for name in dict.fromkeys(names) for place in places[name])
