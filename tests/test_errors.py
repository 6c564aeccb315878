"""The tree on top of errors.py is the tree."""

import inspect
import re

from sottovoce import errors
from sottovoce.errors import MalformedError, SottovoceError


def test_the_drawing_shows_every_error_at_its_depth() -> None:
    drawn = re.findall(r"^    ([│├└─ ]*)(\w+Error)", errors.__doc__ or "", re.MULTILINE)
    depths = {name: len(indent) // 4 for indent, name in drawn}
    classes = {
        name: cls
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, SottovoceError)
    }
    assert depths == {
        name: sum(issubclass(base, SottovoceError) for base in cls.__mro__) - 1
        for name, cls in classes.items()
    }


def test_their_error_names_the_party_once_the_border_knows_it() -> None:
    result = MalformedError("expected 8 bytes, found 7", hints=("ask again",))
    named = result.by("bob")
    assert str(result) == "expected 8 bytes, found 7"
    assert str(named) == "bob: expected 8 bytes, found 7"
    assert isinstance(named, MalformedError)
    assert named.hints == ("ask again",)
