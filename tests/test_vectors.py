"""Every file of vectors says where it comes from, and is what its generator writes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VECTORS = Path(__file__).parent / "vectors"
FILES = sorted(VECTORS.glob("*.json"))
# Copied from a published document, which its provenance names.
COPIED = {"hpke_auth": "RFC 9180"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_vectors_say_where_they_come_from(path: Path) -> None:
    provenance = json.loads(path.read_text(encoding="utf-8"))["provenance"]
    assert len(provenance) > 20
    assert COPIED.get(path.stem, "") in provenance
    assert path.stem in COPIED or path.with_name(f"make_{path.stem}.py").is_file()


@pytest.mark.soak
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem not in COPIED], ids=lambda path: path.stem
)
def test_vectors_are_what_their_generator_writes(path: Path, tmp_path: Path) -> None:
    maker = tmp_path / "tests" / "vectors" / f"make_{path.stem}.py"
    maker.parent.mkdir(parents=True)
    shutil.copy(VECTORS / maker.name, maker)
    # It imports what this test does: the same package, the harness, and the benchmarks beside it.
    modules = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, maker], check=True, env={**os.environ, "PYTHONPATH": modules})
    assert maker.with_name(path.name).read_bytes() == path.read_bytes()
