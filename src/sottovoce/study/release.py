"""Release modes: what a study opens at the end, to whom, and the card's sentences about it.

A release mode is one object. Protocols ask it what it `opens`; plan, policy, card and report take
its name and its sentences from it. To add a mode, add an object here. A new protocol is needed only
if the mode opens something other than labels, scores or weights.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from sottovoce.errors import InputError


class Opens(StrEnum):
    """The things a study may open: labels of a peer's own rows, their scores, or the weights."""

    LABELS = "labels"
    SCORES = "scores"
    WEIGHTS = "weights"


@dataclass(frozen=True)
class Release:
    """A release mode: the results that come out of a study.

    `name` is used in study.toml, in a site's policy and on the card. A site consents to a mode that
    is not `usual` only if its policy names it. The other fields are the sentences of the card's
    settings, of its first page ({budget} is the number of rows a peer may ask for), and of the
    report.
    """

    name: str
    opens: Opens
    to: str
    usual: bool = field(repr=False)
    agreed: str = field(repr=False)
    first_page: str = field(repr=False)
    caveat: str = field(repr=False)
    risk: str = field(repr=False)

    SEALED: ClassVar["Release"]
    MARGIN: ClassVar["Release"]
    PEERS: ClassVar["Release"]

    def __str__(self) -> str:
        return self.name


_ASKING_TELLS = "A peer that asks for very many labels (at most {budget}) learns about the model."

Release.SEALED = Release(
    "sealed",
    Opens.LABELS,
    to="the peer that asks",
    usual=True,
    agreed="a sealed model; peers get labels of their own documents, never scores.",
    first_page="Nobody is handed the model. A peer gets labels of its own documents, at most "
    "{budget}, which nobody else learns; very many tell the model.",
    caveat="Nobody can inspect the weights: the model is sealed.",
    risk=_ASKING_TELLS,
)
Release.MARGIN = Release(
    "margin",
    Opens.SCORES,
    to="the peer that asks",
    usual=False,
    agreed="a sealed model; peers get scores of their own documents. As many scores as features "
    "give the model.",
    first_page="Nobody is handed the model. A peer gets scores of its own documents, at most "
    "{budget}; as many scores as the model has words give it away.",
    caveat="The weights are sealed; scores are given to the peer that asks.",
    risk="A peer that asks for as many scores as there are features (at most {budget}) knows the "
    "model.",
)
Release.PEERS = Release(
    "peers",
    Opens.WEIGHTS,
    to="every peer",
    usual=False,
    agreed="the model's weights, to every peer.",
    first_page="The model itself, to every peer. It tells something about all documents.",
    caveat="The weights are known to every peer.",
    risk="The model is handed to every peer and tells something about all documents.",
)

RELEASES: dict[str, Release] = {
    mode.name: mode for mode in (Release.SEALED, Release.MARGIN, Release.PEERS)
}


def usual_releases() -> frozenset[Release]:
    """The release modes that a site consents to unless its policy says otherwise."""
    return frozenset(mode for mode in RELEASES.values() if mode.usual)


def release_named(value: object) -> Release:
    """Return the mode of this name; a mode is returned as it is."""
    if isinstance(value, Release):
        return value
    if isinstance(value, str) and value in RELEASES:
        return RELEASES[value]
    raise InputError(
        f"expected release to be one of {', '.join(RELEASES)}, found {value!r}",
        place="plan",
        setting="release",
    )
