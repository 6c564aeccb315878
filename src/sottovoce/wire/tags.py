"""The names under which classes travel."""

import re


def kebab(name: str) -> str:
    """The tag of a class on the wire: `MaskedProduct` is "masked-product"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
