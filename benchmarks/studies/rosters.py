"""Who takes part in the study of a benchmark: peers, and the helpers that its engine asks for."""

from collections.abc import Iterable

from sottovoce.entropy import Entropy
from sottovoce.protocols.identities import Identity
from sottovoce.study.choices import Engine
from sottovoce.study.roster import Roster, draw_roster


def roster_for(
    engine: Engine, peers: Iterable[str], *, entropy: Entropy
) -> tuple[Roster, dict[str, Identity]]:
    """Engine quorum has no helpers, engine paillier deals at most verdicts."""
    helped = engine is not Engine.QUORUM
    return draw_roster(tuple(peers), entropy=entropy, with_dealer=helped, with_evaluator=helped)
