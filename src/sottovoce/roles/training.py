"""A whole training, from documents to the encrypted model: one program for each role.

agreement.py      everybody follows the same plan with the same people
preparation.py    dictionary and totals, from blind sums of suppressed counts
contributions.py  every peer's moments, masked, in two shares
solving.py        the sealed solve, and the encrypted model to every peer
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sottovoce.errors import InputError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.roles.agreement import Agreement
from sottovoce.roles.contributions import collect, contribute, expand
from sottovoce.roles.desk import Desk
from sottovoce.roles.encrypted import (
    answer_encrypted,
    contribute_encrypted,
    solve_encrypted,
)
from sottovoce.roles.model import SealedModel
from sottovoce.roles.plan import Engine
from sottovoce.roles.preparation import prepare_coordinator, prepare_evaluator, prepare_peer
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.solving import solve_dealt, solve_first, solve_second, take_solved
from sottovoce.roles.totals import Totals
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side

Told = Callable[[str], None]


@dataclass(frozen=True)
class Trained:
    """What the coordinator keeps after training: the key, how scores are written, the totals."""

    scores: ScorePlan
    totals: Totals
    peers: tuple[str, ...]
    key: SecretKey = field(repr=False)


def train_peer(
    desk: Desk, agreement: Agreement, documents: Sequence[Document]
) -> Party[SealedModel | None]:
    """At a peer: the encrypted model; None if it was dropped because it came too late."""
    training = training_side(desk, documents)
    prepared = yield from prepare_peer(desk, agreement, training)
    if prepared is None:
        return None
    if desk.study.engine is Engine.PAILLIER:
        return (yield from contribute_encrypted(desk, agreement, prepared, training))
    contributed = yield from contribute(desk, prepared, training)
    if contributed is None:
        return None
    return (yield from take_solved(desk, prepared))


def train_coordinator(desk: Desk, key: SecretKey, *, told: Told = lambda _: None) -> Party[Trained]:
    """At the coordinator, who says by `told` which stage begins."""
    told("dictionary")
    prepared = yield from prepare_coordinator(desk)
    told("contributions")
    if desk.study.engine is Engine.PAILLIER:
        scores, peers = yield from answer_encrypted(desk, prepared, key)
        return Trained(scores, prepared.totals, peers, key)
    contributed = yield from collect(desk, prepared)
    told("solve")
    scores = yield from solve_first(desk, prepared, contributed, key)
    return Trained(scores, prepared.totals, contributed.peers, key)


def train_evaluator(desk: Desk, agreement: Agreement) -> Party[None]:
    """At the evaluator: nothing stays with it."""
    prepared = yield from prepare_evaluator(desk)
    if desk.study.engine is Engine.PAILLIER:
        yield from solve_encrypted(desk, agreement, prepared)
        return
    contributed = yield from expand(desk, prepared)
    yield from solve_second(desk, prepared, contributed)


def train_dealer(desk: Desk) -> Party[None]:
    """At the dealer: nothing stays with it, and engine paillier asks it for nothing."""
    if desk.study.engine is Engine.SHARES:
        yield from solve_dealt(desk)


def training_side(desk: Desk, documents: Sequence[Document]) -> list[Document]:
    """The documents that a peer trains with; the others it holds out."""
    split = desk.study.plan.split
    training = [one for one in documents if split.side(one) is Side.TRAIN]
    if not training:
        raise InputError(f"{desk.name}: expected documents to train with, found none")
    return training


def held_out_side(desk: Desk, documents: Sequence[Document]) -> list[Document]:
    """The documents that a peer evaluates with."""
    split = desk.study.plan.split
    return [one for one in documents if split.side(one) is Side.VALIDATION]
