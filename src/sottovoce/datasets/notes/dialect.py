"""One site's way of writing: words, abbreviations, spelling, habits, patients."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from sottovoce.datasets.notes.draw import Draw, Menu
from sottovoce.datasets.notes.records import DIAGNOSES

MANNERS = ("brief", "narrative", "letter")

Concept = Menu[str]
"""One thing and the ways in which a site writes it: mostly one of them, now and then another."""

Template = tuple[str, ...]
"""One sentence: literal, slot, literal, slot, …, literal."""

Remark = tuple[Template, ...]
"""One or more sentences that stand together."""

_PREFERRED = 0.6
_AMERICAN = (
    ("oesoph", "esoph"), ("oedema", "edema"), ("haem", "hem"), ("aemi", "emi"), ("oea", "ea"),
    ("paraes", "pares"), ("tumour", "tumor"), ("ischaem", "ischem"), ("faec", "fec"),
    ("coeliac", "celiac"), ("uraem", "urem"), ("goitre", "goiter"), ("neighbour", "neighbor"),
    ("favour", "favor"), ("natraem", "natrem"), ("noea", "nea"),
)  # fmt: skip
_DATES = ("{d:02}/{m:02}/{y}", "{y}-{m:02}-{d:02}", "{d} {M} {y}", "{M} {d}, {y}", "{d}.{m}.{y}")
_DURATIONS = ("{n} {unit}s", "{n}/{code}", "{n}{letter}")
_WARD_WORDS = (
    "Larch", "Elm", "Oak", "Rowan", "Alder", "Hazel", "Maple", "Birch", "Cedar", "Willow", "Heron",
    "Kestrel", "Osprey", "Plover", "Bay", "Unit", "Pod", "Annexe",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """A site's phrases about one diagnosis group."""

    symptoms: Menu[Concept]
    diseases: Menu[Concept]
    drugs: Menu[Concept]
    tests: Menu[Concept]
    terms: Menu[str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Everything by which one site's notes differ from another's."""

    site: str
    groups: Mapping[str, Group]
    balance: Menu[str]
    urgent_rate: float
    typo_rate: float
    bullets: bool
    manners: Menu[str]
    headings: Mapping[str, str]
    date: str
    duration: str
    frequency: Menu[Concept]
    acuity: Mapping[str, Menu[Concept]]
    lists: Mapping[str, Menu[str]]


@cache
def material(name: str) -> Mapping[str, Any]:
    """One of the word files beside this module."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


@cache
def remarks() -> Mapping[str, Mapping[str, tuple[Remark, ...]]]:
    """Manner → section → what may be said there."""
    style = material("style.toml")
    return {
        manner: {
            section: tuple(_remark(text) for text in texts)
            for section, texts in style[manner].items()
        }
        for manner in MANNERS
    }


def _remark(text: str) -> Remark:
    sentences = text.replace(". ", ".\n").split("\n")
    return tuple(tuple(sentence.replace("}", "{").split("{")) for sentence in sentences)


def dialect_of(site: str, seed: int) -> Dialect:
    """The dialect of a site: the same for the same name and seed."""
    draw = Draw(f"sottovoce/notes/dialect/v1/{seed}/{site}")
    american = draw.chance(0.5)
    medicine, style = material("medicine.toml"), material("style.toml")
    shared = medicine["shared"]

    def concepts(lines: Sequence[str]) -> Menu[Concept]:
        return Menu.zipf([_concept(line, draw, american=american) for line in draw.shuffled(lines)])

    def plain(items: Sequence[str]) -> Menu[str]:
        return Menu.zipf([_spelled(item, american=american) for item in draw.shuffled(items)])

    def group(words: Mapping[str, Sequence[str]]) -> Group:
        terms = [root + suffix for root in words["roots"] for suffix in shared["suffixes"]]
        return Group(
            symptoms=concepts(words["symptoms"]),
            diseases=concepts(words["diseases"]),
            drugs=concepts(words["drugs"]),
            tests=concepts(words["tests"]),
            terms=plain(terms),
        )

    favourite = draw.shuffled(MANNERS)
    return Dialect(
        site=site,
        groups={name: group(medicine["groups"][name]) for name in DIAGNOSES},
        balance=Menu.weighted(DIAGNOSES, [0.3 + 2 * draw.unit() ** 2 for _ in DIAGNOSES]),
        urgent_rate=0.25 + 0.4 * draw.unit(),
        typo_rate=0.02 + 0.03 * draw.unit(),
        bullets=draw.chance(0.5),
        manners=Menu.weighted(favourite, (0.75, 0.15, 0.1)),
        headings={name: draw.pick(options) for name, options in style["headings"].items()},
        date=draw.pick(_DATES),
        duration=draw.pick(_DURATIONS),
        frequency=concepts(shared["frequency"]),
        acuity={"urgent": concepts(shared["urgent"]), "routine": concepts(shared["routine"])},
        lists={
            "ward": plain([f"{word} {draw.between(1, 40)}" for word in _WARD_WORDS]),
            **{
                kind: plain(shared[kind])
                for kind in (
                    "body",
                    "severity",
                    "job",
                    "living",
                    "state",
                    "result",
                    "contact",
                    "told",
                )
            },
        },
    )


def _concept(line: str, draw: Draw, *, american: bool) -> Concept:
    forms = draw.shuffled([_spelled(form, american=american) for form in line.split(" | ")])
    others = len(forms) - 1
    return Menu.weighted(forms, [_PREFERRED, *[(1 - _PREFERRED) / max(others, 1)] * others])


def _spelled(text: str, *, american: bool) -> str:
    if american:
        for british, turned in _AMERICAN:
            text = text.replace(british, turned)
    return text
