"""Invented people and places: names put together from parts, so that few of them meet twice."""

from typing import Literal

from sottovoce.datasets.notes.dialect import material
from sottovoce.datasets.notes.draw import Draw
from sottovoce.datasets.notes.records import Patient


def surname(draw: Draw) -> str:
    """One of about two thousand."""
    parts = material("people.toml")
    return str(draw.pick(parts["heads"]) + draw.pick(parts["tails"]))


def town(draw: Draw) -> str:
    """One of some hundreds."""
    parts = material("people.toml")
    return str(draw.pick(parts["heads"]) + draw.pick(parts["places"]))


def patient(number: str, draw: Draw) -> Patient:
    """A patient of that number."""
    sex: Literal["female", "male"] = "female" if draw.chance(0.52) else "male"
    first = draw.pick(material("people.toml")[sex])
    age = 18 + draw.below(40) + draw.below(38)
    return Patient(number, f"{first} {surname(draw)}", sex, age)
