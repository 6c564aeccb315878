"""A study of one owner in memory, whose data an evaluator works on in ciphertexts."""

from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.course.trained_study import StudyOutcome
from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.paillier import PublicKey
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.runner import Conversation
from sottovoce.protocols.view import View
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.in_memory import Record, Setting
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.agreement import collected, consented
from sottovoce.study.stages.outsourced import train_for_owner, train_owner
from sottovoce.study.study import Study
from sottovoce.text.documents import Document


def run_outsourced(
    study: Study,
    documents: Mapping[str, Sequence[Document]],
    *,
    identities: Mapping[str, Identity],
    entropy: Entropy,
    setting: Setting | None = None,
) -> StudyOutcome:
    """The whole story in memory: the owner's documents in, its own model out."""
    setting, roster = setting or Setting(), study.roster
    owner, evaluator = roster.coordinator, roster.evaluator
    if set(documents) != {owner}:
        raise InputError(
            f"study {study.plan.name!r}: expected documents of {owner}, found those of "
            f"{', '.join(sorted(documents)) or 'nobody'}"
        )
    setting.told("keys")
    key = setting.key or study.plan.generate(entropy=entropy)
    parties = {
        name: PartyContext.open(study, identities[name], entropy=entropy) for name in roster.names
    }
    record = Record()
    setting.told(Stage.AGREEMENT)
    programs: dict[str, Party[Any]] = {
        owner: collected(parties[owner], key),
        evaluator: consented(parties[evaluator]),
    }
    agreements = _converse(study, programs, Stage.AGREEMENT, record, setting, key=None)
    setting.told(Stage.TRAINING)
    attempt = Attempt.first(study, Stage.TRAINING)
    seats = {name: party.at(attempt, entropy=entropy) for name, party in parties.items()}
    programs = {
        owner: train_owner(seats[owner], documents[owner], key=key),
        evaluator: train_for_owner(seats[evaluator], agreements[evaluator]),
    }
    results = _converse(study, programs, Stage.TRAINING, record, setting, key=key.public)
    model, trained = results[owner]
    views = {name: View(name, list(view.received)) for name, view in record.views.items()}
    return StudyOutcome(study, {owner: model}, trained, parties, views, record)


def _converse(
    study: Study,
    programs: Mapping[str, Party[Any]],
    stage: Stage,
    record: Record,
    setting: Setting,
    *,
    key: PublicKey | None,
) -> Mapping[str, Any]:
    session = Attempt.first(study, stage).session(study)
    table = Conversation(programs, session=session, codec=study.codec(key), meddler=setting.meddler)
    try:
        return table.run().results
    finally:
        record.add(table.views, table.traffic)
