"""An intermediary: an untrusted machine that builds an encrypted contribution for a peer.

    peer p                   intermediary of p                 coordinator C (key)
      ── TableNumbers ─────────▶│                                  │
      ── SealedRows, in parts ─▶│  uploads.py: ⟨⟨A_p⟩⟩, ⟨⟨b_p⟩⟩     │
      │                         │── masked questions ─────────────▶│
      │                         │◀──────────── encrypted answers ──│
      │◀── SealedContribution ──│  forgets signatures and rows
      │   masks them, and adds them to the blind sum, as peers without one do

It is the paper's blue server. Who learns what: the intermediary sees ciphertexts, public totals,
and how many documents its peer has (padded to a rounded number or, for exact moments, to the public
total). C sees noise. Assuming that an intermediary does not pool with C: together they could read
that peer's rows, one by one. So it never belongs to C's organisation.
"""

from collections.abc import Sequence
from typing import ClassVar

from sottovoce import wire
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.rounding import rounded_up
from sottovoce.paillier import Ciphertext, SecretKey, Unsent
from sottovoce.protocols.casting import Cast, agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.guard import AnswerGuard, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealed_model import closing
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.encrypted_numbers import (
    EncryptedNumbers,
    LearnerNumbers,
    numbers_of,
)
from sottovoce.study.stages.encrypted.rado_descent import built_rados
from sottovoce.study.stages.encrypted.uploads import (
    OwnRows,
    SealedRows,
    TablePlan,
    product_stages,
    sealed_products,
    sealed_second,
    take_rows,
    upload_rows,
)
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals


class TableNumbers(Message, frozen=True):
    """The public numbers from which an intermediary computes how to build moments."""

    discloses: ClassVar = Disclosure(
        seen_by="the sender's intermediary, or an owner's evaluator, which builds moments for it",
        reveals="rounded totals, the upper end of the spectrum, and how many rows will come",
        assuming="totals and upper end are named on the study card; rows are filled up",
    )
    totals: wire.Words
    ceiling_parts: int
    rows: int


class SealedContribution(Message, frozen=True):
    """⟨⟨A_p⟩⟩ and ⟨⟨b_p⟩⟩ of every class, or rados, for the peer that brought the rows."""

    discloses: ClassVar = Disclosure(
        seen_by="the peer whose moments they are, who cannot decrypt them",
        reveals="nothing: its own moments or rados, encrypted",
        assuming="sealed against the coordinator, who has the key",
    )
    parts: tuple[Ciphertext, ...]


def through_intermediary(
    party: PartyContext,
    agreement: Agreement,
    prepared: Prepared,
    mine: OwnRows,
    *,
    numbers: LearnerNumbers,
    parts: int,
) -> Party[list[Ciphertext]]:
    """At a peer: return its encrypted moments, built by its intermediary."""
    study, key, totals = party.study, agreement.paillier_key, prepared.totals
    to = study.roster.intermediary(party.name)
    if to is None:
        raise MisuseError(f"{party.name}: the roster has no intermediary")
    rows = totals.rows if not study.plan.rados else rounded_up(len(mine.rows))
    yield Send(to, TableNumbers(totals.written, parts, rows))
    bits = key.plaintext_bits
    table, rows_to_send = numbers.table(totals, rows), numbers.uploaded(mine)
    slots, entropy = numbers.row_slots(bits), party.entropy
    yield from upload_rows(rows_to_send, table, to=to, slots=slots, key=key, entropy=entropy)
    sealed = yield from receive(to, SealedContribution)
    forms = numbers.forms(bits)
    if len(sealed.parts) != len(forms):
        raise ViolationError(f"expected {len(forms)} parts, found {len(sealed.parts)}", party=to)
    return [
        agreed_from(to, part, layout, scale)
        for part, (layout, scale) in zip(sealed.parts, forms, strict=True)
    ]


def told_totals(study: Study, numbers: TableNumbers, sender: str) -> Totals:
    """Return the totals that a peer (or an owner) sent the party that builds for it."""
    totals = Totals.read(study, numbers.totals, study.roster.peers, sender=sender)
    if not 1 <= numbers.rows <= totals.rows:
        raise ViolationError(
            f"expected at most {totals.rows} rows, found {numbers.rows}", party=sender
        )
    return totals


def train_intermediary(party: PartyContext, agreement: Agreement) -> Party[None]:
    """At an intermediary, which keeps nothing."""
    study, key = party.study, agreement.paillier_key
    peer = study.roster.works_for(party.name)
    table_numbers = yield from receive(peer, TableNumbers)
    totals = told_totals(study, table_numbers, peer)
    halves = (4,) * (study.plan.features - totals.absent)  # idf is used in scores only
    numbers = numbers_of(study, Prepared(totals, halves), table_numbers.ceiling_parts)
    slots = numbers.row_slots(key.plaintext_bits)
    table = numbers.table(totals, table_numbers.rows)
    rows = yield from take_rows(peer, table, slots=slots)
    if isinstance(numbers, DescentNumbers):
        built = built_rados(rows, numbers, entropy=party.entropy)
    else:
        built = yield from _built_moments(party, rows, table, numbers, slots=slots)
    # The bounds for all peers together hold for one peer's part.
    forms = numbers.forms(key.plaintext_bits)
    parts = (
        part.within(scale).fresh(entropy=party.entropy)
        for part, (_, scale) in zip(built, forms, strict=True)
    )
    yield Send(peer, SealedContribution(tuple(parts)))


def _built_moments(
    party: PartyContext,
    rows: Sequence[SealedRows],
    table: TablePlan,
    numbers: EncryptedNumbers,
    *,
    slots: Slots,
) -> Party[list[Unsent]]:
    """At an intermediary: return moments, with the key holder's help."""
    masking = numbers.solve.masking
    program = sealed_second(rows, table, slots=slots, masking=masking, entropy=party.entropy)
    cast = Cast((), party.study.roster.coordinator, party.name)
    second = yield from cast.seated(closing(program))
    return [second, *sealed_products(rows)]


def answer_intermediaries(
    party: PartyContext,
    prepared: Prepared,
    key: SecretKey,
    numbers: LearnerNumbers,
    peers: Sequence[str],
) -> Party[None]:
    """At the coordinator: answer the questions of every intermediary, one after the other."""
    study = party.study
    if isinstance(numbers, DescentNumbers):
        return  # rados are sums, and need no answer
    table = numbers.table(prepared.totals, prepared.totals.rows)
    for name in peers:
        builder = study.roster.intermediary(name)
        if builder is not None:
            stages = product_stages(key, table, entropy=party.entropy)
            yield from serve(AnswerGuard(builder, stages, codec=study.codec(key.public)))
