"""The consent of a peer's owner: a study that asks for more is refused by name."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sottovoce.errors import InputError
from sottovoce.study.arrangement import Partition, Remote, Weights
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.release import Release, usual_releases
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.text.reading import Level

# A document has some tens of sentences and some hundreds of tokens.
_PARTS = 100


@dataclass(frozen=True)
class Policy:
    """The limits of one site. The defaults allow what the study card calls safe.

    `intermediaries` false refuses machines that build a peer's contribution from its encrypted
    rows, no matter who runs them.
    """

    releases: frozenset[Release] = field(default_factory=usual_releases)
    dictionaries: frozenset[DictionaryKind] = field(
        default_factory=lambda: frozenset(DictionaryKind)
    )
    partitions: frozenset[Partition] = field(default_factory=lambda: frozenset(Partition))
    remotes: frozenset[Remote] = frozenset({Remote.ZERO, Remote.NORMALISED})
    weights: frozenset[Weights] = frozenset({Weights.WHOLE})
    min_peers: int = 3
    min_documents: int = 3
    key_bits: int = 3072
    independent_evaluator: bool = False
    intermediaries: bool = True
    rows_per_peer: int = 100_000
    """Of documents; of sentences and tokens a hundred times as many."""

    def check(self, study: Study) -> None:
        """Refuse the study, naming everything in it that the owner did not consent to."""
        refused = list(self._refused(study))
        if refused:
            raise InputError(
                f"policy: study {study.plan.name!r} asks for more than was consented to: "
                + "; ".join(refused),
                hints=(
                    "ask the coordinator for another plan",
                    "or change this site's policy: [policy] in its sottovoce.toml",
                ),
            )

    def check_totals(self, study: Study, totals: Totals) -> None:
        """Refuse more rows than these peers can have, before anything is contributed to them.

        A peer that claims a million documents may contribute numbers as large as those of a
        million documents, and against them it sees what single documents of others change.
        """
        level, peers = study.plan.level, len(totals.peers)
        times = 1 if level is Level.DOCUMENT else _PARTS
        most = self.rows_per_peer * times * peers
        if max(totals.rows, *totals.by_class) > most:
            raise InputError(
                f"policy: expected at most {most} rows of {peers} peers, found {totals.rows} in "
                "the published totals: somebody claims more than is plausible",
                hints=(
                    "ask the coordinator who has so many documents",
                    "if that is right, raise rows_per_peer in [policy] of sottovoce.toml here",
                ),
            )

    def _refused(self, study: Study) -> Iterator[str]:
        plan, roster = study.plan, study.roster
        for name, allowed, asked in (
            # What comes out of a lone owner's study is its own.
            *(() if study.outsourced else (("release", self.releases, plan.release),)),
            ("dictionary", self.dictionaries, plan.dictionary),
            ("partition", self.partitions, plan.arrangement.partition),
            ("weights", self.weights, plan.arrangement.weights),
            *self._asked(study),
        ):
            if asked not in allowed:
                yield f"{name}: expected {' or '.join(sorted(map(str, allowed)))}, found {asked}"
        for name, least, number in (
            ("min_peers", self.min_peers, plan.min_peers),
            ("min_documents", self.min_documents, plan.min_documents),
            ("key_bits", self.key_bits, plan.key_bits),
        ):
            if number < least:
                yield f"{name}: expected at least {least}, found {number}"
        organisations = {participant.organisation for participant in roster.having(Role.PEER)}
        for participant in roster.having(Role.EVALUATOR) if self.independent_evaluator else ():
            if participant.organisation in organisations:
                yield (
                    "evaluator: expected an independent organisation, found the peer "
                    f"{participant.organisation!r}"
                )

        helped = tuple(participant.organisation for participant in roster.having(Role.INTERMEDIARY))
        if helped and not self.intermediaries:
            yield f"intermediaries: expected none, found {', '.join(map(repr, helped))}"

    def _asked(self, study: Study) -> Iterator[tuple[str, frozenset[Remote], Remote]]:
        """The questions about entities of which peers hold different features."""
        if study.plan.arrangement.by_features:
            yield "remote", self.remotes, study.plan.arrangement.remote
