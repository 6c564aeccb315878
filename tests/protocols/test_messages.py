"""Every message says what it reveals to whom; every protocol file opens with its sequence."""

import importlib
import pkgutil
import re

import pytest

import sottovoce.protocols
from sottovoce.protocols.messages import Disclosure, disclosure_table, message_kinds
from sottovoce.wire import Codec
from sottovoce.wire.tags import kebab


def modules() -> list[str]:
    packed = pkgutil.walk_packages(sottovoce.protocols.__path__, "sottovoce.protocols.")
    return [module.name for module in packed]


def test_every_kind_of_message_says_what_it_discloses() -> None:
    for name in (
        *modules(),
        "sottovoce.study.card.card",
        "sottovoce.course.control",
    ):  # which imports whatever a study sends
        importlib.import_module(name)
    kinds = message_kinds()
    assert len(kinds) >= 14
    seen: dict[str, Disclosure] = {}
    for kind in kinds:
        disclosure = kind.discloses
        assert kind.__doc__, kind
        assert all(
            len(text) >= 12
            for text in (disclosure.seen_by, disclosure.reveals, disclosure.assuming)
        ), kind
        assert not re.search(r"\b(todo|tbd|n/a|same as|see above)\b", disclosure.reveals.lower()), (
            kind
        )
        # Messages that reveal the same share one constant.
        assert seen.setdefault(disclosure.reveals, disclosure) is disclosure, kind


def test_the_table_of_disclosures_has_a_row_for_each() -> None:
    table = disclosure_table()
    for kind in message_kinds():
        assert f"| `{kebab(kind.__name__)}` | {kind.discloses.seen_by} |" in table


@pytest.mark.parametrize("name", modules())
def test_a_protocol_opens_with_its_sequence_who_learns_what_and_the_assumption(name: str) -> None:
    module = importlib.import_module(name)
    story = module.__doc__ or ""
    assert story
    if getattr(module, "run", None) is not None and module.run.__module__ == name:
        assert re.search(r"─|──▶|-->|──", story), f"{name}: expected an ASCII sequence"
        assert re.search(r"[Ll]earn|sees", story), f"{name}: expected who learns what"
        assert re.search(r"[Aa]ssum|as long as", story), f"{name}: expected the assumption"


def test_no_message_carries_a_type_that_has_no_strict_encoding() -> None:
    """Kinds with ciphertexts need their hook; everything else must be encodable as it stands."""
    for kind in message_kinds():
        if kind.__module__.startswith("sottovoce.protocols.blind_sum"):
            Codec()._readers.of(kind)
