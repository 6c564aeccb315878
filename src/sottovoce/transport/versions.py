"""Negotiates the version of the protocol: the client offers, the server chooses."""

import re
from importlib.metadata import version

from sottovoce.transport.problems import Refusal

# 3: letters come in pages of one open answer, and a part of an upload is not hashed by itself.
VERSIONS = (2, 3)
PAGES = 3
# The offer of a client to whom pages do not come one by one.
ONE_PAGE = "2"
OFFER = ", ".join(map(str, VERSIONS))
AGENT = f"sottovoce/{version('sottovoce')}"
_AGENT = re.compile(r"sottovoce/([0-9A-Za-z.+-]{1,40})")


def program_version(agent: str | None) -> str:
    """The version of the program that a client names; empty if none."""
    said = _AGENT.fullmatch(agent or "")
    return said[1] if said else ""


def speaks_pages(offer: str | None) -> bool:
    """Whether the other side speaks the version in which letters come in pages."""
    return str(PAGES) in {part.strip() for part in (offer or "").split(",")}


def choose_version(offer: str | None) -> int:
    """The newest version that a client offers and this server speaks."""
    offered = {part.strip() for part in (offer or "").split(",")}
    for known in sorted(VERSIONS, reverse=True):
        if str(known) in offered:
            return known
    raise Refusal(
        400,
        "version",
        f"expected a client that speaks version {OFFER} of the protocol, "
        f"found {'another' if offer else 'no version'}",
        hints=("install the release of Sottovoce that the coordinator runs",),
        facts={"newest": max(VERSIONS)},
    )
