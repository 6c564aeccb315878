"""A study file, and the home of a coordinator who made the study of it."""

from pathlib import Path

import pytest

from harness.commands import call
from sottovoce.config.study_file import example


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(example().replace('features = "auto"', "features = 64"), encoding="utf-8")
    return path


@pytest.fixture
def coordinator_home(tmp_path: Path, study: Path) -> Path:
    call("study", "create", study, "--home", tmp_path / "cate", "--out", tmp_path / "sent")
    return tmp_path / "cate"
