"""`sottovoce rados`: files that a third party learns from, between processes."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.commands import call
from harness.tables import patient_rows
from sottovoce.errors import MismatchError
from sottovoce.estimators import ReleasedClassifier

STUDY = """
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
key_bits = 2048
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
COUNT = 40
SOTTOVOCE = [sys.executable, "-m", "sottovoce"]


def put_down(folder: Path) -> None:
    """A study, a passphrase, and the rows of two sites."""
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    secret = folder / "passphrase"
    secret.write_text("nine cold lanterns in the harbour", encoding="utf-8")
    secret.chmod(0o600)
    for seed, site in enumerate(("north", "harbour"), 1):
        rows = patient_rows(seed, COUNT)
        lines = [f"{row.columns['pulse']},{row.columns['sugar']},{row.label}" for row in rows]
        lines.insert(0, "pulse,sugar,outcome")
        (folder / f"{site}.csv").write_text("\n".join(lines), encoding="utf-8")


def generate(folder: Path, name: str) -> None:
    passphrase = folder / "passphrase"
    out = folder / name
    call("keys", "generate", "--out", out, "--bits", 2048, "--passphrase-file", passphrase)


def write(folder: Path, site: str, keys: str) -> Path:
    out = folder / f"{site}.rados"
    words = ("--text", "none", "--label", "outcome", "--rows", 2 * COUNT)
    data, key = folder / f"{site}.csv", folder / keys / "public.key"
    said = call(
        *("rados", "write", folder / "study.toml", out, "--data", data, "--key", key), *words
    )
    assert "never for the holder of that key" in said
    return out


def test_exported_rados_under_another_key_are_refused(tmp_path: Path) -> None:
    put_down(tmp_path)
    for name in ("keys", "other"):
        generate(tmp_path, name)
    out = write(tmp_path, "north", "other")
    key = tmp_path / "keys" / "public.key"
    with pytest.raises(MismatchError, match=r"north\.rados: expected rados under the key"):
        call("rados", "learn", tmp_path / "study.toml", out, "--key", key, "--answers", "false")


@pytest.mark.soak
def test_a_third_party_learns_between_processes(tmp_path: Path) -> None:
    put_down(tmp_path)
    generate(tmp_path, "keys")
    files = [write(tmp_path, site, "keys") for site in ("north", "harbour")]
    model, study = tmp_path / "model.json", tmp_path / "study.toml"
    answers = [*SOTTOVOCE, "rados", "answer", study, model, "--rows", 2 * COUNT]
    answers += ["--key", tmp_path / "keys" / "secret.key"]
    answers += ["--passphrase-file", tmp_path / "passphrase"]
    learn = [*SOTTOVOCE, "rados", "learn", study, *files, "--key", tmp_path / "keys" / "public.key"]
    learn += ["--answers", shlex.join(map(str, answers))]
    done = subprocess.run(
        [str(word) for word in learn], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    asked = patient_rows(9, 40)
    labels = ReleasedClassifier.load(model).predict(asked)
    right = [label == row.label for label, row in zip(labels, asked, strict=True)]
    assert sum(right) > 24
