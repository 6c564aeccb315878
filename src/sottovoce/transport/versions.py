"""Which version of the protocol two sides speak: the client offers, the server chooses."""

from sottovoce.transport.problems import Refusal

VERSIONS = (2,)
OFFER = ", ".join(map(str, VERSIONS))


def choose_version(offer: str | None) -> int:
    """The newest version that a client offers and this server speaks."""
    offered = {part.strip() for part in (offer or "").split(",")}
    for version in sorted(VERSIONS, reverse=True):
        if str(version) in offered:
            return version
    raise Refusal(
        400,
        "version",
        f"expected a client that speaks version {OFFER} of the protocol, "
        f"found {'another' if offer else 'none said'}",
        hints=("install the release of Sottovoce that the coordinator runs",),
        facts={"newest": max(VERSIONS)},
    )
