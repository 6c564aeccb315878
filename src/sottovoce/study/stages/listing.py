"""The paper's f_p: every peer lists its features, and receives only their weights.

    peer p                        coordinator C                    evaluator E
      │ FeatureList ─────────────────▶│─── ListedFeatures ───────────▶│
      │◀──────────── EncryptedModel ⟨⟨θ[f_p]⟩⟩ ──────────────────────│
     fills up with encrypted zeros of its own

No study does this unless the plan asks for it by a name that says what it reveals
(`reveal_feature_lists_to_coordinator`). Who learns what: C learns which of the chosen features a
peer's documents have. For text these are the words its notes use, as far as C can recognise words
by their buckets. E learns the same about nameless columns. The peer receives less of the model, and
cannot score words that it has never seen. Assuming that every peer consented.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.paillier import Ciphertext, Encrypted, Layout, Plain, encrypt, stack
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_COORDINATOR, CONSENT_TO_FEATURE_LISTS
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.study.arrangement import Weights
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import model_scale
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.stages.holdings import HeldSpace
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.text.passes import kept_columns

Columns = tuple[int, ...]
Lists = Mapping[str, Columns]


class FeatureList(Message, frozen=True):
    """The paper's f_p: which of the model's features a peer's own documents have."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR,
        reveals="which features this peer's documents have: of text, which chosen words they use",
        assuming=CONSENT_TO_FEATURE_LISTS,
    )
    columns: wire.Words


class ListedFeatures(Message, frozen=True):
    """One peer's list for the evaluator, which sends that peer only this part of the model."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who does not know which word a column is",
        reveals="which nameless columns of the model this peer's documents have",
        assuming=CONSENT_TO_FEATURE_LISTS,
    )
    peer: str
    columns: wire.Words


def is_listed(study: Study) -> bool:
    """Return whether the plan asks for lists."""
    return study.plan.arrangement.weights is Weights.LISTED


def own_columns(
    party: PartyContext, prepared: Prepared, training: Sequence[Document]
) -> Columns | None:
    """At a peer: return the columns that enough of its documents have; None without lists."""
    if not is_listed(party.study):
        return None
    assert prepared.space is not None
    space, positions = prepared.space, np.arange(prepared.space.width)
    if party.study.plan.arrangement.by_features:
        held = HeldSpace.of(party.study, space, party.name)
        space, positions = held.space, held.positions
    fewest = party.study.plan.min_documents
    kept = kept_columns(training, space, fewest=fewest, key=prepared.key)
    return tuple(positions[np.append(kept, True)].tolist())


def list_features(party: PartyContext, columns: Columns | None) -> Party[None]:
    """At a peer: send its list to the coordinator, if the plan asks for it."""
    if columns is not None:
        words = np.array(columns, np.uint64)
        yield Send(party.study.roster.coordinator, FeatureList(wire.Words.of(words)))


def pass_lists(party: PartyContext) -> Party[None]:
    """At the coordinator: receive every list, and pass it on."""
    if not is_listed(party.study):
        return
    for name in party.peers:
        feature_list = yield from receive(name, FeatureList)
        yield Send(party.study.roster.evaluator, ListedFeatures(name, feature_list.columns))


def take_lists(party: PartyContext, prepared: Prepared) -> Party[Lists]:
    """At the evaluator: receive every peer's list."""
    if not is_listed(party.study):
        return {}
    coordinator = party.study.roster.coordinator
    width = party.study.plan.width - prepared.totals.absent
    lists = {}
    for _ in party.peers:
        listed = yield from receive(coordinator, ListedFeatures)
        columns = listed.columns.array()
        if listed.peer not in party.peers or not _in_order(columns, width):
            raise ViolationError(
                f"expected columns of the peer below {width}, in order",
                party=coordinator,
            )
        lists[listed.peer] = tuple(int(column) for column in columns)
    return lists


def _in_order(columns: NDArray[np.uint64], width: int) -> bool:
    numbers = columns.astype(np.int64)
    return bool(numbers.size and (np.diff(numbers) > 0).all() and numbers[-1] < width)


def part_of(model: Ciphertext, lists: Lists, peer: str) -> Ciphertext:
    """At the evaluator: return the part of the model that a peer receives."""
    return model[list(lists[peer])] if lists else model


def completed(
    party: PartyContext, weights: Ciphertext, scores: ScorePlan, columns: Columns | None
) -> Ciphertext:
    """At a peer: return a whole model, with encrypted zeros for columns not listed."""
    if columns is None:
        return weights
    model, scale = scores.model, model_scale(scores)
    layout = Layout((len(columns), model.shape[1]), model.slots)
    mine = agreed_from(party.study.roster.evaluator, weights, layout, scale)
    nothing = Plain(np.zeros((1, model.shape[1]), np.int64), scale)
    zero = encrypt(weights.key, nothing, slots=model.slots, entropy=party.entropy)
    rows: list[Encrypted] = [zero[0]] * model.shape[0]
    for place, column in enumerate(columns):
        rows[column] = mine[place]
    return stack(rows).fresh(entropy=party.entropy)
