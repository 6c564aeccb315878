"""The two-party benchmark checks every answer, and counts trips as the cost model does."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.arithmetic import two_party
from benchmarks.arithmetic.two_party import Sizes, TwoPartySetting, measure_setting
from benchmarks.commands import app
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.protocols.two_party.masks import Masking

SETTING = TwoPartySetting(toy_key(bits=768), Masking(40), Sizes(3, 2, 2), SeededEntropy(1))


def test_every_block_has_a_row() -> None:
    said: list[str] = []
    rows = measure_setting(SETTING, rounds=1, progress=said.append)
    blocks = [row["block"] for row in rows]
    assert len(said) == len(rows)
    assert {str(block).split(",")[0] for block in blocks} == {
        "S.Mult",
        "S.InnerProd",
        "S.OuterProd",
        "S.MatProd",
        "S.Trunc",
        "S.Exp",
        "S.Div",
        "S.Log",
        "S.Sign",
        "S.Solve",
        "S.Inv",
    }
    for row in rows:
        assert row["cpu_ms"] > 0
        assert row["kib"] * 1024 > (row["asked"] + row["answered"]) * 768 // 4


@pytest.mark.soak
def test_the_command_prints_a_table_or_json(monkeypatch) -> None:
    monkeypatch.setattr(two_party, "generate", lambda bits, entropy: SETTING.key)
    size = ["--values", "2", "--features", "2", "--inverse", "3"]
    result = CliRunner().invoke(app, ["two-party", "--json", *size])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["kappa"] == 40
    assert {"block", "powers", "trips"} <= set(printed["rows"][0])
    sizes = {row["block"]: row["size"] for row in printed["rows"]}
    assert sizes["S.Solve"].startswith("2 × 2")
    assert sizes["S.Inv, order 2"].startswith("3 × 3")
    result = CliRunner().invoke(app, ["two-party", *size])
    assert "two-party blocks" in result.stdout
    assert "powers" not in result.stdout
