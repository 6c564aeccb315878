"""The context of a party in every conversation of a study: its identity and its record."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sottovoce.entropy import Entropy, bound
from sottovoce.protocols.blind_sum import Member, Round, RoundBook
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.sealing import X25519Key
from sottovoce.protocols.shares.material import Context, Ledger
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.policy import Policy
from sottovoce.study.queries.label_count import RUN_BITS, HelpedRows
from sottovoce.study.study import Study

# The evaluator of a study that has none, and so no blind sums: no participant can have this name.
_NOBODY = " "


@dataclass(frozen=True)
class PartyContext:
    """One party's keys, entropy and records; the records outlive every conversation of the study.

    `shown` is a digest of what the party was shown: the dictionary, and for contributions the point
    from which rows are measured. Sums over peers are bound to it. `policy` is the most to which the
    owner of a peer consents.
    """

    study: Study
    identity: Identity
    entropy: Entropy = field(repr=False)
    box: X25519Key = field(repr=False)
    attempt: Attempt
    book: RoundBook = field(default_factory=RoundBook, repr=False)
    ledger: Ledger = field(default_factory=Ledger, repr=False)
    labels: HelpedRows = field(default_factory=HelpedRows, repr=False)
    shown: bytes = field(default=b"", repr=False)
    policy: Policy | None = None

    @classmethod
    def open(cls, study: Study, identity: Identity, *, entropy: Entropy) -> "PartyContext":
        """Return a party with empty records and a new box key."""
        attempt = Attempt.first(study, Stage.AGREEMENT)
        return cls(study, identity, entropy, X25519Key.draw(entropy), attempt)

    def at(self, attempt: Attempt, *, entropy: Entropy) -> "PartyContext":
        """Return the same party in one attempt, which draws from an entropy of its own."""
        attempt.check(self.study)
        return replace(self, attempt=attempt, entropy=entropy)

    def drawing(self, purpose: str, *inputs: bytes | memoryview) -> "PartyContext":
        """Return the same party with an entropy that depends on the values it will hide."""
        return replace(self, entropy=bound(self.entropy, purpose, *inputs))

    def count_labels(self, asker: str, *, rows: int, evaluation: bool = False) -> None:
        """Count a query that this party helps with; raise if there are too many.

        An `evaluation` is one whose rows are compared with the thresholds of a ROC.
        """
        run = (asker, self.attempt.number, self.entropy.bits(RUN_BITS))
        plan, coordinator = self.study.plan, self.study.roster.coordinator
        if evaluation:
            self.labels.add_evaluation(run, evaluations=plan.evaluations, coordinator=coordinator)
        self.labels.add(run, rows, budget=plan.budget, coordinator=coordinator)

    def having(self, shown: bytes) -> "PartyContext":
        """Return the same party after it was shown what this digest stands for."""
        return replace(self, shown=shown)

    @property
    def name(self) -> str:
        """The party's name."""
        return self.identity.name

    @property
    def peers(self) -> tuple[str, ...]:
        """The peers of this attempt."""
        return self.attempt.peers

    @property
    def session(self) -> bytes:
        """The session of this attempt."""
        return self.attempt.session(self.study)

    def round(
        self, name: str, peers: Collection[str], *, fewest: int = 0, series: str = ""
    ) -> Round:
        """Return a blind sum of this attempt among these peers."""
        study, roster = self.study, self.study.roster
        return Round(
            study.digest.hex(),
            name,
            tuple(peer for peer in roster.peers if peer in peers),
            attempt=self.attempt.number,
            fewest=max(study.fewest_peers, fewest),
            coordinator=roster.coordinator,
            evaluator=roster.evaluator if roster.helped else _NOBODY,
            series=series,
            shown=self.shown,
        )

    def context(self, peers: Collection[str], *, round: int) -> Context:  # noqa: A002 - PROTOCOLS' word
        """Return the context to which one-time material of this attempt is bound."""
        return self.study.context(peers, round=round, attempt=self.attempt.number)

    @property
    def member(self) -> Member:
        """The party as a member of blind sums, with the pins of all others."""
        return self.study.member(self.identity)
