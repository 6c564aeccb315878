"""The card's sentences about an arrangement: who holds which data, and what that reveals."""

from collections.abc import Iterator

from sottovoce.study.arrangement import Remote, Weights
from sottovoce.study.card.facts import worded
from sottovoce.study.choices import Engine
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.wire.printable import markdown


def arranged_lines(study: Study) -> Iterator[str]:
    """Yield the agreed sentences on other arrangements than peers with their own documents."""
    plan, arrangement = study.plan, study.plan.arrangement
    if arrangement.weights is Weights.LISTED:
        yield (
            "- **Every peer tells the coordinator which features its documents have** (for text: "
            "which of the chosen words its documents use), and is sent the weights of these alone."
        )
    builders = study.roster.having(Role.INTERMEDIARY)
    if builders:
        made = f"{plan.rados} rados" if plan.rados else "exact moments"
        helped = ", ".join(study.roster.works_for(builder.name) for builder in builders)
        yield (
            f"- Intermediaries build the contributions of {helped} from ciphertexts ({made}). Each "
            "sees how many documents its peer has, filled up, and nothing of them."
        )
    if not arrangement.by_features:
        return
    shared = ", ".join(arrangement.shared) or "none"
    yield (
        "- Partition `features`: the peers hold different columns of the same entities. "
        f"Shared columns: {shared}; their values with the classes are {plan.blocks} blocks."
    )
    yield (
        f"- A block of fewer than {plan.min_documents} entities is left out by every peer. "
        "Which blocks there are, and how large, no message says; the coordinator learns "
        "whether all peers have the same ones."
    )
    yield f"- Features of others in a query: {_REMOTES[arrangement.remote]}"
    if arrangement.remote is not Remote.ZERO:
        chosen = ", ".join(arrangement.answering) or "all other peers"
        yield f"- Who adds a remote part: {chosen}."
        if any(len(arrangement.answering_to(holding.peer)) == 1 for holding in arrangement.own):
            yield (
                "- **To somebody one peer alone answers, so that its part hides in no sum:** that "
                "asker with the coordinator could read the score of that peer's own columns."
            )


def outsourced_lines(study: Study) -> Iterator[str]:
    """Yield the sections on what is agreed in a lone owner's study, and on what must hold."""
    plan, roster = study.plan, study.roster
    (owner,) = roster.peers
    made = f"{plan.rados} rados" if plan.rados else "exact moments"
    tried = ", ".join(f"{penalty:g}" for penalty in plan.alphas)
    yield "## What is agreed"
    yield ""
    yield (
        f"- Labels: {', '.join(map(markdown, plan.labels.names))}; {plan.width} columns, with "
        f"those of every row alike; penalty {tried}; {made}."
    )
    if len(plan.alphas) > 1:
        yield f"- {owner} chooses among the penalties at home, and tells nobody which."
    yield (
        f"- {owner} holds the data and the key. "
        f"{markdown(roster.organisation(roster.evaluator))} works on ciphertexts, and learns "
        f"{_lent(study)}."
    )
    yield f"- Comes out: the model's weights, to {owner}, who labels at home."
    yield ""
    yield "## What must hold"
    yield ""
    yield (
        "Both follow the protocol. Nobody else has the key, so there is nobody to pool with; "
        f"who gives the key away gives the {worded(study, 'documents')} away."
    )


def _lent(study: Study) -> str:
    """Return what the machine that computes for a lone owner learns."""
    learns = "how many documents (rounded up) and columns there are, "
    if study.plan.class_weight is not None:
        learns += "how many documents of each class (rounded up), "
    ends = "that the solve came out right"
    if study.plan.descends:
        ends = "before each step one bit, that its numbers are in range"
    return worded(study, f"{learns}the upper end of their spectrum (rounded up), and {ends}")


def pooled_lines(study: Study) -> Iterator[str]:
    """Yield the sentences on what pooling reveals in this arrangement only."""
    for participant in study.roster.having(Role.INTERMEDIARY):
        yield (
            f"- The coordinator with {markdown(participant.organisation)}, which builds for "
            f"{study.roster.works_for(participant.name)}, could read that peer's "
            f"{worded(study, 'documents')} one by one."
        )
    if study.plan.arrangement.by_features:
        yield (
            f"- If they pool, {_holders(study)}: sums over blocks of entities. Every column but "
            "the shared ones has one holder, so what pooling would give here has that holder's "
            "name on it."
        )


def _holders(study: Study) -> str:
    if study.engine is Engine.SHARES:
        return "any two of coordinator, evaluator and dealer"
    return "coordinator and evaluator"


_REMOTES = {
    Remote.FULL: "`full`; the peers that answer add their own, and learn which entities are asked "
    "about, and when.",
    Remote.ZERO: "`zero`; they are left out, nobody is asked.",
    Remote.NORMALISED: "`normalised`; the mean edge vector of the peers that answer stands for "
    "them, encrypted. Every peer gets it at the end of the training, and queries ask nobody.",
}
