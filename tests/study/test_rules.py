"""The six rules that hold everywhere, each with a test that fails when it is broken."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.studies import Case
from sottovoce.course.queries.actions import RunQuery
from sottovoce.course.queries.answering import helpers_of
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.records import EvaluationBook
from sottovoce.course.trained_study import _Query
from sottovoce.errors import InputError, MalformedError, MisuseError, ViolationError
from sottovoce.paillier import SecretKey, decrypt, generate_insecure_for_tests
from sottovoce.protocols.conversation import Party, Send
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.messages import kind_of
from sottovoce.protocols.runner import Conversation, Meddler, converse
from sottovoce.protocols.seat import Packet
from sottovoce.study import Participant, Role, Roster, Study
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.classification import DealRequest, deal
from sottovoce.study.queries.key_proof import KeyProof
from sottovoce.study.queries.model import EncryptedModel
from sottovoce.study.queries.query_seats import query_context
from sottovoce.study.relay import Letter, Relay, padded_size
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.agreement import AgreedStudy, Agreement, collected, consented, recalled
from sottovoce.text.features import FeatureReader
from sottovoce.wire.codec import tag_of

# 1. The coordinator sees only what is addressed to it.


class Carrier(Meddler):
    """The coordinator as it carries packets between others: it keeps a copy of every byte."""

    def __init__(self, relays: dict[str, Relay] | None) -> None:
        self.relays = relays
        self.copies: list[bytes] = []
        self.names: dict[str, PartyContext] = {}

    def carry(self, packet: Packet) -> Iterable[Packet]:
        if "coordinator" in {packet.sender, packet.recipient}:
            return (packet,)
        if self.relays is None:
            self.copies.append(packet.body)
            return (packet,)
        letter = self.relays[packet.sender].pack(packet, entropy=SeededEntropy(len(self.copies)))
        self.copies.append(letter.body)
        return (self.relays[packet.recipient].unpack(letter),)


def relays_of(case: Case) -> dict[str, Relay]:
    parties = {
        name: PartyContext.open(case.study, case.identities[name], entropy=SeededEntropy(5))
        for name in case.study.roster.names
    }
    agreement = Agreement(
        case.key.public, {name: party.box.public for name, party in parties.items()}
    )
    return {name: Relay(party, agreement) for name, party in parties.items()}


def readable(copies: list[bytes], case: Case) -> Counter[str]:
    """What the coordinator can read of what it carried: messages, ciphertexts opened."""
    codec, counts = case.study.codec(case.key.public), Counter[str]()
    for copy in copies:
        try:
            message = codec.decode(copy, kind_of(tag_of(copy)))
        except MalformedError:
            continue
        if isinstance(message, EncryptedModel):
            counts["weights"] += int(np.count_nonzero(decrypt(case.key, message.weights).integers))
        counts[type(message).__name__] += 1
    return counts


def test_the_coordinator_reads_nothing_of_what_it_carries(binary: Case) -> None:
    relays = relays_of(binary)
    carrier = Carrier(relays)
    binary.run(meddler=carrier)
    assert len(carrier.copies) > 10
    assert readable(carrier.copies, binary) == {}
    size = {padded_size(0) + 52, *(padded_size(len(copy) - 52) + 52 for copy in carrier.copies)}
    assert {len(copy) for copy in carrier.copies} <= size


def test_without_boxes_it_would_read_the_whole_model(binary: Case) -> None:
    carrier, binary = Carrier(None), binary.changed(labels_on="paillier")
    binary.run(meddler=carrier)
    result = readable(carrier.copies, binary)
    assert result["EncryptedModel"] == 3
    assert result["weights"] > 3 * 90


def test_a_box_that_was_changed_moved_or_sent_on_is_refused(binary: Case) -> None:
    relays, entropy = relays_of(binary), SeededEntropy(6)
    packet = Packet(b"session", "north", "valley", 0, b"content")
    letter = relays["north"].pack(packet, entropy=entropy)
    assert relays["valley"].unpack(letter) == packet
    for changed in (
        Letter(b"other", "north", "valley", 0, letter.body),
        Letter(b"session", "north", "valley", 1, letter.body),
        Letter(b"session", "harbour", "valley", 0, letter.body),
        Letter(b"session", "north", "valley", 0, letter.body[:-1] + b"!"),
    ):
        with pytest.raises(MalformedError, match=r"north|harbour"):
            relays["valley"].unpack(changed)
    with pytest.raises(ViolationError, match="expected a letter for itself"):
        relays["harbour"].unpack(letter)
    with pytest.raises(ViolationError, match="found one from 'nobody'"):
        relays["valley"].unpack(Letter(b"session", "nobody", "valley", 0, letter.body))
    with pytest.raises(MisuseError, match="expected a packet of 'harbour'"):
        relays["harbour"].pack(packet, entropy=entropy)


def test_what_the_coordinator_reads_or_writes_travels_as_it_is(binary: Case) -> None:
    relays, entropy = relays_of(binary), SeededEntropy(6)
    for sender, recipient in (("north", "coordinator"), ("coordinator", "north")):
        packet = Packet(b"session", sender, recipient, 3, b"content")
        letter = relays[sender].pack(packet, entropy=entropy)
        assert not relays[sender].seals(packet)
        assert letter.body == packet.body
        assert relays[recipient].unpack(letter) == packet
    assert entropy.drawn == 0


def test_before_the_agreement_only_the_coordinator_writes_and_is_written_to(binary: Case) -> None:
    relays = relays_of(binary)
    letter = relays["north"].pack(
        Packet(b"session", "north", "valley", 0, b"content"), entropy=SeededEntropy(6)
    )
    early = {name: Relay(relay.party) for name, relay in relays.items()}
    packet = Packet(b"session", "north", "coordinator", 0, b"consent")
    sent = early["north"].pack(packet, entropy=SeededEntropy(6))
    assert early["coordinator"].unpack(sent) == packet
    with pytest.raises(MisuseError, match="expected an agreement before a letter"):
        early["north"].pack(
            Packet(b"session", "north", "valley", 0, b"content"), entropy=SeededEntropy(6)
        )
    with pytest.raises(ViolationError, match="found one from 'north'"):
        early["valley"].unpack(letter)


def test_a_box_of_another_study_does_not_open(binary: Case) -> None:
    """The same people with the same keys in another study: nothing is carried over."""
    relays = relays_of(binary)
    packet = Packet(b"session", "north", "valley", 0, b"content")
    letter = relays["north"].pack(packet, entropy=SeededEntropy(6))
    there = relays["valley"]
    other = Study(replace(binary.plan, name="another"), binary.study.roster)
    with pytest.raises(MalformedError, match="north: box: it is not one from this sender"):
        Relay(replace(there.party, study=other), there.agreement).unpack(letter)


def replace_packet(packet: Packet, **changes: Any) -> Packet:
    parts = {name: getattr(packet, name) for name in packet.__struct_fields__}
    return Packet(**(parts | changes))


# 2. One-time material is used once.


def test_a_query_with_a_number_that_was_used_is_refused(binary: Case) -> None:
    outcome, few = binary.outcome, binary.documents["north"][:2]
    before = outcome.classify("north", few)
    asked = outcome.carrier.seats["north"].asking
    used = asked.record.following - 1
    verdict = binary.study.verdict_for("north")
    run = RunQuery(QueryId("north", used), verdict, helpers_of(binary.study, "north", verdict))
    model = outcome.models["north"]
    rows = FeatureReader(model.space, model.key).read(few).integers()
    query = _Query(outcome, model, rows, [], evaluation=False, truth=None)
    runs = dict.fromkeys(("coordinator", "north", *run.helpers), run)
    with pytest.raises(MisuseError, match="was used already"):
        outcome.converse(query.programs(runs, outcome.queries), *run.query.parts)
    # An asker that forgot its number is told the one that is expected.
    forgetful = replace(asked, record=asked.record.but(following=used))
    outcome.carrier.seats["north"] = replace(outcome.carrier.seats["north"], asking=forgetful)
    assert outcome.classify("north", few).classes == before.classes
    assert outcome.carrier.seats["north"].asking.record.following == used + 2


def test_a_round_that_was_unmasked_never_runs_again(binary: Case) -> None:
    outcome = binary.changed(evaluations=2).run()
    outcome.evaluate(binary.documents)
    carrier = outcome.carrier
    evaluations = replace(carrier.coordinator.evaluations, record=EvaluationBook(attempt=2))
    carrier.coordinator = replace(carrier.coordinator, evaluations=evaluations)
    shown = len(outcome.views["coordinator"].received)
    with pytest.raises(MisuseError, match=r"expected an attempt after 1|was unmasked already"):
        outcome.evaluate(binary.documents)
    # No peer sent anything of it: each looked into its own book first.
    assert len(outcome.views["coordinator"].received) == shown


def test_material_for_other_peers_or_another_query_is_other_material(binary: Case) -> None:
    study = binary.study
    contexts = {
        study.context(("north", "valley"), round=1).encode(),
        study.context(("north", "valley", "harbour"), round=1).encode(),
        study.context(("north", "valley"), round=1, attempt=1).encode(),
        query_context(study, "north", 0).encode(),
        query_context(study, "north", 1).encode(),
        query_context(study, "valley", 0).encode(),
    }
    assert len(contexts) == 6


# 3. The dealer of a query is neither the coordinator nor the asker.


def test_a_dealer_that_is_a_peer_does_not_deal_for_itself(binary: Case) -> None:
    plan = replace(binary.plan, labels_on="paillier")
    case = Case(binary.documents, plan, binary.key, {"dealer_at": "north"})
    roster = case.study.roster
    assert roster.query_dealer("north") == "evaluator"
    assert roster.query_dealer("valley") == "dealer"
    case.outcome.classify("north", case.documents["north"][:3])
    case.outcome.classify("valley", case.documents["valley"][:3])
    for name, asker in (("evaluator", "north"), ("dealer", "valley")):
        requests = case.outcome.views[name].of(DealRequest)
        assert [request.asker for request in requests] == [asker]


def test_on_shares_the_evaluator_never_deals_for_it_holds_half_of_the_model(binary: Case) -> None:
    case = Case(binary.documents, binary.plan, binary.key, {"dealer_at": "north"})
    assert case.study.query_dealer("north") is None
    assert case.study.query_dealer("valley") == "dealer"
    case.outcome.classify("north", case.documents["north"][:3])
    case.outcome.classify("valley", case.documents["valley"][:3])
    assert not case.outcome.views["evaluator"].of(DealRequest)
    assert [message.asker for message in case.outcome.views["dealer"].of(DealRequest)] == ["valley"]


def test_a_dealer_refuses_to_deal_for_its_own_house(binary: Case) -> None:
    plan = replace(binary.plan, labels_on="paillier")
    case = Case(binary.documents, plan, binary.key, {"dealer_at": "north"})

    def coordinator() -> Party[None]:
        yield Send("dealer", DealRequest("north", 0, 15, 1, 20, 1000))

    party = case.outcome.parties["dealer"]
    with pytest.raises(ViolationError, match="expected 'evaluator' to deal for 'north'"):
        converse({"coordinator": coordinator(), "dealer": deal(party)})


def test_without_any_other_dealer_there_is_no_dealt_verdict() -> None:
    roster, _ = draw_roster(
        ("alice", "bob", "carol"), entropy=SeededEntropy(), with_dealer=False, evaluator_at="bob"
    )
    assert roster.query_dealer("bob") is None
    assert roster.query_dealer("alice") == "evaluator"


# 4. The roster is hashed, and no round starts with one that not everybody signed.


def test_a_coordinator_that_adds_a_peer_of_its_own_is_found_out(binary: Case) -> None:
    entropy = SeededEntropy(6)
    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=entropy)
    invented = Identity.draw("mallory", entropy)
    mallory = Participant("mallory", "mallory", Role.PEER, invented.public)
    padded = Study(binary.plan, Roster((*roster.participants, mallory)))
    honest = Study(binary.plan, roster)
    programs: dict[str, Any] = {
        name: consented(PartyContext.open(honest, identities[name], entropy=entropy))
        for name in roster.names
        if name != "coordinator"
    }
    party = PartyContext.open(padded, identities["coordinator"], entropy=entropy)
    programs["coordinator"] = collected(party, binary.key)
    programs["mallory"] = consented(PartyContext.open(padded, invented, entropy=entropy))
    with pytest.raises(ViolationError, match="agreed to another study: expected peer mallory"):
        Conversation(programs).run()


def test_one_identity_in_two_seats_is_refused() -> None:
    """A coordinator that is the evaluator, too, could sign two final sets."""
    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=SeededEntropy(6))
    twin = replace(roster.having(Role.EVALUATOR)[0], public=identities["coordinator"].public)
    others = tuple(
        participant for participant in roster.participants if participant.role is not Role.EVALUATOR
    )
    with pytest.raises(InputError, match="expected an identity of its own for everybody"):
        Roster((*others, twin))


def test_a_consent_that_its_participant_did_not_sign_is_refused(binary: Case) -> None:
    entropy = SeededEntropy(7)
    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=entropy)
    study = Study(binary.plan, roster)
    signers = identities | {"bob": replace(identities["alice"], name="bob")}
    programs: dict[str, Any] = {}
    for name in roster.names:
        party = PartyContext.open(study, signers[name], entropy=entropy)
        programs[name] = collected(party, binary.key) if name == "coordinator" else consented(party)
    with pytest.raises(ViolationError, match="bob: 'roles/consent/v1' is not signed"):
        Conversation(programs).run()


def agree(case: Case, key: SecretKey, meddler: Meddler | None = None) -> Any:
    entropy = SeededEntropy(7)
    programs: dict[str, Any] = {}
    for name in case.study.roster.names:
        party = PartyContext.open(case.study, case.identities[name], entropy=entropy)
        programs[name] = collected(party, key) if name == "coordinator" else consented(party)
    return Conversation(programs, meddler=meddler).run().results


def test_a_paillier_key_that_the_coordinator_did_not_sign_is_refused(binary: Case) -> None:
    """Whoever carries the agreement could else put a key there that it can decrypt with."""
    other = generate_insecure_for_tests(768, entropy=SeededEntropy(77)).public.to_bytes()

    def swapped(agreed: AgreedStudy) -> AgreedStudy:
        return AgreedStudy(agreed.consents, other, agreed.key_proof, agreed.signature)

    assert agree(binary, binary.key)["north"].key == binary.key.public
    meddler = rewriting(lambda packet: is_kind(packet, AgreedStudy), AgreedStudy, swapped)
    with pytest.raises(ViolationError, match="coordinator: 'roles/paillier-key/v1' is not sig"):
        agree(binary, binary.key, meddler)


def test_a_paillier_key_without_its_proof_is_refused(binary: Case) -> None:
    """The key's maker could else read what it is asked to decrypt through its randomisers."""
    binary = binary.changed(labels_on="paillier")

    def unproven(agreed: AgreedStudy) -> AgreedStudy:
        proof = bytes(len(agreed.key_proof) - 1) + b"\1"
        return AgreedStudy(agreed.consents, agreed.key, proof, agreed.signature)

    for peer in binary.study.roster.peers:
        meddler = rewriting(
            lambda packet, peer=peer: packet.recipient == peer and is_kind(packet, AgreedStudy),
            AgreedStudy,
            unproven,
        )
        with pytest.raises(MalformedError, match="key proof: expected roots") as caught:
            agree(binary, binary.key, meddler)
        assert caught.value.party == "coordinator"


def test_a_kept_agreement_whose_key_an_older_release_proved_is_refused(binary: Case) -> None:
    """An older proof leaves open how many factors the key has."""
    binary = binary.changed(labels_on="paillier")
    agreed = agree(binary, binary.key)["north"].proof
    assert recalled(binary.study, agreed).key == binary.key.public
    half = agreed.key_proof[: len(agreed.key_proof) // 2]
    older = AgreedStudy(agreed.consents, agreed.key, half, agreed.signature)
    with pytest.raises(InputError, match="an older release agreed on this key"):
        recalled(binary.study, older)


def test_a_kept_agreement_on_settings_that_another_release_wrote_names_nobody(binary: Case) -> None:
    """A release that writes a setting in another way has another digest for the same study."""
    agreed = agree(binary, binary.key)["north"].proof
    now = binary.changed(query_budget=binary.plan.budget + 1).study
    with pytest.raises(InputError, match="another release wrote the study's settings") as caught:
        recalled(now, agreed)
    (hint,) = caught.value.hints
    # A site's --home has no place in a command that is typed at the coordinator's machine.
    assert "sottovoce" not in hint
    assert "ask the coordinator to agree anew, by `study create --from STUDY" in hint


def test_an_asker_without_a_dealer_encrypts_nothing_before_the_key_is_proven(binary: Case) -> None:
    """Where labels are found on shares, the proof comes with the query."""
    outcome = binary.changed(verdict="dgk", features=24).outcome
    sent: list[str] = []

    def is_proof(packet: Packet) -> bool:
        if packet.sender == "north":
            sent.append(tag_of(packet.body))
        return is_kind(packet, KeyProof)

    def unproven(proof: KeyProof) -> KeyProof:
        return KeyProof(bytes(len(proof.roots) - 1) + b"\1")

    outcome = replace(outcome, meddler=rewriting(is_proof, KeyProof, unproven))
    with pytest.raises(MalformedError, match="key proof: expected roots") as caught:
        outcome.classify("north", binary.held_out()[:8])
    assert caught.value.party == "coordinator"
    assert "query-request" in sent
    assert not {"digit-tests", "masked-choices"} & set(sent)


def test_a_paillier_key_of_another_size_than_agreed_is_refused(binary: Case) -> None:
    short = generate_insecure_for_tests(512, entropy=SeededEntropy(5))
    with pytest.raises(ViolationError, match="expected a key of 768 bits, found 512"):
        agree(binary, short)


def held(value: Any, seen: set[int] | None = None) -> Iterable[Any]:
    """Every part of a value that could hold shares, masks or seeds."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, SecretKey | Study):
        return
    seen.add(id(value))
    yield value
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from held(getattr(value, field.name), seen)
    elif isinstance(value, dict):
        for item in value.values():
            yield from held(item, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from held(item, seen)


def test_coordinator_evaluator_and_dealer_keep_no_share_and_no_mask(binary: Case) -> None:
    """Where labels are found on ciphertexts; on shares two of them keep half a model each."""
    outcome = binary.changed(labels_on="paillier").outcome
    kept = [
        outcome.trained,
        *(outcome.parties[name] for name in ("coordinator", "evaluator", "dealer")),
    ]
    parts = [part for item in kept for part in held(item)]
    assert len(parts) > 20
    assert not [part for part in parts if isinstance(part, np.ndarray)]
    # An identity, a box key, and hashes of what was used: nothing longer is left.
    assert max(len(part) for part in parts if isinstance(part, bytes)) <= 64
