"""`sottovoce rados`: files that a third party learns from, between processes."""

import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from harness.commands import call
from harness.tables import patient_rows
from sottovoce.errors import InputError, KeyFileError, MismatchError
from sottovoce.estimators import ReleasedClassifier
from sottovoce.keyfiles.keys import read_public, write_public
from sottovoce.keyfiles.rado_files import read_rados
from sottovoce.paillier import Profile, PublicKey

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


def public_key(folder: Path, start: int = 2) -> Path:
    """A key that nobody has the other half of: to write files it takes no more."""
    modulus = (start << 2046) + 1
    while True:
        modulus += 2
        with suppress(InputError):
            key = PublicKey(Profile.SHORT, modulus, base=modulus // 3)
            break
    path = folder / f"public{start}.key"
    write_public(path, key)
    return path


def write(folder: Path, site: str, key: Path) -> Path:
    out = folder / f"{site}.rados"
    words = ("--text", "none", "--label", "outcome", "--rows", 2 * COUNT)
    data = folder / f"{site}.csv"
    said = call(
        *("rados", "write", folder / "study.toml", out, "--data", data, "--key", key), *words
    )
    assert "never for the holder of that key" in said
    return out


def test_exported_rados_under_another_key_are_refused(tmp_path: Path) -> None:
    put_down(tmp_path)
    key, other = public_key(tmp_path), public_key(tmp_path, 3)
    out = write(tmp_path, "north", other)
    with pytest.raises(MismatchError, match=r"north\.rados: expected rados under the key"):
        call("rados", "learn", tmp_path / "study.toml", out, "--key", key, "--answers", "false")


def test_a_file_that_is_named_twice_and_a_copy_of_one_are_refused(tmp_path: Path) -> None:
    put_down(tmp_path)
    key = public_key(tmp_path)
    out, copy = write(tmp_path, "north", key), tmp_path / "harbour.rados"
    copy.write_bytes(out.read_bytes())
    learn = ("rados", "learn", tmp_path / "study.toml", out)
    answers = ("--key", key, "--answers", "false")
    with pytest.raises(InputError, match=r"north\.rados: expected every file once"):
        call(*learn, out, *answers)
    with pytest.raises(InputError, match=r"harbour\.rados: expected .* found those of .*north"):
        call(*learn, copy, *answers)


def test_a_file_without_the_studys_columns_is_told_their_names(tmp_path: Path) -> None:
    put_down(tmp_path)
    data = tmp_path / "north.csv"
    data.write_text(data.read_text(encoding="utf-8").replace("sugar", "glucose"), encoding="utf-8")
    words = ("rados", "write", tmp_path / "study.toml", tmp_path / "out", "--data", data)
    with pytest.raises(InputError, match="expected a column 'sugar'") as refused:
        call(*words, "--key", public_key(tmp_path), "--label", "outcome", "--rows", 80)
    assert refused.value.hints == ("the study has this column: name yours sugar",)


KILLED = """
import os, signal, sys
from sottovoce.cli import run_process
setattr(os, sys.argv.pop(1), lambda *_: os.kill(os.getpid(), signal.SIGKILL))
run_process()
"""


@pytest.mark.parametrize("moment", ["fsync", "link"])
def test_a_killed_export_leaves_no_half_file_and_can_be_repeated(
    tmp_path: Path, moment: str
) -> None:
    """Killed before the file is on disk, and when it is but has no name yet."""
    put_down(tmp_path)
    key, out = public_key(tmp_path), tmp_path / "north.rados"
    words = ["rados", "write", tmp_path / "study.toml", out, "--data", tmp_path / "north.csv"]
    words += ["--key", key, "--text", "none", "--label", "outcome", "--rows", 2 * COUNT]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, moment, *map(str, words)], check=False, timeout=300
    )
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    (left,) = tmp_path.glob(".*.part")
    assert left.stat().st_mode & 0o777 == 0o600
    assert "32 rados of 40 rows" in call(*words)
    assert not [*tmp_path.glob(".*.part")]
    assert read_rados(out, read_public(key)) is not None


def test_a_file_that_exists_is_left_alone_before_anything_is_encrypted(tmp_path: Path) -> None:
    out = tmp_path / "north.rados"
    out.write_text("mine")
    words = ["rados", "write", tmp_path / "missing.toml", out, "--data", tmp_path / "missing.csv"]
    with pytest.raises(KeyFileError, match="already exists") as refused:
        call(*words, "--key", tmp_path / "missing.key", "--rows", 80)
    assert "--replace" in refused.value.hints
    assert out.read_text() == "mine"


@pytest.mark.soak
def test_a_third_party_learns_between_processes(tmp_path: Path) -> None:
    put_down(tmp_path)
    generate(tmp_path, "keys")
    public = tmp_path / "keys" / "public.key"
    files = [write(tmp_path, site, public) for site in ("north", "harbour")]
    model, study = tmp_path / "model.json", tmp_path / "study.toml"
    answers = [*SOTTOVOCE, "rados", "answer", study, model, "--rows", 2 * COUNT]
    answers += ["--key", tmp_path / "keys" / "secret.key"]
    answers += ["--passphrase-file", tmp_path / "passphrase"]
    learn = [*SOTTOVOCE, "rados", "learn", study, *files, "--key", public]
    learn += ["--answers", shlex.join(map(str, answers))]
    done = subprocess.run(
        [str(word) for word in learn], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    asked = patient_rows(9, 40)
    labels = ReleasedClassifier.load(model).predict(asked)
    table = pd.DataFrame([row.columns for row in asked])
    assert ReleasedClassifier.load(model).predict(table).tolist() == labels.tolist()
    right = [label == row.label for label, row in zip(labels, asked, strict=True)]
    assert sum(right) > 24
