"""Ionosphere is the table that the paper used, and an altered file is refused."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from sottovoce.datasets import ionosphere, load_ionosphere
from sottovoce.errors import InputError


def test_it_has_the_figures_that_its_source_states() -> None:
    table = load_ionosphere()
    assert table.X.shape == (351, 34)
    assert len(table) == 351
    assert np.sum(table.y == 1) == 225
    assert np.sum(table.y == -1) == 126
    assert table.labels == ("b", "g")
    assert len(table.feature_names) == len(set(table.feature_names)) == 34
    assert not table.X[:, 1].any()
    assert np.abs(table.X).max() == 1
    np.testing.assert_array_equal(table.X[0, :4], [1, 0, 0.99539, -0.05889])
    assert table.y[0] == 1
    assert table.y[1] == -1


def test_the_classic_split_is_the_first_200_and_the_last_151_rows() -> None:
    table = load_ionosphere()
    assert len(table.train) == 200
    assert len(table.test) == 151
    np.testing.assert_array_equal(np.vstack([table.train.X, table.test.X]), table.X)
    np.testing.assert_array_equal(np.append(table.train.y, table.test.y), table.y)
    # 101 good and 99 bad train, 124 good and 27 bad test, as the repository's notes say.
    assert np.sum(table.train.y == 1) == 101
    assert np.sum(table.test.y == 1) == 124


def test_an_altered_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = resources.files("sottovoce.datasets") / "ionosphere.data"
    altered = shipped.read_bytes().replace(b"0.99539", b"0.99540", 1)
    (tmp_path / "ionosphere.data").write_bytes(altered)
    monkeypatch.setattr(ionosphere.resources, "files", lambda _: tmp_path)
    with pytest.raises(InputError, match=r"ionosphere\.data: expected .* 46d52186b84e20be"):
        load_ionosphere()


def test_source_and_licence_are_shipped_beside_the_data() -> None:
    notice = (resources.files("sottovoce.datasets") / "ionosphere.LICENSE.md").read_text("utf-8")
    assert "10.24432/C5W01B" in notice
    assert "CC BY 4.0" in notice
    assert ionosphere._SHA256 in notice
