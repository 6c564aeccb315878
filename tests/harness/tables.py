"""Small labelled tables for learners: the same from the same seed."""

from itertools import product

import numpy as np

from sottovoce.rados import GivenSignatures, Part
from sottovoce.text.columns import ROW
from sottovoce.text.documents import Document


def part(seed: int, rows: int = 30, features: int = 6) -> Part:
    """Documents whose label a linear rule explains, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = np.where(X @ rng.normal(size=features) + rng.normal(size=rows) > 0, 1.0, -1.0)
    return Part.of(X, y)


def all_signatures(documents: int) -> GivenSignatures:
    """Every one of the 2^m signatures."""
    return GivenSignatures.of(list(product((-1, 1), repeat=documents)))


def patient_rows(seed: int, count: int = 12) -> list[Document]:
    """Patients with two measurements, whose difference makes them sick, with some noise."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        pulse, sugar = (np.rint(64 * rng.uniform(-1, 1, 2)) / 64).tolist()
        label = "sick" if pulse - sugar + (number % 2 - 0.5) / 4 > 0 else "well"
        columns = {"pulse": pulse, "sugar": sugar}
        made.append(Document(ROW, label, f"{seed} {number}", columns))
    return made


PATIENT_STUDY = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
engine = "paillier"
alpha = 2.0
held_out = 0.0
key_bits = 768
kappa = 40
query_budget = 4000
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""


def varied(text: str, *changes: tuple[str, str]) -> str:
    """The text of a study with each old part, which must be there, replaced by the new one."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
