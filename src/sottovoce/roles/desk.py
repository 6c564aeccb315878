"""What a party brings to every conversation of a study: who it is, and what it did already."""

from dataclasses import dataclass, field

from sottovoce.entropy import Entropy
from sottovoce.protocols.blind_sum import Member, RoundBook
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.sealing import X25519Key
from sottovoce.protocols.shares.material import Ledger
from sottovoce.roles.study import Study


@dataclass(frozen=True)
class Desk:
    """One party's own things; its books outlive every conversation of the study."""

    study: Study
    identity: Identity
    entropy: Entropy = field(repr=False)
    box: X25519Key = field(repr=False)
    book: RoundBook = field(default_factory=RoundBook, repr=False)
    ledger: Ledger = field(default_factory=Ledger, repr=False)

    @classmethod
    def open(cls, study: Study, identity: Identity, *, entropy: Entropy) -> "Desk":
        """A desk with empty books and a new box key."""
        return cls(study, identity, entropy, X25519Key.draw(entropy))

    @property
    def name(self) -> str:
        """The party's name."""
        return self.identity.name

    @property
    def member(self) -> Member:
        """The party with the pins of all others."""
        return self.study.member(self.identity)
