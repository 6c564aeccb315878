"""Runs any of these protocols in memory, between one evaluator and one key holder.

    evaluator ── masked questions ──▶ key holder, behind a guard: order, range and budget
    evaluator ◀── encrypted answers ── key holder
    evaluator ── Enough ────────────▶ key holder

The evaluator learns what its program returns, the key holder sees noise: each protocol says so
in its own file. Both are assumed to follow the protocol and not to pool what they saw, so a cast
in which one party plays both roles is refused.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from sottovoce.paillier import SecretKey
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import KEY_HOLDER, Party, dismiss
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.wire import Codec

R = TypeVar("R")

# The two parties: an evaluator and a key holder (a cast refuses one party in both roles).
TWO = Cast((), coordinator=KEY_HOLDER)


def run(
    program: Party[R],
    stages: Sequence[Sequence[AnswerRule[Any]]],
    *,
    key: SecretKey,
    cast: Cast = TWO,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the evaluator's program against a key holder who answers `stages`, through bytes."""
    codec = Codec(ciphertexts_under(key.public))
    guard = AnswerGuard(cast.evaluator, stages, codec=codec)
    programs = {cast.evaluator: cast.seated(_closing(program)), cast.coordinator: serve(guard)}
    return converse(programs, codec=codec, meddler=meddler)


def _closing(program: Party[R]) -> Party[R]:
    """Run the evaluator's program, then send `Enough`."""
    result = yield from program
    yield from dismiss(KEY_HOLDER)
    return result
