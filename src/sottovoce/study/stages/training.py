"""The training of a study, from a dictionary to the encrypted model: one program for each role.

contributions.py  every peer's moments, masked, in two shares
solving.py        the sealed solve, and the encrypted model to every peer
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sottovoce.errors import InputError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.study.choices import Engine
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import HeldShare, PeerModel, Trained, release_share, take_release
from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.remote import take_remotes
from sottovoce.study.rare_classes import without_absent, without_rare
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.blocks import (
    collect_blocks,
    contribute_blocks,
    deal_blocks,
    expand_blocks,
)
from sottovoce.study.stages.contributions import collect, contribute, expand
from sottovoce.study.stages.encrypted.encrypted_training import (
    answer_encrypted,
    contribute_encrypted,
    cover,
    open_covered,
    solve_encrypted,
)
from sottovoce.study.stages.listing import list_features, own_columns, pass_lists, take_lists
from sottovoce.study.stages.own_models import learn_own_scores
from sottovoce.study.stages.penalty_choice import (
    choose_coordinator,
    choose_dealer,
    choose_evaluator,
    choose_peer,
)
from sottovoce.study.stages.preparation import Prepared, prepare_peer
from sottovoce.study.stages.quorum_contributions import JointSums, contribute_moments
from sottovoce.study.stages.quorum_penalty_choice import (
    choose_at_member,
    choose_at_opener,
    choose_at_peer,
)
from sottovoce.study.stages.quorum_training import (
    give_release,
    hear_solved,
    open_solves,
    solve_members,
)
from sottovoce.study.stages.quorum_training import take_release as take_parts
from sottovoce.study.stages.solving import solve_dealt, solve_first, solve_second, take_solved
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side

OnStage = Callable[[str], None]


def prepare_from(
    party: PartyContext, agreement: Agreement, documents: Sequence[Document]
) -> Party[Prepared | None]:
    """At a peer: return the dictionary and its own model, from documents with which it trains."""
    prepared = yield from prepare_peer(party, agreement, training_side(party, documents))
    if prepared is None or not party.study.plan.beside.own_scores:
        return prepared
    assert prepared.space is not None
    own = learn_own_scores(
        party.study.plan,
        prepared.space,
        _training(party, prepared, documents),
        key=prepared.key,
        memory=prepared.memory,
    )
    return replace(prepared, space=replace(prepared.space, own=own))


def train_peer(
    party: PartyContext, agreement: Agreement, prepared: Prepared, documents: Sequence[Document]
) -> Party[PeerModel | None]:
    """At a peer: return its record of the sealed model; None if it came too late."""
    training = _training(party, prepared, documents)
    yield from list_features(party, own_columns(party, prepared, training))
    candidates = yield from _models(party, agreement, prepared, training)
    if candidates is None:
        return None
    sealed, peers = candidates
    models = yield from take_remotes(party, sealed, training)
    held_back = held_back_side(party, documents)
    chosen = yield from choose_peer(party, models, peers, held_back=held_back)
    return (yield from take_release(party.study, models[chosen]))


def _models(
    party: PartyContext, agreement: Agreement, prepared: Prepared, training: Sequence[Document]
) -> Party[tuple[list[PeerModel], tuple[str, ...]] | None]:
    """At a peer: return every sealed model, and the peers that took part."""
    if party.study.engine is Engine.PAILLIER:
        return (yield from contribute_encrypted(party, agreement, prepared, training))
    blocks = party.study.plan.arrangement.by_features
    bring = contribute_blocks if blocks else contribute
    contributed = yield from bring(party, prepared, training)
    if contributed is None:
        return None
    mine = own_columns(party, prepared, training)
    models = yield from take_solved(party, prepared, mine, public=agreement.paillier_key)
    return models, contributed.peers


def _training(
    party: PartyContext, prepared: Prepared, documents: Sequence[Document]
) -> Sequence[Document]:
    """Return the documents to train with, of classes that the study has."""
    training = training_side(party, documents)
    return without_absent(party.study.plan, training, prepared.totals)


def contribute_from(
    party: PartyContext, prepared: Prepared, documents: Sequence[Document]
) -> Party[JointSums]:
    """At a peer of engine quorum: share its moments among the members."""
    training = _training(party, prepared, documents)
    return (yield from contribute_moments(party, prepared, training))


def take_quorum(
    party: PartyContext, prepared: Prepared, sums: JointSums, documents: Sequence[Document]
) -> Party[QuorumModel]:
    """At a peer of engine quorum: return its record of the model, with weights if released."""
    models = yield from hear_solved(party, prepared, sums)
    best = yield from choose_at_peer(party, models, held_back_side(party, documents))
    return (yield from take_parts(party, models[best]))


def train_member(party: PartyContext, prepared: Prepared, sums: JointSums) -> Party[MemberShare]:
    """At a member: return its share of the model."""
    held = yield from solve_members(party, prepared, sums)
    best = yield from choose_at_member(party, held)
    yield from give_release(party, held[best])
    return held[best]


def train_quorum(
    party: PartyContext, prepared: Prepared, sums: JointSums, *, on_stage: OnStage
) -> Party[QuorumTrained]:
    """At the coordinator of engine quorum: open masked values; keep no part of the model."""
    on_stage("solve")
    trained = yield from open_solves(party, prepared, sums)
    return (yield from choose_at_opener(party, trained))


def train_coordinator(
    party: PartyContext, key: SecretKey, prepared: Prepared, *, on_stage: OnStage
) -> Party[Trained]:
    """At the coordinator: run the training, and call `on_stage` when each part begins."""
    on_stage("contributions")
    yield from pass_lists(party)
    candidates = party.study.plan.candidates
    if party.study.engine is Engine.PAILLIER:
        scores, peers = yield from answer_encrypted(party, prepared, key)
        trained = Trained(scores, prepared.totals, peers, key)
        chosen = yield from choose_coordinator(party, trained, [scores] * len(candidates))
        yield from open_covered(party, scores, key, peers)
        candidate = candidates[chosen.index]
        return replace(trained, candidate=candidate, labels_told=chosen.labels_told)
    blocks = party.study.plan.arrangement.by_features
    contributed = yield from (collect_blocks if blocks else collect)(party, prepared)
    on_stage("solve")
    solved = yield from solve_first(party, prepared, contributed, key)
    trained = Trained(solved[0].scores, prepared.totals, contributed.peers, key)
    shares = [share.share for share in solved] if party.study.on_shares else ()
    plans = [share.scores for share in solved]
    best = yield from choose_coordinator(party, trained, plans, shares)
    index = best.index
    yield from release_share(party.study, contributed.peers, solved[index].weights)
    kept = shares[index] if party.study.asks_shares else None
    final = replace(trained, scores=plans[index], candidate=candidates[index], share=kept)
    return replace(final, labels_told=best.labels_told)


def train_evaluator(
    party: PartyContext, agreement: Agreement, prepared: Prepared
) -> Party[HeldShare | None]:
    """At the evaluator: return its share of the model, if labels are found on shares."""
    lists = yield from take_lists(party, prepared)
    if party.study.engine is Engine.PAILLIER:
        scores, models, peers = yield from solve_encrypted(party, agreement, prepared, lists)
        chosen = yield from choose_evaluator(party, peers)
        yield from cover(party, scores, models[chosen], peers)
        return None
    blocks = party.study.plan.arrangement.by_features
    contributed = yield from (expand_blocks if blocks else expand)(party, prepared)
    solved = yield from solve_second(party, prepared, contributed, lists)
    held = [HeldShare(share.scores, share.share) for share in solved]
    chosen = yield from choose_evaluator(party, contributed.peers, held)
    yield from release_share(party.study, contributed.peers, solved[chosen].weights)
    return held[chosen] if party.study.asks_shares else None


def train_dealer(party: PartyContext) -> Party[None]:
    """At the dealer: deal, and keep nothing; engine paillier needs it at most for verdicts."""
    if party.study.engine is Engine.SHARES:
        if party.study.plan.arrangement.by_features:
            yield from deal_blocks(party)
        yield from solve_dealt(party)
    yield from choose_dealer(party)


def training_side(party: PartyContext, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the documents with which a peer trains; it holds out or holds back the others."""
    plan = party.study.plan
    training = plan.choice_split.part(_not_held_out(party, documents), Side.TRAIN)
    training = without_rare(plan, training)
    if not training:
        raise InputError(f"{party.name}: there are no documents to train with")
    return training


def held_back_side(party: PartyContext, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the documents that a peer holds back for the choice of a model."""
    plan = party.study.plan
    if len(plan.candidates) == 1:
        return []
    return plan.choice_split.part(_not_held_out(party, documents), Side.VALIDATION)


def _not_held_out(party: PartyContext, documents: Sequence[Document]) -> Sequence[Document]:
    return party.study.plan.split.part(documents, Side.TRAIN)


def held_out_side(party: PartyContext, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the documents with which a peer evaluates."""
    return party.study.plan.split.part(documents, Side.VALIDATION)
