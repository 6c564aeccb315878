"""What the parties of a central learner say to each other beside blind sums and questions."""

from typing import ClassVar

from sottovoce.paillier import Ciphertext
from sottovoce.protocols.messages import Disclosure, Message


class StudyKey(Message, frozen=True):
    """K, the public key under which everything is encrypted."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer and the evaluator",
        reveals="the study's public key, under which everybody encrypts",
        assuming="the coordinator alone holds its secret half",
    )
    key: bytes


class PublicTotals(Message, frozen=True):
    """Number of documents and the ceiling of the spectrum (in units of 2^−8), rounded up."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer and the evaluator",
        reveals="the total number of documents and a bound on their spread, rounded up to two "
        "digits",
        assuming="they are over at least three peers, so that none of them is told by name",
    )
    documents: int
    ceiling: int


class SealedModel(Message, frozen=True):
    """⟨⟨θ⟩⟩, packed and re-randomised."""

    discloses: ClassVar = Disclosure(
        seen_by="a peer, who cannot decrypt it; sealed against the coordinator on its way",
        reveals="nothing before it is used: the weights are ciphertexts",
        assuming="Paillier encryption hides, and no peer pools with the key holder",
    )
    theta: Ciphertext
