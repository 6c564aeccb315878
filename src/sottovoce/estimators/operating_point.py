"""The threshold above which a score speaks for its class, as people write it."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeAlias

from sottovoce.errors import InputError
from sottovoce.study.queries.thresholds import scored_names
from sottovoce.text.labels import Labels, label_name

OperatingPoint: TypeAlias = float | Mapping[Any, float] | None


def written(labels: Labels, point: OperatingPoint) -> tuple[float, ...]:
    """A threshold for every score of a plan: one number of two classes, else by class.

    A class that is not named keeps 0.
    """
    names = scored_names(labels)
    if point is None:
        return ()
    if _is_number(point) and len(names) == 1:
        return (float(point),)  # type: ignore[arg-type]  # a number, as just seen
    if not isinstance(point, Mapping) or not all(map(_is_number, point.values())):
        example = f'{{"{names[0]}": 0.1}}'
        raise InputError(
            f"operating_point: expected a threshold for {', '.join(names)}, found {point!r}",
            hints=(f"operating_point={example if len(names) > 1 else 0.1}",),
        )
    given = {label_name(label): float(threshold) for label, threshold in point.items()}
    stranger = next((name for name in given if name not in names), None)
    if stranger is not None:
        raise InputError(
            f"operating_point: expected thresholds for {', '.join(names)}, found {stranger!r}",
            hints=("of two classes that exclude each other the second has the score",)
            if len(names) < len(labels.names)
            else (),
        )
    return tuple(given.get(name, 0.0) for name in names)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
