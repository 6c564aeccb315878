"""The bytes that the seats of evaluator and dealer send and receive, computed from the plan.

The number of steps of a solve depends on the joint moments, which nobody knows beforehand; the
bytes of each step do not.
"""

from collections.abc import Iterator
from dataclasses import replace

from sottovoce.protocols.sealing import OVERHEAD
from sottovoce.study.attempts import Stage
from sottovoce.study.card.sizes import AGREES, DRAWN, Size, peer_sizes
from sottovoce.study.choices import Engine
from sottovoce.study.relay import padded_size
from sottovoce.study.release import Opens
from sottovoce.study.roster import Role
from sottovoce.study.study import Study

EVALUATOR, DEALER, COORDINATOR = map(str, (Role.EVALUATOR, Role.DEALER, Role.COORDINATOR))
SOLVE, MODEL = "sealed solve", "encrypted model"
# Messages of a few dozen bytes each; one in a box has the size of the smallest box.
_SMALL = 128
_HEAD = 32
_WORD = 8


def helper_sizes(study: Study) -> tuple[Size, ...]:
    """Return what evaluator and dealer send and receive until every peer has the model."""
    if study.engine is Engine.QUORUM:
        return ()
    rows = (*_evaluator(study), *(_dealer(study) if study.engine is Engine.SHARES else ()))
    return tuple(row for row in rows if row.times)


def _evaluator(study: Study) -> Iterator[Size]:
    sends = Size("agreement", "consent", COORDINATOR, 1, _consent(study), exact=False)
    yield replace(sends, seat=EVALUATOR, holds=AGREES)
    for row in peer_sizes(study):
        if row.to == EVALUATOR:
            times = row.times * len(study.roster.peers)
            yield replace(row, seat=EVALUATOR, way="receives", to="peers", times=times)
    solving = _shared_solve(study) if study.engine is Engine.SHARES else _encrypted_solve(study)
    for row in solving:
        yield replace(row, seat=EVALUATOR)
        yield replace(row, seat=EVALUATOR, way="receives")
    if study.engine is Engine.SHARES:
        dealt = _boxed(24 * _SMALL)
        yield _about(SOLVE, "dealt-comparisons", DEALER, 1 + _solves(study), dealt).received
    # All classes of a word share one ciphertext.
    ciphertexts = study.plan.width * study.plan.key_bits // 4
    peers, sealed = len(study.roster.peers), 0 if study.on_shares else _solves(study)
    shared = sealed if study.engine is Engine.SHARES else 0
    # Of a single class the coordinator sends two readings of its share (handover.py).
    offered = ciphertexts * (2 if study.plan.labels.width == 1 else 1)
    yield _about(MODEL, "encrypted-share", COORDINATOR, shared, offered).received
    yield _about(MODEL, "encrypted-model", "peers", peers * sealed, _boxed(ciphertexts))
    if study.plan.release.opens is Opens.WEIGHTS:
        yield _about(MODEL, "released-share", "peers", peers, _boxed(_WORD * _cells(study)))


def _shared_solve(study: Study) -> Iterator[Size]:
    width = study.plan.width
    matrix = _HEAD + _WORD * (width * study.plan.blocks or width * (width + 1) // 2)
    yield _about(SOLVE, "matrix-share", COORDINATOR, _solves(study), matrix)
    step = 2 * (_HEAD + _WORD * _cells(study))
    yield _about(SOLVE, "step-shares", COORDINATOR, 1, step, each="step")


def _encrypted_solve(study: Study) -> Iterator[Size]:
    """Yield the bytes of a step on ciphertexts; the answer is larger, and both count like it."""
    if study.plan.descends:
        return
    step = (study.plan.width + 1) * study.plan.labels.width * study.plan.key_bits // 4
    yield _about(SOLVE, "own-direction, own-step", COORDINATOR, 1, step, each="step")


def _dealer(study: Study) -> Iterator[Size]:
    rows = (
        Size("agreement", "consent", COORDINATOR, 1, _consent(study), exact=False, holds=AGREES),
        _about(SOLVE, "dealt-seed, agreed-plan", EVALUATOR, 2 * _solves(study), _boxed(_SMALL)),
        # One check of the sum of moments before the first solve, and one after each solve.
        _about(SOLVE, "dealt-comparisons", EVALUATOR, 1 + _solves(study), _boxed(24 * _SMALL)),
        _about(SOLVE, "dealt-comparisons", COORDINATOR, 1 + _solves(study), 24 * _SMALL),
        _about(SOLVE, "dealt-quotients", COORDINATOR, 3 * _solves(study), 16 * _cells(study)),
        _about(SOLVE, "dealt-steps", COORDINATOR, 1, 24 * _cells(study), each="step"),
        _about(SOLVE, "solve-numbers", COORDINATOR, _solves(study), _SMALL).received,
    )
    for row in rows:
        yield replace(row, seat=DEALER)


def _solves(study: Study) -> int:
    """Return the number of solves: one for each model to choose from."""
    return len(study.plan.candidates)


def _cells(study: Study) -> int:
    return study.plan.width * study.plan.labels.width


def _consent(study: Study) -> int:
    """Return the bytes of a seat's consent, which has the size of a peer's."""
    return next(row.bytes for row in peer_sizes(study) if row.stage == Stage.AGREEMENT)


def _about(stage: str, kind: str, to: str, times: int, size: int, *, each: str = "") -> Size:
    about = Size(stage, kind, to, times, size, exact=False, seat=EVALUATOR, each=each)
    return replace(about, holds=DRAWN)


def _boxed(size: int) -> int:
    return padded_size(size) + OVERHEAD
