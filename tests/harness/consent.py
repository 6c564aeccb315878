"""Policies for tests: what a peer that refuses nothing consents to."""

from sottovoce.study import Policy
from sottovoce.study.arrangement import Remote, Weights
from sottovoce.study.release import RELEASES

ANYTHING = Policy(
    releases=frozenset(RELEASES.values()),
    remotes=frozenset(Remote),
    weights=frozenset(Weights),
    min_peers=2,
    min_documents=1,
)
