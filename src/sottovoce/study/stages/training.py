"""The training of a study, from a dictionary to the encrypted model: one program for each role.

contributions.py  every peer's moments, masked, in two shares
solving.py        the sealed solve, and the encrypted model to every peer
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sottovoce.errors import InputError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import Engine
from sottovoce.study.queries.model import HeldShare, PeerModel, Trained, release_share, take_release
from sottovoce.study.queries.quorum_model import QuorumModel, QuorumTrained
from sottovoce.study.rare_classes import without_absent, without_rare
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.blocks import (
    collect_blocks,
    contribute_blocks,
    deal_blocks,
    expand_blocks,
)
from sottovoce.study.stages.contributions import collect, contribute, expand
from sottovoce.study.stages.encrypted_training import (
    answer_encrypted,
    contribute_encrypted,
    cover,
    open_covered,
    solve_encrypted,
)
from sottovoce.study.stages.listing import list_features, own_columns, pass_lists, take_lists
from sottovoce.study.stages.penalty_choice import (
    choose_coordinator,
    choose_dealer,
    choose_evaluator,
    choose_peer,
)
from sottovoce.study.stages.preparation import Prepared, prepare_peer
from sottovoce.study.stages.quorum_penalty_choice import choose_at_opener, choose_at_peer
from sottovoce.study.stages.quorum_training import give_release, train_member_or_peer, train_opener
from sottovoce.study.stages.solving import solve_dealt, solve_first, solve_second, take_solved
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side, Split

Told = Callable[[str], None]


def prepare_from(
    desk: PartyContext, agreement: Agreement, documents: Sequence[Document]
) -> Party[Prepared | None]:
    """At a peer: the dictionary, from the documents that it trains with."""
    return (yield from prepare_peer(desk, agreement, training_side(desk, documents)))


def train_peer(
    desk: PartyContext, agreement: Agreement, prepared: Prepared, documents: Sequence[Document]
) -> Party[PeerModel | QuorumModel | None]:
    """At a peer: the sealed model; None if it was dropped because it came too late."""
    training = training_side(desk, documents)
    training = without_absent(desk.study.plan, training, prepared.totals)
    if desk.study.engine is Engine.QUORUM:
        shared = yield from train_member_or_peer(desk, prepared, training)
        best = yield from choose_at_peer(desk, shared, held_back_side(desk, documents))
        return (yield from give_release(desk, shared[best]))
    yield from list_features(desk, own_columns(desk, prepared, training))
    found = yield from _models(desk, agreement, prepared, training)
    if found is None:
        return None
    models, peers = found
    held_back = held_back_side(desk, documents)
    chosen = yield from choose_peer(desk, models, peers, held_back=held_back, training=training)
    return (yield from take_release(desk.study, models[chosen]))


def _models(
    desk: PartyContext, agreement: Agreement, prepared: Prepared, training: Sequence[Document]
) -> Party[tuple[list[PeerModel], tuple[str, ...]] | None]:
    """At a peer: a sealed model for every penalty, and who took part."""
    if desk.study.engine is Engine.PAILLIER:
        return (yield from contribute_encrypted(desk, agreement, prepared, training))
    blocks = desk.study.plan.arrangement.by_features
    bring = contribute_blocks if blocks else contribute
    contributed = yield from bring(desk, prepared, training)
    if contributed is None:
        return None
    mine = own_columns(desk, prepared, training)
    models = yield from take_solved(desk, prepared, mine, public=agreement.paillier_key)
    return models, contributed.peers


def train_quorum(desk: PartyContext, prepared: Prepared, *, told: Told) -> Party[QuorumTrained]:
    """At the coordinator of engine quorum, who opens what is masked and holds nothing."""
    told("contributions")
    trained = yield from train_opener(desk, prepared)
    return (yield from choose_at_opener(desk, trained))


def train_coordinator(
    desk: PartyContext, key: SecretKey, prepared: Prepared, *, told: Told
) -> Party[Trained]:
    """At the coordinator, who says by `told` what begins."""
    told("contributions")
    yield from pass_lists(desk)
    alphas = desk.study.plan.alphas
    if desk.study.engine is Engine.PAILLIER:
        scores, peers = yield from answer_encrypted(desk, prepared, key)
        trained = Trained(scores, prepared.totals, peers, key)
        chosen = yield from choose_coordinator(desk, trained, [scores] * len(alphas))
        yield from open_covered(desk, scores, key, peers)
        return replace(trained, alpha=alphas[chosen.index], told=chosen.told)
    blocks = desk.study.plan.arrangement.by_features
    contributed = yield from (collect_blocks if blocks else collect)(desk, prepared)
    told("solve")
    solved = yield from solve_first(desk, prepared, contributed, key)
    trained = Trained(solved[0].scores, prepared.totals, contributed.peers, key)
    shares = [one.share for one in solved] if desk.study.on_shares else ()
    plans = [one.scores for one in solved]
    best = yield from choose_coordinator(desk, trained, plans, shares)
    index = best.index
    yield from release_share(desk.study, contributed.peers, solved[index].weights)
    kept = shares[index] if desk.study.asks_shares else None
    found = replace(trained, scores=plans[index], alpha=alphas[index], told=best.told)
    return replace(found, share=kept)


def train_evaluator(
    desk: PartyContext, agreement: Agreement, prepared: Prepared
) -> Party[HeldShare | None]:
    """At the evaluator: its share of the model stays with it where labels are found on shares."""
    lists = yield from take_lists(desk, prepared)
    if desk.study.engine is Engine.PAILLIER:
        scores, models, peers = yield from solve_encrypted(desk, agreement, prepared, lists)
        chosen = yield from choose_evaluator(desk, peers)
        yield from cover(desk, scores, models[chosen], peers)
        return None
    blocks = desk.study.plan.arrangement.by_features
    contributed = yield from (expand_blocks if blocks else expand)(desk, prepared)
    solved = yield from solve_second(desk, prepared, contributed, lists)
    held = [HeldShare(one.scores, one.share) for one in solved]
    chosen = yield from choose_evaluator(desk, contributed.peers, held)
    yield from release_share(desk.study, contributed.peers, solved[chosen].weights)
    return held[chosen] if desk.study.asks_shares else None


def train_dealer(desk: PartyContext) -> Party[None]:
    """At the dealer: nothing stays with it; engine paillier asks it for verdicts at most."""
    if desk.study.engine is Engine.SHARES:
        if desk.study.plan.arrangement.by_features:
            yield from deal_blocks(desk)
        yield from solve_dealt(desk)
    yield from choose_dealer(desk)


def training_side(desk: PartyContext, documents: Sequence[Document]) -> list[Document]:
    """The documents that a peer trains with; the others it holds out or holds back."""
    training = _not_held_out(desk, documents)
    if len(desk.study.plan.alphas) > 1:
        back = _back(desk)
        training = [one for one in training if back.side(one) is Side.TRAIN]
    training = without_rare(desk.study.plan, training)
    if not training:
        raise InputError(f"{desk.name}: expected documents to train with, found none")
    return training


def held_back_side(desk: PartyContext, documents: Sequence[Document]) -> list[Document]:
    """The documents with which a peer helps to choose a penalty: neither trained nor held out."""
    if len(desk.study.plan.alphas) == 1:
        return []
    back = _back(desk)
    return [one for one in _not_held_out(desk, documents) if back.side(one) is Side.VALIDATION]


def _not_held_out(desk: PartyContext, documents: Sequence[Document]) -> list[Document]:
    split = desk.study.plan.split
    return [one for one in documents if split.side(one) is Side.TRAIN]


def held_out_side(desk: PartyContext, documents: Sequence[Document]) -> list[Document]:
    """The documents that a peer evaluates with."""
    split = desk.study.plan.split
    return [one for one in documents if split.side(one) is Side.VALIDATION]


def _back(desk: PartyContext) -> Split:
    plan = desk.study.plan
    return Split(plan.held_back, f"{plan.name}/penalty")
