"""Attacks of an observer on the messages that it saw."""

from sottovoce.attacks.blocks import attack_blocks
from sottovoce.attacks.everything import AttackAttempt, AttackReport, attack_everything
from sottovoce.attacks.exposure import ExposedBlocks, ExposedMoments, ExposedRados
from sottovoce.attacks.known_signatures import attack_known_signatures
from sottovoce.attacks.recovered import Recovered, Score, score
from sottovoce.attacks.second_moments import attack_moments
from sottovoce.attacks.unknown_signatures import attack_unknown_signatures

__all__ = [
    "AttackAttempt",
    "AttackReport",
    "ExposedBlocks",
    "ExposedMoments",
    "ExposedRados",
    "Recovered",
    "Score",
    "attack_blocks",
    "attack_everything",
    "attack_known_signatures",
    "attack_moments",
    "attack_unknown_signatures",
    "score",
]
