"""The study card: what leaves a site, to whom, what it reveals, under which assumption.

It is made of the plan, the roster and the disclosures that stand beside every kind of
message, so it cannot say less than the programs do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from sottovoce.protocols import messages
from sottovoce.protocols.blind_sum import messages as blind_sums
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares import (
    carries,
    handover,
    holders,
    multiplier,
    products,
    residual,
    signs,
    solve,
    truncation,
    undealt,
    undealt_tally,
    verdict,
)
from sottovoce.protocols.two_party import comparison as two_party_comparison
from sottovoce.protocols.two_party import directions, matrices, own_masks
from sottovoce.protocols.two_party import products as two_party_products
from sottovoce.protocols.two_party import truncation as two_party_truncation
from sottovoce.roles import (
    agreement,
    blocks,
    budget,
    choice,
    classification,
    contributions,
    encrypted,
    evaluation,
    intermediary,
    listing,
    model,
    outsourced,
    preparation,
    remote,
    solving,
    uploads,
)
from sottovoce.roles.arranged import arranged_lines, outsourced_lines, pooled_lines
from sottovoce.roles.arrangement import Remote, Weights
from sottovoce.roles.plan import (
    FEWEST_EVALUATED,
    FEWEST_PEERS,
    Contribution,
    DictionaryKind,
    Engine,
    Release,
    Verdict,
)
from sottovoce.roles.query_lines import budget_lines, verdict_lines
from sottovoce.roles.roster import Role
from sottovoce.roles.seat_sizes import helper_sizes
from sottovoce.roles.sizes import ASSUMED_DOCUMENTS, peer_sizes
from sottovoce.roles.study import Study, grouped
from sottovoce.roles.thresholds import scored_names
from sottovoce.wire.values import kebab

_SHARED = (holders, truncation, products, signs)


@dataclass(frozen=True)
class Line:
    """One kind of message of one stage: what it tells whom."""

    stage: str
    kind: type[Message]

    @property
    def name(self) -> str:
        """The kind's name on the wire."""
        return kebab(self.kind.__name__)

    @property
    def discloses(self) -> Disclosure:
        """In words."""
        return self.kind.discloses


@dataclass(frozen=True)
class StudyCard:
    """What everybody reads before it consents.

    `words` are the fingerprint for the phone, once everybody's keys are known; `waits` says
    what is waited for and how long; `also` are modules with messages beyond those of the
    protocols. Whoever shows the card to people knows these.
    """

    study: Study
    words: tuple[str, ...] = ()
    waits: tuple[tuple[str, str], ...] = ()
    also: tuple[tuple[str, ModuleType], ...] = ()

    @property
    def fingerprint(self) -> str:
        """What consent signs: the hash of plan and roster, in groups for reading aloud."""
        return grouped(self.study.digest)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every kind of message that this study can send, by stage."""
        return tuple(
            Line(stage, kind)
            for stage, modules in (*self._stages(), *((one, (held,)) for one, held in self.also))
            for module in modules
            for kind in vars(module).values()
            if _is_sent(kind, module)
        )

    def markdown(self) -> str:
        """The card as a page."""
        parts: tuple[Iterator[str], ...] = (
            self._head(),
            self._settings(),
            self._sizes(),
            self._assumptions(),
            self._messages(),
        )
        if self.study.outsourced:
            parts = (self._head(), outsourced_lines(self.study), self._messages())
        return "\n".join(line for part in parts for line in (*part, "")) + "\n"

    def _stages(self) -> Iterator[tuple[str, tuple[ModuleType, ...]]]:
        yield "agreement", (agreement,)
        if self.study.outsourced:
            yield "contributions", (intermediary, uploads)
            yield "sealed solve", (matrices, directions, two_party_truncation)
            yield "sealed solve", (two_party_products, two_party_comparison, messages)
            yield "encrypted model", (outsourced,)
            return
        yield "dictionary and totals", (preparation, blind_sums)
        arrangement = self.study.plan.arrangement
        if arrangement.by_features:
            yield "contributions", (blocks,)
        if self.study.engine is Engine.SHARES:
            yield "contributions", (contributions,)
            yield "sealed solve", (*_SHARED, solve, multiplier, residual, solving)
            yield "encrypted model", (handover, model)
        else:
            if self.study.roster.having(Role.INTERMEDIARY):
                yield "contributions", (intermediary, uploads)
            yield "sealed solve", (encrypted, matrices, own_masks, two_party_truncation)
            yield "sealed solve", (two_party_products, two_party_comparison, messages)
            yield "encrypted model", (model,)
        if arrangement.weights is Weights.LISTED:
            yield "encrypted model", (listing,)
        if len(self.study.plan.alphas) > 1:
            yield "choice of the penalty", (choice, messages)
        yield from self._asked()
        yield "evaluation", (evaluation,)

    def _asked(self) -> Iterator[tuple[str, tuple[ModuleType, ...]]]:
        yield "queries", (budget, classification)
        if Verdict.FSS in self._verdicts:
            # Engine shares has named these for its solve already.
            shared = _SHARED if self.study.engine is Engine.PAILLIER else ()
            yield "queries", (*shared, verdict)
        if Verdict.DGK in self._verdicts:
            yield "queries", (carries, undealt)
            if self.study.plan.counts_sealed:
                yield "queries", (undealt_tally,)
        arrangement = self.study.plan.arrangement
        if arrangement.by_features and arrangement.remote is not Remote.ZERO:
            yield "queries", (remote,)

    @property
    def _verdicts(self) -> set[Verdict]:
        """Every way in which a peer's labels may be found."""
        study = self.study
        first = {study.verdict_for(name) for name in study.roster.peers}
        back = {Verdict.DGK} if study.plan.falls_back else set()
        return {one for one in first if one is not None} | back

    def _head(self) -> Iterator[str]:
        plan = self.study.plan
        yield f"# Study card: {plan.name}"
        yield ""
        yield f"Approval under which it runs: {plan.approval or 'none was named'}"
        yield ""
        if self.words:
            yield "Words to compare with the other sites over the phone:"
            yield ""
            for start in range(0, len(self.words), 4):
                yield f"    {' '.join(self.words[start : start + 4])}"
        else:
            yield f"Fingerprint (compare it with the other sites): `{self.fingerprint}`"
        yield ""
        yield "| participant | organisation | role |"
        yield "|---|---|---|"
        for one in self.study.roster.participants:
            yield f"| {one.name} | {one.organisation} | {one.role} |"
        yield ""
        for house in dict.fromkeys(one.organisation for one in self.study.roster.participants):
            seats = [one for one in self.study.roster.participants if one.organisation == house]
            if len(seats) > 1:
                roles = " and ".join(str(one.role) for one in seats)
                yield f"- {house} is {roles}: whatever its seats see, it sees."

    def _settings(self) -> Iterator[str]:
        plan = self.study.plan
        yield "## What is agreed"
        yield ""
        yield f"- Labels: {', '.join(plan.labels.names)}; one row stands for one {plan.level}."
        yield (
            f"- {plan.features} features, dictionary `{plan.dictionary}`; engine "
            f"`{self.study.engine}`; penalty {', '.join(f'{one:g}' for one in plan.alphas)}."
        )
        yield f"- Comes out: {_RELEASES[plan.release]}"
        yield f"- A feature in fewer than {plan.min_documents} of a site's documents is never sent."
        yield (
            f"- At least {plan.min_peers} peers; a class with fewer than "
            f"{plan.min_documents} documents a peer stops the study."
        )
        yield (
            "- Totals of documents and classes, and the upper end of the spectrum, are "
            "published rounded up to two digits. Iterations, sizes and times follow from them."
        )
        yield from verdict_lines(self.study)
        yield from budget_lines(plan)
        yield (
            f"- Evaluation: {plan.evaluations} time(s), each of at most {plan.budget} documents of "
            f"a peer, opened over at least {FEWEST_EVALUATED} documents and {FEWEST_PEERS} peers; "
            "small cells are left out; a site's own figures stay."
        )
        if plan.contribution is Contribution.RADOS:
            yield (
                f"- Every peer contributes the moments of {plan.rados} sampled rados; nobody "
                "sees them."
            )
        if plan.operating_point:
            named = zip(scored_names(plan.labels), plan.operating_point, strict=True)
            points = ", ".join(f"{name} above {point:g}" for name, point in named)
            yield f"- Operating point (scores are near -1 and 1): {points}."
        if plan.draws_roc:
            yield (
                f"- Its ROC is looked at {len(plan.thresholds)} public thresholds; single "
                "comparisons stay shared, and only sums over all peers are opened."
            )
        yield (
            "- At the end coordinator, evaluator and dealer delete shares, masks and seeds; "
            "peers keep the encrypted model, the coordinator the key until the study is closed."
        )
        for what, long in self.waits:
            yield f"- {what}: {long}."
        yield from arranged_lines(self.study)
        if plan.dictionary is DictionaryKind.JOINT:
            yield ""
            yield JOINT_DICTIONARY.format(bits=plan.bucket_bits, fewest=plan.min_documents)

    def _sizes(self) -> Iterator[str]:
        """What leaves a peer, in bytes."""
        rows = peer_sizes(self.study)
        yield "## How much leaves a peer"
        yield ""
        yield "| stage | message | to | times | bytes |"
        yield "|---|---|---|---:|---:|"
        for row in rows:
            about = "" if row.exact else "about "
            cells = (row.stage, row.kind, row.to, str(row.times), f"{about}{row.bytes:,}")
            yield f"| {' | '.join(cells)} |"
        yield f"| altogether | | | | about {sum(row.total for row in rows):,} |"
        yield ""
        yield (
            "Boxes for others than the coordinator are padded, and their sizes depend on public "
            "numbers only. A query sends a few kilobytes for each batch of documents."
        )
        if self.study.engine is Engine.PAILLIER:
            yield f"Ciphertexts are counted for {ASSUMED_DOCUMENTS:,} documents in all."
        yield ""
        yield from self._helper_sizes()

    def _helper_sizes(self) -> Iterator[str]:
        """What passes through the other seats, in bytes."""
        yield "## How much passes through the evaluator's and the dealer's seats"
        yield ""
        yield "| seat | stage | message | way | times | bytes |"
        yield "|---|---|---|---|---:|---:|"
        for row in helper_sizes(self.study):
            way = f"to {row.to}" if row.way == "sends" else f"from {row.to}"
            times = f"each {row.each}" if row.each else str(row.times)
            about = "" if row.exact else "about "
            cells = (row.seat, row.stage, row.kind, way, times, f"{about}{row.bytes:,}")
            yield f"| {' | '.join(cells)} |"
        yield ""
        yield (
            "A solve takes some dozens of steps to a few hundred: how many follows from the joint "
            "moments, which nobody knows beforehand. Messages of a few dozen bytes are left out."
        )
        if self.study.plan.deals_verdicts:
            yield (
                "For each query the dealer sends keys for its comparisons, some kilobytes a batch."
            )

    def _messages(self) -> Iterator[str]:
        yield "## What is sent"
        yield ""
        yield (
            "Whatever goes between two parties other than the coordinator is sealed end to "
            "end, also where the coordinator carries it."
        )
        yield ""
        yield "| stage | message | seen by | reveals | assuming |"
        yield "|---|---|---|---|---|"
        for line in self.lines:
            tells = line.discloses
            cells = (line.stage, f"`{line.name}`", tells.seen_by, tells.reveals, tells.assuming)
            yield f"| {' | '.join(cells)} |"

    def _assumptions(self) -> Iterator[str]:
        roster = self.study.roster
        yield "## What must hold"
        yield ""
        yield (
            "Everyone follows the protocol (honest but curious), and no two of coordinator, "
            "evaluator and dealer pool what they saw."
        )
        yield ""
        two = "any two of coordinator, evaluator and dealer"
        pair = two if self.study.engine is Engine.SHARES else "coordinator and evaluator together"
        yield (
            f"- What pooling would give: {pair} can rebuild text of the union of all peers, "
            "though not say whose."
        )
        yield from pooled_lines(self.study)
        yield "- The coordinator with any peer learns the model and the dictionary by word."
        if roster.dealer is not None:
            yield "- The dealer of a query with its asker learns the asker's scores."
        houses = {one.organisation for one in roster.having(Role.PEER)}
        for role in (Role.EVALUATOR, Role.DEALER):
            for one in roster.having(role):
                if one.organisation in houses:
                    yield (
                        f"- {one.organisation} is a peer and the {role}: it and the "
                        "coordinator are such a pair. An independent organisation is better."
                    )
        if len(roster.peers) == 2:
            yield "- With two peers each trusts the coordinator not to side with the other."


def _is_sent(kind: object, module: ModuleType) -> bool:
    """Whether this is a kind of message that the module itself sends."""
    return (
        isinstance(kind, type)
        and issubclass(kind, Message)
        and kind.__module__ == module.__name__
        and "discloses" in vars(kind)
    )


# As docs/text.md says it; a test compares the two.
JOINT_DICTIONARY = (
    "For `joint`, features are hashed with keyed BLAKE2 into 2^{bits} buckets under a key that the "
    "peers share and the coordinator never learns. A peer zeroes every bucket that fewer than "
    "{fewest} of its own documents have (a group, such as a patient, counts once, and so does a "
    "document however many rows it has). The coordinator gets the sums, per class, of the buckets "
    "that are left (where one peer alone has a bucket, that peer's counts), and publishes the "
    "chosen ids with idf rounded to 0.5. Frequent words can be guessed from their frequency. "
    "**A peer can look up which of its own words were chosen. Whoever holds the key, which is "
    "every peer, can also confirm a guess: test whether any word that it thinks of was chosen.**"
)

_RELEASES = {
    Release.SEALED: "a sealed model; peers get labels of their own documents, never scores.",
    Release.MARGIN: "a sealed model; peers get scores of their own documents. As many scores as "
    "features give the model.",
    Release.PEERS: "the model's weights, to every peer.",
}
