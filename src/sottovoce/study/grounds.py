"""Why a study may be done, for the person who signs for an organisation."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Grounds:
    """Purpose, legal basis, controller, retention and contact of a study."""

    purpose: str = ""
    legal_basis: str = ""
    controller: str = ""
    retention: str = ""
    contact: str = ""

    @property
    def given(self) -> dict[str, str]:
        """Return the named values by their settings."""
        return {name: text for name, text in asdict(self).items() if text}
