"""Rademacher observations (rados), their moments, and learners on them."""

from typing import TYPE_CHECKING

from sottovoce.lazy_names import lazy_names

if TYPE_CHECKING:
    from sottovoce.rados.blocks import (
        BlockRados,
        BlockSums,
        EnumeratedBlocks,
        JointLayout,
        join_blocks,
        lift,
    )
    from sottovoce.rados.boosting import Boosted, boost
    from sottovoce.rados.closed_form import gamma, solve, solve_rados, solve_rows
    from sottovoce.rados.descent import Descended, Halt, descend
    from sottovoce.rados.losses import (
        RadoLoss,
        exponential,
        logistic,
        m_loss,
        ridge_penalty,
        square,
    )
    from sottovoce.rados.moments import Moments, RadoMoments, joined
    from sottovoce.rados.observations import (
        Part,
        RadoFamily,
        rados,
        random_rados,
        signed_sums,
        united_rados,
    )
    from sottovoce.rados.peers import deal, exact_moments, summed_moments
    from sottovoce.rados.private import Guarantee, PrivateRados, private_rados
    from sottovoce.rados.schedule import Schedule, Scheduled, descend_on_schedule, polynomial_exp
    from sottovoce.rados.signatures import GivenSignatures, RandomSignatures, Signatures

__all__ = [
    "BlockRados",
    "BlockSums",
    "Boosted",
    "Descended",
    "EnumeratedBlocks",
    "GivenSignatures",
    "Guarantee",
    "Halt",
    "JointLayout",
    "Moments",
    "Part",
    "PrivateRados",
    "RadoFamily",
    "RadoLoss",
    "RadoMoments",
    "RandomSignatures",
    "Schedule",
    "Scheduled",
    "Signatures",
    "boost",
    "deal",
    "descend",
    "descend_on_schedule",
    "exact_moments",
    "exponential",
    "gamma",
    "join_blocks",
    "joined",
    "lift",
    "logistic",
    "m_loss",
    "polynomial_exp",
    "private_rados",
    "rados",
    "random_rados",
    "ridge_penalty",
    "signed_sums",
    "solve",
    "solve_rados",
    "solve_rows",
    "square",
    "summed_moments",
    "united_rados",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "blocks": "BlockRados BlockSums EnumeratedBlocks JointLayout join_blocks lift",
        "boosting": "Boosted boost",
        "closed_form": "gamma solve solve_rados solve_rows",
        "descent": "Descended Halt descend",
        "losses": "RadoLoss exponential logistic m_loss ridge_penalty square",
        "moments": "Moments RadoMoments joined",
        "observations": "Part RadoFamily rados random_rados signed_sums united_rados",
        "peers": "deal exact_moments summed_moments",
        "private": "Guarantee PrivateRados private_rados",
        "schedule": "Schedule Scheduled descend_on_schedule polynomial_exp",
        "signatures": "GivenSignatures RandomSignatures Signatures",
    },
)
