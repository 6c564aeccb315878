"""What `import sottovoce` offers."""

import pytest

import sottovoce
from sottovoce import estimators


def test_every_exported_name_is_there() -> None:
    assert dir(sottovoce) == sorted(sottovoce.__all__)
    for name in sottovoce.__all__:
        assert getattr(sottovoce, name)
    assert set(estimators.__all__) <= set(sottovoce.__all__)


def test_another_name_is_named() -> None:
    with pytest.raises(AttributeError, match="no attribute 'TextClasifier'"):
        _ = sottovoce.TextClasifier
