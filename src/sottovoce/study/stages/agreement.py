"""The first stage: all participants show that they follow the same plan and roster.

    participant                     coordinator
      │ Consent (hash, signed) ────────▶│   compares, names who differs and where
      │◀──────────── AgreedStudy ───────│   everybody's consent, and the study's Paillier key
     checks every signature under its own hash

Who learns what: everybody learns who takes part, with which keys, in which plan; nothing of
any document. No round starts before every participant signed the roster, so the coordinator cannot
reach the minimum of peers with invented ones. Assuming that people compared the identity keys out
of band.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from sottovoce.errors import AbsenceError, InputError, MalformedError, MisuseError, ViolationError
from sottovoce.paillier import PublicKey, SecretKey, check_key_proof, proof_bytes, prove_key
from sottovoce.protocols.conversation import Party, Send, gather, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealing import KEY_BYTES, Address
from sottovoce.study.choices import Engine
from sottovoce.study.party_context import PartyContext
from sottovoce.study.study import Study
from sottovoce.wire import Value

# Without `sottovoce`, which would get the --home of this site: it is typed at the coordinator.
_AGREE_ANEW = "ask the coordinator to agree anew, by `study create --from STUDY --name NAME` there"
_SIGNED_CONSENT = "roles/consent/v1"
_SIGNED_KEY = "roles/paillier-key/v1"


class SignedConsent(Value, frozen=True):
    """A participant's signature under the study's hash and its own box key."""

    name: str
    digest: bytes
    box: bytes
    signature: bytes


class Consent(Message, frozen=True):
    """A participant's consent, and the key under which others seal messages for it."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, who shows the signature to everybody",
        reveals="which plan and roster this participant was given, and that it agrees to them",
        assuming="the plan holds nothing but public words and numbers",
    )
    consent: SignedConsent
    settings: tuple[tuple[str, str], ...]


class AgreedStudy(Message, frozen=True):
    """Everybody's consent, and the Paillier key of the study."""

    discloses: ClassVar = Disclosure(
        seen_by="every participant of the study",
        reveals="who takes part; except in engine quorum, which has no key, also the study's "
        "public key, and unless that comes with a query (`key-proof`) a proof that its ciphertexts "
        "hold their plaintext and nothing else",
        assuming="people compared the identity keys of the roster out of band",
    )
    consents: tuple[SignedConsent, ...]
    key: bytes
    key_proof: bytes
    signature: bytes


@dataclass(frozen=True)
class Agreement:
    """The result of the agreement: the study's key, its proof, and everybody's box key."""

    key: PublicKey | None
    boxes: Mapping[str, bytes]
    proof: AgreedStudy | None = field(default=None, repr=False)

    @property
    def paillier_key(self) -> PublicKey:
        """The study's Paillier key; engine quorum has none."""
        if self.key is None:
            raise MisuseError("agreement: engine quorum has no Paillier key")
        return self.key

    def address(self, study: Study, sender: str, recipient: str, use: str) -> Address:
        """Return the address of a sealed box of this study."""
        return Address(
            self.boxes[sender],
            self.boxes[recipient],
            info=study.digest,
            label=f"{use}/{sender}/{recipient}".encode(),
        )


def consented(party: PartyContext) -> Party[Agreement]:
    """At every party but the coordinator: send our consent, and check all others."""
    coordinator = party.study.roster.coordinator
    yield Send(coordinator, Consent(signed(party), party.study.settings))
    agreed = yield from receive(coordinator, AgreedStudy)
    return checked(party.study, agreed)


def collected(party: PartyContext, key: SecretKey | None) -> Party[Agreement]:
    """At the coordinator: gather and compare all consents, and show them to everybody."""
    study = party.study
    others = [name for name in study.roster.names if name != party.name]
    consents = [signed(party)]
    came = yield from gather(Consent, others)
    for name in others:
        if name not in came:
            raise AbsenceError(
                f"left, or was late, while {party.name} waited for Consent", party=name
            )
        _compare(study, came[name], name)
        consents.append(came[name].consent)
    public = b"" if key is None else key.public.to_bytes()
    signature = party.identity.sign(_SIGNED_KEY, study.digest, public)
    proof = b"" if key is None or study.on_shares else prove_key(key)
    agreed_study = AgreedStudy(tuple(consents), public, proof, signature)
    for name in others:
        yield Send(name, agreed_study)
    return checked(party.study, agreed_study, own=None if key is None else key.public)


def signed(party: PartyContext) -> SignedConsent:
    """Return a participant's own consent."""
    digest, box = party.study.digest, party.box.public
    signature = party.identity.sign(_SIGNED_CONSENT, digest, box)
    return SignedConsent(party.name, digest, box, signature)


def _compare(study: Study, consent: Consent, party: str) -> None:
    """Refuse another plan or roster; the error names the first setting that differs."""
    if consent.consent.digest == study.digest:
        return
    theirs = dict(consent.settings)
    for name, ours in study.settings:
        if theirs.get(name) != ours:
            raise ViolationError(
                f"agreed to another study: expected {name} {ours}, "
                f"found {theirs.get(name, 'nothing')} "
                f"(hash {study.digest.hex()[:16]}, found {consent.consent.digest.hex()[:16]})",
                party=party,
                hints=("give every participant the same plan and roster",),
            )
    raise ViolationError(
        f"agreed to another study: expected hash {study.digest.hex()[:16]}, "
        f"found {consent.consent.digest.hex()[:16]}",
        party=party,
    )


def check_consent(study: Study, consent: SignedConsent) -> None:
    """Refuse a consent to another study, or one that its participant did not sign."""
    if consent.digest != study.digest or len(consent.box) != KEY_BYTES:
        raise ViolationError(
            f"agreed to another study: expected hash {study.digest.hex()[:16]}, "
            f"found {consent.digest.hex()[:16]}",
            party=consent.name,
        )
    study.roster.pins.check(
        consent.name, consent.signature, _SIGNED_CONSENT, consent.digest, consent.box
    )


def checked(study: Study, agreed: AgreedStudy, *, own: PublicKey | None = None) -> Agreement:
    """Return the agreement, after checking all signatures under our hash, and the key's proof.

    The party that drew the study's key passes it as `own`, and needs no proof of it. If labels are
    found on shares, an asker that encrypts under the key gets the proof with its query
    (key_proof.py).
    """
    agreement = _signed_by_all(study, agreed)
    if own is None and agreement.key is not None and not study.on_shares:
        try:
            check_key_proof(agreement.key, agreed.key_proof)
        except MalformedError as error:
            raise error.by(study.roster.coordinator) from error
    return agreement


def recalled(study: Study, agreed: AgreedStudy) -> Agreement:
    """Return the agreement at a seat that checks the key's proof at another time.

    The seat checked it before, or will when it encrypts. The shorter proof of an older release,
    which does not bound the number of the key's factors, is refused.
    """
    if agreed.consents and all(consent.digest != study.digest for consent in agreed.consents):
        raise InputError(
            f"agreement: expected consent to {study.digest.hex()[:16]}, found consent to "
            f"{agreed.consents[0].digest.hex()[:16]}: another release wrote the study's settings "
            "in another way, or they were changed here",
            hints=(_AGREE_ANEW,),
        )
    agreement = _signed_by_all(study, agreed)
    key, size = agreement.key, len(agreed.key_proof)
    if key is not None and not study.on_shares and size != proof_bytes(key):
        raise InputError(
            f"agreement: expected a key with a proof of {proof_bytes(key)} bytes, found {size}: an "
            "older release agreed on this key, and proved less of it",
            hints=(_AGREE_ANEW,),
        )
    return agreement


def _signed_by_all(study: Study, agreed: AgreedStudy) -> Agreement:
    """Return the agreement, after checking that everybody in our roster signed our hash."""
    pins, coordinator = study.roster.pins, study.roster.coordinator
    names = tuple(consent.name for consent in agreed.consents)
    if sorted(names) != sorted(study.roster.names):
        raise ViolationError(
            f"expected the consent of {', '.join(study.roster.names)}, found {', '.join(names)}",
            party=coordinator,
        )
    for consent in agreed.consents:
        check_consent(study, consent)
    pins.check(coordinator, agreed.signature, _SIGNED_KEY, study.digest, agreed.key)
    boxes = {consent.name: consent.box for consent in agreed.consents}
    return Agreement(_key_of(study, agreed), boxes, agreed)


def _key_of(study: Study, agreed: AgreedStudy) -> PublicKey | None:
    """Return the study's key, after checking its size."""
    coordinator = study.roster.coordinator
    if study.engine is Engine.QUORUM:
        if agreed.key or agreed.key_proof:
            raise ViolationError("expected no Paillier key in engine quorum", party=coordinator)
        return None
    try:
        key = study.plan.public_type.from_bytes(agreed.key)
    except MalformedError as error:
        raise error.by(coordinator) from error
    if key.bits != study.plan.key_bits:
        raise ViolationError(
            f"expected a key of {study.plan.key_bits} bits, found {key.bits}", party=coordinator
        )
    return key
