"""The parties of a query, and the context to which its one-time material is bound."""

from collections.abc import Iterator
from contextlib import contextmanager

from sottovoce.entropy import SEED_BYTES
from sottovoce.errors import AbsenceError, InputError, ViolationError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.shares import holders
from sottovoce.protocols.shares.holders import Dealer, Holder, Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.study.party_context import PartyContext
from sottovoce.study.study import Study


def query_trio(study: Study, asker: str) -> Trio:
    """Return the two holders of scores, and a dealer of another organisation than the asker's.

    The holders are coordinator and evaluator if labels are found on shares, else coordinator and
    asker.
    """
    if asker not in study.roster.peers:
        raise InputError(f"query: expected a peer of the study to ask, found {asker!r}")
    dealer = study.query_dealer(asker)
    if dealer is None:
        raise InputError(
            f"query: expected a dealer that is not {asker!r} itself, found none",
            hints=("let another organisation be dealer or evaluator",),
        )
    second = study.roster.evaluator if study.on_shares else asker
    return Trio(study.roster.coordinator, second, dealer)


def own_trio(study: Study, asker: str) -> Trio:
    """Return the holders of the model's shares, with the asker as their dealer."""
    return Trio(study.roster.coordinator, study.roster.evaluator, asker)


def query_context(study: Study, asker: str, number: int, nonce: bytes = b"") -> Context:
    """The context to which the one-time material of an asker's query is bound.

    The asker draws its nonce for these rows alone. So an asker whose folder came back from a
    backup, and that asks about other rows under an old number, hides them under other masks, also
    if it is handed what was dealt for the old query.
    """
    if len(nonce) not in {0, SEED_BYTES}:
        raise ViolationError(f"expected a nonce of {SEED_BYTES} bytes, found {len(nonce)}")
    return Context.among(f"{study.digest.hex()} query {nonce.hex()}", [asker], round=number)


def seated(party: PartyContext, trio: Trio, context: Context) -> Party[Holder]:
    """At a holder: receive its seed for a query.

    Where the second holder is the evaluator, what is dealt is bound to its run. An asker has bound
    it already, by the nonce in the context.
    """
    ledger, entropy = party.ledger, party.entropy
    if party.study.on_shares:
        return (
            yield from holders.seated(trio, party.name, context, ledger=ledger, entropy=entropy)
        )
    return (yield from holders.take_seed(trio, party.name, context, ledger=ledger))


def seated_for(party: PartyContext, asker: str, number: int, nonce: bytes) -> Party[Holder]:
    """At a holder: receive its seed from the dealer of an asker's query."""
    context = query_context(party.study, asker, number, nonce)
    return (yield from seated(party, query_trio(party.study, asker), context))


def dealt_seeds(party: PartyContext, trio: Trio, context: Context) -> Party[Dealer]:
    """At the dealer of a query: seeds for both holders, as `seated` takes them."""
    deal = holders.deal_to_run if party.study.on_shares else holders.deal_seeds
    return (yield from deal(trio, context, ledger=party.ledger, entropy=party.entropy))


@contextmanager
def dealt_by(study: Study, asker: str) -> Iterator[None]:
    """Add to an error about a missing dealer what can be done."""
    dealer = query_trio(study, asker).dealer
    try:
        yield
    except AbsenceError as error:
        if error.party != dealer:
            raise
        raise AbsenceError(
            f"{error.message}; a new query is dealt again; this one was not answered",
            party=dealer,
            hints=(
                f"ask again when {dealer!r} is back: this query was not counted",
                "a new study may do without the dealer when it is away: verdict='auto'",
            ),
        ) from error
