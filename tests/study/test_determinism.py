"""A program is a function of its inputs, its entropy and what happened to it: nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from harness.studies import Case, notes
from sottovoce.study.stages.contributions import local_moments
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.totals import Totals
from sottovoce.text.dictionary.dictionaries import HashedDictionary
from sottovoce.text.features import FeatureSpace

TESTS = Path(__file__).parent.parent


def transcript(hash_seed: int, threads: int) -> list[str]:
    settings = {"PYTHONHASHSEED": str(hash_seed), "OPENBLAS_NUM_THREADS": str(threads)}
    command = [sys.executable, "-m", "harness.examples.whole_studies"]
    done = subprocess.run(
        command, cwd=TESTS, env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.soak
def test_whole_studies_send_the_same_bytes_in_any_process() -> None:
    """Both engines, two classes and four, a list of penalties, labels by fss and by dgk."""
    first, other = transcript(1, 1), transcript(2, 2)
    assert len(first) > 1500
    assert {line.split()[0] for line in first} == set("01234")
    assert first == other


@pytest.mark.parametrize("threads", [2, pytest.param(3, marks=pytest.mark.soak)])
def test_moments_are_the_same_to_the_last_bit_with_any_number_of_threads(
    binary: Case, threads: int
) -> None:
    plan = binary.plan
    space = FeatureSpace(HashedDictionary(320), plan.reading, plan.weighting, plan.columns)
    prepared = Prepared(Totals(9000, (5000, 4000), ("north",)), (), space)
    many = [document for mine in notes(3000).values() for document in mine]
    collected = []
    for count in (1, threads):
        with threadpool_limits(count, user_api="blas"):
            moments = local_moments(binary.study, prepared, many)
        collected.append((moments.second.tobytes(), moments.products.tobytes()))
    assert collected[0] == collected[1]
