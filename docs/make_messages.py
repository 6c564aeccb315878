"""Writes docs/messages.md from the disclosures in the code: python docs/make_messages.py."""

import pkgutil
from importlib import import_module
from pathlib import Path

import sottovoce
from sottovoce.protocols.messages import disclosure_table

HEAD = """# What every message tells whom

Made from the code by `docs/make_messages.py`; a test compares. The general assumption stands in
[SECURITY.md](../SECURITY.md): everyone follows the protocol, and no two of coordinator, evaluator
and dealer pool what they saw.

"""


def page() -> str:
    """The whole page, with every kind of message of every protocol and role."""
    for package in ("protocols", "study", "course", "paper", "node"):
        for module in pkgutil.walk_packages(
            [str(Path(sottovoce.__file__).parent / package)], f"sottovoce.{package}."
        ):
            import_module(module.name)
    return HEAD + disclosure_table()


if __name__ == "__main__":
    Path(__file__).with_name("messages.md").write_text(page(), encoding="utf-8")
