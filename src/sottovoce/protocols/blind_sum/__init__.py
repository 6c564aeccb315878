"""Blind addition: the sum of what many peers hold, while nobody sees what one of them holds."""

from sottovoce.protocols.blind_sum.keys import Member
from sottovoce.protocols.blind_sum.masks import Part
from sottovoce.protocols.blind_sum.rounds import Round, RoundBook, TwoPeersWarning
from sottovoce.protocols.blind_sum.spaces import CiphertextSpace, ResidueSpace, Space, WordSpace

__all__ = [
    "CiphertextSpace",
    "Member",
    "Part",
    "ResidueSpace",
    "Round",
    "RoundBook",
    "Space",
    "TwoPeersWarning",
    "WordSpace",
]
