"""What the members of a quorum could put together if all of them pooled: the oracle of tests."""

import numpy as np

from sottovoce.course.trained_study import StudyOutcome
from sottovoce.numbers.residues import Base
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.sums import COUNT_BASE
from sottovoce.protocols.quorum.tally import TallyShare
from sottovoce.study.queries.thresholds import norms_of
from sottovoce.text.features import NORM_PARTS


def opened_weights(outcome: StudyOutcome) -> np.ndarray:
    """All members' shares together, as no t of them ever are."""
    shares = {name: held.share for name, held in outcome.shared.items()}
    quorum = outcome.study.quorum.among(shares)
    value = put_together(shares, degree=quorum.threshold, quorum=quorum, what="model")
    return Base().signed(value).astype(np.int64)


def exact_counts(outcome: StudyOutcome) -> np.ndarray:
    """What a trusted friend would count: rows of all peers above every threshold."""
    plan, weights, total = outcome.study.plan, opened_weights(outcome), 0
    for name, model in outcome.models.items():
        held = outcome.own[0, name].held_out
        assert held is not None
        scores, bits = np.asarray(held.rows @ weights), model.scores.score.fraction_bits
        norms = norms_of(held.rows)[:, np.newaxis, np.newaxis]
        taken = norms * np.rint(np.ldexp(np.array(plan.thresholds), bits) / NORM_PARTS)
        above = scores[:, :, np.newaxis] >= taken
        sides = [held.truth[:, :, np.newaxis], ~held.truth[:, :, np.newaxis]]
        total = total + np.stack([(above & side).sum(axis=0) for side in sides], axis=1)
    return np.asarray(total)


def opened_totals(outcome: StudyOutcome) -> np.ndarray:
    """What the coordinator opened, small cells and all."""
    quorum = outcome.study.quorum
    shares = {
        item.sender: item.message.share.planes()
        for item in outcome.views["coordinator"].received
        if isinstance(item.message, TallyShare)
    }
    value = put_together(shares, degree=2 * quorum.threshold, quorum=quorum, what="totals")
    return COUNT_BASE.signed(value).astype(np.int64)
