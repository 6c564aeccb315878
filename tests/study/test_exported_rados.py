"""Encrypted rados as files: a third party learns from them, and wrong files are named."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.network import read_toy
from harness.tables import patient_rows
from harness.views import assert_sees_noise
from sottovoce.errors import AbsenceError, DamagedFileError, InputError, KeyFileError, MismatchError
from sottovoce.keyfiles.rado_files import read_rados, write_rados
from sottovoce.paillier import Plain
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.protocols.runner import converse
from sottovoce.study.stages.encrypted import descent_numbers
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.exported_rados import (
    added_rados,
    answer_exported,
    export_rados,
    export_terms,
    learn_exported,
    plan_digest,
)
from sottovoce.transport.pipes import Pipe, converse_over

TEXT = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
engine = "paillier"
learner = "rado-descent"
contribution = "rados"
rados = 32
class_weight = "none"
min_peers = 2
key_bits = 768
kappa = 40
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
"""
KEY = toy_key(bits=768)
ROWS = 80
PARTS = {"north": patient_rows(1, 40), "harbour": patient_rows(2, 40)}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """A third of the steps of a study: every one of them takes the same course."""
    monkeypatch.setattr(descent_numbers, "STEPS", 4)


def terms(text: str = TEXT):
    return read_toy(text).rehearsed()


def exported(name: str, *, rows: int = ROWS, key=KEY, text: str = TEXT):
    return export_rados(
        terms(text), PARTS[name], key.public, rows=rows, entropy=SeededEntropy(len(name))
    )


def piped(study, sums, numbers) -> np.ndarray:
    """Both programs, each at its end of a pair of pipes."""
    (to_key, from_learner), (to_learner, from_key) = (os.pipe()[::-1] for _ in range(2))
    results = {}

    def answer() -> None:
        with os.fdopen(from_learner, "rb") as reader, os.fdopen(to_learner, "wb") as writer:
            results["weights"] = converse_over(
                Pipe(EVALUATOR, reader, writer),
                answer_exported(study, KEY, rows=ROWS, entropy=SeededEntropy(5)),
                name=KEY_HOLDER,
                session=plan_digest(study),
                codec=study.codec(KEY.public),
            )

    thread = threading.Thread(target=answer)
    thread.start()
    with os.fdopen(from_key, "rb") as reader, os.fdopen(to_key, "wb") as writer:
        converse_over(
            Pipe(KEY_HOLDER, reader, writer),
            learn_exported(numbers, sums, entropy=SeededEntropy(6)),
            name=EVALUATOR,
            session=plan_digest(study),
            codec=study.codec(KEY.public),
        )
    thread.join()
    return results["weights"]


def test_a_third_party_learns_from_files_what_the_rados_say(tmp_path: Path, monkeypatch) -> None:
    drawn, recorded = DescentNumbers.drawn, []

    def record(self, edges, *, seed):
        recorded.append(drawn(self, edges, seed=seed)[0])
        return [recorded[-1]]

    monkeypatch.setattr(DescentNumbers, "drawn", record)
    study = terms()
    for name in PARTS:
        write_rados(tmp_path / name, exported(name), KEY.public)
    files = {name: read_rados(tmp_path / name, KEY.public) for name in PARTS}
    numbers, sums = added_rados(study, files, KEY.public)
    weights = piped(study, sums, numbers)
    plan = numbers.descent
    union = np.sum([Plain.of(own, plan.rado_scale).integers for own in recorded], axis=0)
    twin = plain_descent(Plain(union, plan.rado_scale), plan).floats()
    _, prepared = export_terms(study, ROWS)
    expected = prepared.space.factors * np.ldexp(twin, -numbers.unit_bits)
    assert np.abs(weights[:, 0] - expected).max() < 1e-3 * np.abs(expected).max()


def test_who_has_the_key_sees_noise_and_the_model_alone() -> None:
    study = terms()
    numbers, sums = added_rados(study, {name: exported(name) for name in PARTS}, KEY.public)
    programs = {
        EVALUATOR: learn_exported(numbers, sums, entropy=SeededEntropy(6)),
        KEY_HOLDER: answer_exported(study, KEY, rows=ROWS, entropy=SeededEntropy(5)),
    }
    outcome = converse(programs, codec=study.codec(KEY.public))
    view = outcome.views[KEY_HOLDER]
    assert type(view.received[-1].message).__name__ == "OwnersModel"
    del view.received[-1]
    plan = numbers.descent
    fixed = [scale.bits + plan.masking.kappa for scale in (plan.rado_scale, plan.column_scale)]
    assert_sees_noise(view, KEY, fixed=fixed)


def test_exported_rados_under_another_key_are_named(tmp_path: Path) -> None:
    other = toy_key(bits=768, seed=7)
    write_rados(tmp_path / "north.rados", exported("north", key=other), other.public)
    with pytest.raises(
        MismatchError, match=r"north.rados: .* found rados under another key"
    ) as got:
        read_rados(tmp_path / "north.rados", KEY.public)
    assert KEY.public.fingerprint in str(got.value)


def test_files_that_do_not_belong_together_are_named() -> None:
    files = {"a.rados": exported("north"), "b.rados": exported("harbour", rows=90)}
    with pytest.raises(MismatchError, match=r"b.rados: expected rados for 80 rows .* found 90"):
        added_rados(terms(), files, KEY.public)
    files["b.rados"] = exported("harbour", text=TEXT.replace("rados = 32", "rados = 64"))
    with pytest.raises(MismatchError, match=r"b.rados: .* found those of another plan"):
        added_rados(terms(), files, KEY.public)


def test_other_and_damaged_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"something else")
    with pytest.raises(KeyFileError, match="expected exported rados of version 1, found another"):
        read_rados(tmp_path / "x", KEY.public)
    write_rados(tmp_path / "y", exported("north"), KEY.public)
    data = (tmp_path / "y").read_bytes()
    (tmp_path / "y").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DamagedFileError, match="not what was written"):
        read_rados(tmp_path / "y", KEY.public)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'learner = "rado-descent"\ncontribution = "rados"\nrados = 32',
            "",
            "learner rado-descent, found closed-form",
        ),
        ('class_weight = "none"\n', "", "all rows alike"),
        ("features = 0", "features = 8\ntail = 0\nkernel = 0", "columns or given words"),
    ],
)
def test_a_plan_that_cannot_be_exported_is_named(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=f"exported rados need {says}"):
        export_terms(terms(TEXT.replace(old, new)), ROWS)


def test_fewer_rows_than_a_site_has_are_refused() -> None:
    with pytest.raises(InputError, match="expected at least the 40 rows of this site, found 30"):
        exported("north", rows=30)


def test_a_pipe_that_ends_names_who_was_there() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    with os.fdopen(reader, "rb") as ended, pytest.raises(AbsenceError, match="pipe") as error:
        Pipe(KEY_HOLDER, ended, ended).read()
    assert error.value.party == KEY_HOLDER
