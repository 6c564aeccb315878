"""The messages that carry the study's key to everybody and the sealed model back."""

from typing import ClassVar, TypeVar

from sottovoce.errors import ViolationError
from sottovoce.paillier import Ciphertext, PublicKey
from sottovoce.protocols.conversation import KEY_HOLDER, Party, dismiss, receive
from sottovoce.protocols.disclosures import BY_PEERS_AND_EVALUATOR, PAILLIER_HIDES_FROM_PEERS
from sottovoce.protocols.messages import Disclosure, Message

R = TypeVar("R")


class StudyKey(Message, frozen=True):
    """K, the public key under which everything is encrypted."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_PEERS_AND_EVALUATOR,
        reveals="the study's public key, under which everybody encrypts",
        assuming="the coordinator alone holds its secret half",
    )
    key: bytes


class SealedModel(Message, frozen=True):
    """⟨⟨θ⟩⟩, packed and re-randomised."""

    discloses: ClassVar = Disclosure(
        seen_by="a peer, who cannot decrypt it; sealed against the coordinator on its way",
        reveals="nothing before it is used: the weights are ciphertexts",
        assuming=PAILLIER_HIDES_FROM_PEERS,
    )
    theta: Ciphertext


def check_key(coordinator: str, key: PublicKey) -> Party[None]:
    """Stop, before anything is sent, if the coordinator's key is not the one that we know."""
    study_key = yield from receive(coordinator, StudyKey)
    if study_key.key != key.to_bytes():
        raise ViolationError(f"expected the {key}, found another key", party=coordinator)


def closing(program: Party[R]) -> Party[R]:
    """Run the evaluator's program, then send `Enough` to the key holder."""
    result = yield from program
    yield from dismiss(KEY_HOLDER)
    return result
