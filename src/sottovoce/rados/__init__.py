"""Rademacher observations, their moments, and what is learnt from them."""

from sottovoce.rados.closed_form import Factorisation, gamma, solve, solve_rados
from sottovoce.rados.moments import Moments, RadoMoments, joined

__all__ = [
    "Factorisation",
    "Moments",
    "RadoMoments",
    "gamma",
    "joined",
    "solve",
    "solve_rados",
]
