"""How many bytes each peer moves in a stage, as the card says: for bars and the time left."""

from collections.abc import Mapping

from sottovoce.study.attempts import Stage
from sottovoce.study.card.seat_sizes import MODEL, helper_sizes
from sottovoce.study.card.sizes import peer_sizes
from sottovoce.study.study import Study

_STAGES = {str(Stage.AGREEMENT): Stage.AGREEMENT, "dictionary and totals": Stage.DICTIONARY}


def stage_bytes(study: Study) -> Mapping[tuple[str, str], int]:
    """By peer and stage: what it sends, and its part of the model."""
    moved: dict[tuple[str, str], int] = {}
    for peer in study.roster.peers:
        for row in peer_sizes(study):
            place = (peer, str(_STAGES.get(row.stage, Stage.TRAINING)))
            moved[place] = moved.get(place, 0) + row.total
        sent = (row for row in helper_sizes(study) if row.stage == MODEL and row.to == "peers")
        moved[peer, str(Stage.TRAINING)] += sum(row.bytes for row in sent)
    return moved
