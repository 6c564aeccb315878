"""The parties of a query, and the context to which its one-time material is bound."""

from collections.abc import Iterator
from contextlib import contextmanager

from sottovoce.errors import AbsenceError, InputError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.shares.holders import Holder, Trio, take_seed
from sottovoce.protocols.shares.material import Context
from sottovoce.study.party_context import PartyContext
from sottovoce.study.study import Study


def query_trio(study: Study, asker: str) -> Trio:
    """Two holders of scores, and their dealer: no holder, and not of the asker's organisation.

    The holders are coordinator and evaluator where labels are found on shares, else coordinator
    and asker.
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
    """The holders of the model's shares, for whom the asker itself deals."""
    return Trio(study.roster.coordinator, study.roster.evaluator, asker)


def query_context(study: Study, asker: str, number: int) -> Context:
    """The context to which the one-time material of an asker's query is bound."""
    return Context.among(f"{study.digest.hex()} query", [asker], round=number)


def seated(party: PartyContext, trio: Trio, context: Context) -> Party[Holder]:
    """At a holder: its seed of a query."""
    return (yield from take_seed(trio, party.name, context, ledger=party.ledger))


@contextmanager
def dealt_by(study: Study, asker: str) -> Iterator[None]:
    """Say what can be done when the dealer of a query is not there."""
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
