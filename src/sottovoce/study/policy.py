"""A site's policy: the most that its owner consents to; a study that asks for more is refused."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sottovoce.errors import InputError
from sottovoce.study.arrangement import Partition, Remote, Weights, one_of
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.release import Release, release_named, usual_releases
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.text.reading import Level

# A document has tens of sentences and hundreds of tokens.
_PARTS = 100

CHOICES: Mapping[str, type[StrEnum]] = {
    "dictionaries": DictionaryKind,
    "partitions": Partition,
    "remotes": Remote,
    "weights": Weights,
}
"""The limits that are sets of choices, and of which."""


@dataclass(frozen=True)
class Policy:
    """The limits of one site. The defaults allow what the study card calls safe.

    If `intermediaries` is false, machines that build a peer's contribution from its encrypted rows
    are refused, no matter who runs them.
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
    """The limit for documents; for sentences and tokens it is a hundred times as many."""

    def __post_init__(self) -> None:
        """Take what is named for what the name means: "margin" for the release mode."""
        object.__setattr__(self, "releases", frozenset(map(release_named, _several(self.releases))))
        for name, kind in CHOICES.items():
            given = _several(getattr(self, name))
            read = frozenset(one_of(kind, value, name) for value in given)
            object.__setattr__(self, name, read)

    def check(self, study: Study) -> None:
        """Refuse a study that asks for more; the error names everything beyond the policy."""
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
        """Refuse more rows than these peers can have, before this site contributes anything.

        A peer that claims a million documents may contribute numbers as large as those of a million
        documents. It could use such numbers to see what single documents of others change.
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
            # The result of a lone owner's study belongs to that owner.
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
        """Yield the settings of queries in partition `features`: name, allowed and asked values."""
        if study.plan.arrangement.by_features:
            yield "remote", self.remotes, study.plan.arrangement.remote


def _several(given: Any) -> Collection[Any]:
    """One choice alone counts as a set of one."""
    return (given,) if isinstance(given, str | Release) else given
