"""An intermediary: an untrusted machine that builds a peer's encrypted contribution for it.

    peer p                   intermediary of p                 coordinator C (key)
      ── TableNumbers ─────────▶│                                  │
      ── SealedRows, in parts ─▶│  uploads.py: ⟨⟨A_p⟩⟩, ⟨⟨b_p⟩⟩     │
      │                         │── masked questions ─────────────▶│
      │                         │◀──────────── encrypted answers ──│
      │◀── SealedMoments ───────│  forgets signatures and rows
      │   masks them, and adds them to the blind sum, as peers without one do

The paper's blue server. Who learns what: the intermediary sees ciphertexts, how many documents
its peer has (filled up: to a rounded number, or, for exact moments, to the public total), and
public totals; C sees noise. Assuming that an intermediary does not pool with C: together they
could read that peer's rows, one by one. So it never belongs to C's organisation.
"""

from collections.abc import Sequence
from typing import ClassVar

from sottovoce import wire
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.paillier import Ciphertext, Layout, SecretKey
from sottovoce.protocols.casting import Cast, agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.guard import AnswerGuard, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealed_model import closing
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.encrypted_numbers import EncryptedNumbers
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.uploads import (
    OwnRows,
    product_stages,
    sealed_products,
    sealed_second,
    take_rows,
    upload_rows,
)
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals, rounded_up


class TableNumbers(Message, frozen=True):
    """The public numbers from which an intermediary works out how to build moments."""

    discloses: ClassVar = Disclosure(
        seen_by="who builds moments for the sender: its intermediary, or an owner's evaluator",
        reveals="rounded totals, the upper end of the spectrum, and how many rows will come",
        assuming="totals and upper end are on the study card; rows are filled up",
    )
    totals: wire.Words
    ceiling_parts: int
    rows: int


class SealedMoments(Message, frozen=True):
    """⟨⟨A_p⟩⟩ by packed rows and ⟨⟨b_p⟩⟩ of every class, for the peer that brought the rows."""

    discloses: ClassVar = Disclosure(
        seen_by="the peer whose moments they are, who cannot decrypt them",
        reveals="nothing: its own moments, encrypted",
        assuming="sealed against the coordinator, who has the key",
    )
    second: Ciphertext
    products: tuple[Ciphertext, ...]


def through_intermediary(
    party: PartyContext,
    agreement: Agreement,
    prepared: Prepared,
    mine: OwnRows,
    *,
    numbers: EncryptedNumbers,
    parts: int,
) -> Party[list[Ciphertext]]:
    """At a peer: its encrypted moments, built by its intermediary."""
    study, key, totals = party.study, agreement.paillier_key, prepared.totals
    to = study.roster.intermediary(party.name)
    if to is None:
        raise MisuseError(f"{party.name}: expected an intermediary in the roster, found none")
    rows = totals.rows if not study.plan.rados else rounded_up(len(mine.rows))
    yield Send(to, TableNumbers(totals.written, parts, rows))
    slots = numbers.solve.slots(key.plaintext_bits)
    table = numbers.table(totals, rows)
    yield from upload_rows(mine, table, to=to, slots=slots, key=key, entropy=party.entropy)
    sealed = yield from receive(to, SealedMoments)
    width = numbers.width
    second = agreed_from(to, sealed.second, Layout((width, width), slots), numbers.matrix_scale)
    if len(sealed.products) != numbers.scores.classes:
        raise ViolationError(
            f"expected moments of {numbers.scores.classes} classes, found {len(sealed.products)}",
            party=to,
        )
    vectors = [
        agreed_from(to, product, Layout((width,), slots), numbers.vector_scale)
        for product in sealed.products
    ]
    return [second, *vectors]


def told_totals(study: Study, told: TableNumbers, sender: str) -> Totals:
    """The totals that a peer (or an owner) tells who builds for it."""
    totals = Totals.read(study, told.totals, study.roster.peers, sender=sender)
    if not 1 <= told.rows <= totals.rows:
        raise ViolationError(
            f"expected at most {totals.rows} rows, found {told.rows}", party=sender
        )
    return totals


def train_intermediary(party: PartyContext, agreement: Agreement) -> Party[None]:
    """At an intermediary: nothing stays with it."""
    study, key = party.study, agreement.paillier_key
    peer = study.roster.works_for(party.name)
    table_numbers = yield from receive(peer, TableNumbers)
    totals = told_totals(study, table_numbers, peer)
    halves = (4,) * (study.plan.features - totals.absent)  # idf counts in scores alone
    numbers = EncryptedNumbers.of(study, Prepared(totals, halves), table_numbers.ceiling_parts)
    slots = numbers.solve.slots(key.plaintext_bits)
    table = numbers.table(totals, table_numbers.rows)
    parts = yield from take_rows(peer, table, slots=slots)
    masking = numbers.solve.masking
    program = sealed_second(parts, table, slots=slots, masking=masking, entropy=party.entropy)
    cast = Cast((), study.roster.coordinator, party.name)
    second = yield from cast.seated(closing(program))
    # One peer's moments keep the bounds that hold for all of them together.
    products = tuple(
        product.within(numbers.vector_scale).fresh(entropy=party.entropy)
        for product in sealed_products(parts)
    )
    fresh = second.within(numbers.matrix_scale).fresh(entropy=party.entropy)
    yield Send(peer, SealedMoments(fresh, products))


def answer_intermediaries(
    party: PartyContext,
    prepared: Prepared,
    key: SecretKey,
    numbers: EncryptedNumbers,
    peers: Sequence[str],
) -> Party[None]:
    """At the coordinator: products for every intermediary, one after the other."""
    study = party.study
    table = numbers.table(prepared.totals, prepared.totals.rows)
    for name in peers:
        builder = study.roster.intermediary(name)
        if builder is not None:
            stages = product_stages(key, table, entropy=party.entropy)
            yield from serve(AnswerGuard(builder, stages, codec=study.codec(key.public)))
