"""Hints keep their commands and settings as data, and read as one sentence."""

import pickle
from typing import Any

import pytest

from sottovoce.hints import Hint, PlanSetting, ShellCommand, rewritten


@pytest.mark.parametrize(
    ("value", "in_python", "in_toml"),
    [
        (2, "2", "2"),
        (0.2, "0.2", "0.2"),
        (True, "True", "true"),
        ("paillier", '"paillier"', '"paillier"'),
        ((1, 2), "(1, 2)", "[1, 2]"),
        (("ward",), '("ward",)', '["ward"]'),
        ((...,), "(…)", "[…]"),
    ],
)
def test_a_setting_is_written_as_python_and_as_toml_have_it(
    value: Any, in_python: str, in_toml: str
) -> None:
    setting = PlanSetting("name", value)
    assert (setting, setting.in_toml) == (f"name={in_python}", f"name = {in_toml}")


def test_a_hint_is_rewritten_where_its_data_are() -> None:
    command, setting = ShellCommand("sottovoce join"), PlanSetting("rados", 256)
    hint = Hint("rados=1, `sottovoce join` or ", setting, " or ", command)
    assert hint == "rados=1, `sottovoce join` or rados=256 or sottovoce join"
    assert rewritten(hint, lambda piece: "*") == "rados=1, `sottovoce join` or * or *"
    assert rewritten(command, str.upper) == "SOTTOVOCE JOIN"
    assert rewritten("plain", str.upper) == "plain"


def test_a_hint_keeps_its_data_on_its_way_to_another_process() -> None:
    hint = Hint("or ", PlanSetting("shared", ("ward",)), ShellCommand(" x"))
    again = pickle.loads(pickle.dumps(hint))  # noqa: S301 - ours
    assert again == hint
    assert again.pieces[1].in_toml == 'shared = ["ward"]'
