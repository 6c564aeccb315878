"""The positions of distrusted columns, which get a penalty of their own, and their names."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from sottovoce.errors import InputError
from sottovoce.text.columns import Column


def distrusted_places(
    names: Sequence[str], *, words: Sequence[str], before: int, columns: Sequence[Column] = ()
) -> tuple[int, ...]:
    """Return the positions of given words and further columns in a row.

    `before` is the number of columns before the further ones: words and other blocks. A column of
    categories stands for all its values: a block of the paper's Γ.
    """
    places = _places(words, before, columns)
    stranger = next((name for name in names if name not in places), None)
    if stranger is not None:
        near = get_close_matches(stranger, places, n=1)
        raise InputError(
            f"expected words of a given dictionary, or further columns, found {stranger!r}",
            hints=tuple(f"did you mean {name}?" for name in near),
            place="distrusted",
            setting="distrusted",
        )
    return tuple(place for name in dict.fromkeys(names) for place in places[name])


def distrusted_names(
    distrusted: Collection[int], *, words: Sequence[str], before: int, columns: Sequence[Column]
) -> tuple[str, ...]:
    """Return the words and further columns at these positions."""
    places = _places(words, before, columns)
    return tuple(name for name, own in places.items() if not set(own).isdisjoint(distrusted))


def _places(
    words: Sequence[str], before: int, columns: Sequence[Column]
) -> dict[str, Sequence[int]]:
    places: dict[str, Sequence[int]] = {word: (place,) for place, word in enumerate(words)}
    for column in columns:
        places[column.name] = range(before, before + column.width)
        before += column.width
    return places
