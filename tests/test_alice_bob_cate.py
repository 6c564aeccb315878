"""The session of examples/alice-bob-cate, executed between processes."""

import csv
import shutil
from pathlib import Path

import pytest

from harness.processes.terminals import WAIT_SECONDS, exported, opened, typed

FOLDER = Path(__file__).parents[1] / "examples" / "alice-bob-cate"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


# By default tests/e2e/test_machines.py trains on ciphertexts between processes.
@pytest.mark.soak
def test_two_peers_get_from_a_study_to_labels(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "example")
    # A strong penalty: the solve on ciphertexts takes fewer steps.
    study = folder / "study.toml"
    text = study.read_text(encoding="utf-8")
    assert "features = 8\n" in text
    quick = text.replace("features = 8\n", "features = 8\nalpha = 10.0\n")
    study.write_text(quick, encoding="utf-8")
    with opened(folder) as machine:
        for line in typed(PAGE, 0):
            machine.done(line, "before.log")
        cate, (create, serve) = exported(typed(PAGE, 1))
        machine.done(create, "create.log", home=cate)
        machine.type(serve, "serve.log", home=cate)
        machine.wait_for("serving at", "serve.log")
        bob, (join,) = exported(typed(PAGE, 2))
        machine.type(join, "bob.log", home=bob)
        alice, (join, classify, ledger) = exported(typed(PAGE, 3))
        assert "the training is finished" in machine.done(join, "alice.log", home=alice)
        machine.done(classify, "classify.log", home=alice)
        with (folder / "labelled.csv").open(encoding="utf-8", newline="") as file:
            results = {row["label"] for row in csv.DictReader(file)}
        assert results == {"routine", "urgent"}
        assert "to evaluator" in machine.done(ledger, "ledger.log", home=alice)
        alice, (evaluate,) = exported(typed(PAGE, 4))
        refused = machine.type(evaluate, "evaluate.log", home=alice)
        assert refused.wait(timeout=WAIT_SECONDS) == 1
        said = (folder / "evaluate.log").read_text(encoding="utf-8")
        assert "expected at least 3 peers, found 2" in said
