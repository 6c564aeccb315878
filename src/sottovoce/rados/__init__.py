"""Rademacher observations, their moments, and what is learnt from them."""

from sottovoce.rados.blocks import (
    BlockRados,
    BlockSums,
    EnumeratedBlocks,
    JointLayout,
    join_blocks,
    lift,
)
from sottovoce.rados.boost import Boosted, boost
from sottovoce.rados.closed_form import Factorisation, gamma, solve, solve_rados
from sottovoce.rados.descent import Descended, Halt, descend
from sottovoce.rados.losses import RadoLoss, exponential, logistic, m_loss, ridge_penalty, square
from sottovoce.rados.moments import Moments, RadoMoments, joined
from sottovoce.rados.observations import (
    Part,
    RadoFamily,
    class_wise_rados,
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
    "Factorisation",
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
    "class_wise_rados",
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
    "square",
    "summed_moments",
    "united_rados",
]
