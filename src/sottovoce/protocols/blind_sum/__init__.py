"""Blind addition: the sum of many peers' values, while nobody sees a single one."""

from sottovoce.protocols.blind_sum.keys import Member
from sottovoce.protocols.blind_sum.masks import SummedVector
from sottovoce.protocols.blind_sum.plan import Plan, Summed, ideal
from sottovoce.protocols.blind_sum.rounds import OpenedSum, Round, RoundBook, TwoPeersWarning
from sottovoce.protocols.blind_sum.spaces import CiphertextSpace, Space, WordSpace

__all__ = [
    "CiphertextSpace",
    "Member",
    "OpenedSum",
    "Plan",
    "Round",
    "RoundBook",
    "Space",
    "Summed",
    "SummedVector",
    "TwoPeersWarning",
    "WordSpace",
    "ideal",
]
