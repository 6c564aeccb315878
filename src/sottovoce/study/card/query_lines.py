"""The card's sentences about queries: how labels are found, and what a budget protects."""

from collections.abc import Iterator

from sottovoce.numbers.residues import PRIMES
from sottovoce.protocols.quorum.labels import LabelPlan
from sottovoce.study.choices import Engine, LabelsOn, Verdict
from sottovoce.study.plan import (
    KNOWN_QUERIES_PER_FEATURE,
    QUERIES_PER_FEATURE,
    ROWS_A_DOCUMENT,
    StudyPlan,
)
from sottovoce.study.release import Opens
from sottovoce.study.study import Study


def verdict_lines(study: Study) -> Iterator[str]:
    """Yield how labels are found, and what happens without a dealer."""
    plan = study.plan
    if plan.release.opens is not Opens.LABELS:
        return
    if study.engine is Engine.QUORUM:
        yield from _quorum_lines(study)
        return
    alone = [name for name in study.roster.peers if study.verdict_for(name) is Verdict.DGK]
    if len(alone) == len(study.roster.peers):
        yield (
            f"- Labels are found without a dealer (`{Verdict.DGK}`): "
            "asker and coordinator compare by themselves."
        )
        return
    if study.roster.dealer is None:
        yield (
            "- Nobody is dealer of this study: the evaluator is the dealer of every query, so it "
            "must pool with no asker either."
        )
    if plan.verdict is Verdict.FSS:
        yield (
            f"- Labels are found with a dealer (`{Verdict.FSS}`) and in no other way: where it "
            "does not answer, a query ends with an error and is not counted."
        )
        return
    yield (
        f"- Labels are found with a dealer (`{Verdict.FSS}`). If it does not answer, the query "
        f"begins anew without one (`{Verdict.DGK}`), which takes longer; the asker is told, and "
        "its documents are counted once. A coordinator who keeps the dealer's letters back learns "
        "nothing by that, unless it also breaks the rules of the comparison that follows; "
        f"`verdict={Verdict.FSS}` leaves it no such comparison."
    )
    if alone:
        yield (
            f"- For {', '.join(alone)} nobody of another organisation deals: its labels are found "
            f"without a dealer (`{Verdict.DGK}`) from the start."
        )


def _quorum_lines(study: Study) -> Iterator[str]:
    """Yield how members find labels, and what is weaker if one of them deals."""
    threshold = study.quorum.threshold
    if not study.fast_labels:
        yield (
            "- Labels are found by the members on shares, without a dealer, at full strength: "
            f"{threshold} of them together learn no row, no score and no label."
        )
        return
    yield (
        f"- Labels are found by the members on shares, and one of them deals (`{Verdict.FSS}`): "
        "faster than without. The asker and the member that compares with it, or that one and the "
        "member that deals, together read the asker's scores, and as many scores as there are "
        "features give the model. Both members are of other organisations than the asker."
    )
    if threshold > 1:
        yield (
            "- **These labels are weaker than the rest of this study: two organisations are enough "
            f"to read scores, where everything else takes {threshold + 1}. "
            f"`verdict={Verdict.AUTO}` finds labels at full strength.**"
        )
    elif len(study.quorum.members) < len(study.roster.peers):
        yield (
            "- **For an asker whose organisation is no member, it and one member are enough to "
            f"read its scores. `verdict={Verdict.AUTO}` finds labels at full strength.**"
        )


def labels_lines(study: Study) -> Iterator[str]:
    """Yield how scores are computed, with bytes, trips and the parties that must be trusted."""
    if study.plan.release.opens is Opens.WEIGHTS or study.outsourced:
        return
    if study.engine is Engine.QUORUM:
        yield (
            "- Labels are found on shares: no member has more of the model than its own. "
            f"{query_amount(study)} A query takes at most {_quorum_trips(study)} trips, one "
            "after the other. Whom it trusts: stands under what must hold."
        )
        return
    if not study.on_shares:
        asks = study.plan.arrangement.asks_holders
        beside = ", and before them the question to the peers that answer" if asks else ""
        yield (
            f"- Labels are found on ciphertexts (`labels_on={LabelsOn.PAILLIER}`): every peer "
            f"holds the encrypted model, which it and the coordinator together could open. "
            f"{query_amount(study)} A query takes {2 + _verdict_trips(study)} trips{beside}."
        )
        return
    trips = _verdict_trips(study)
    yield (
        f"- Labels are found on shares (`labels_on={LabelsOn.SHARES}`): coordinator and evaluator "
        "keep one half of the model each, no peer holds anything of it, and both are needed for "
        f"every query. {query_amount(study)} A query takes 3 trips of the asker, and {2 + trips} "
        "between the two. Whom it trusts: no two of coordinator, evaluator and dealer pool."
    )


def query_amount(study: Study) -> str:
    """Return the bytes of a query, in a sentence."""
    if study.plan.release.opens is Opens.WEIGHTS:
        return "Queries are answered at home."
    if study.engine is Engine.QUORUM:
        quorum = study.quorum
        most = -(-study.plan.width * len(PRIMES) * 8 // 3)
        reached = len(quorum.members) - quorum.threshold
        return (
            f"An asker sends up to {most:,} bytes a document to each of {reached} members, who "
            "send each other more to compare."
        )
    if not study.on_shares:
        return "A query sends a few kilobytes for each batch of documents."
    columns = study.plan.width + 1
    return (
        f"A query sends {4 * columns:,} bytes a document to each of coordinator and evaluator, or "
        f"{8 * columns:,} where scores are too large for short words."
    )


def _verdict_trips(study: Study) -> int:
    """Return the number of trips between the two holders of scores until there is a label."""
    classes = study.plan.labels.width if study.plan.labels.exclusive else 1
    return 1 if classes == 1 else 2 * (classes - 1).bit_length()


def _quorum_trips(study: Study) -> int:
    """Return a bound on the trips that follow one another from the request to the labels.

    The request, the members' names, rows, nonces and seeds come first. Then every opening takes
    what dealers send for it, the members' shares, and the answer.
    """
    labels, begun = study.plan.labels, 5
    if study.fast_labels:
        return begun + 3 + _verdict_trips(study)
    if study.plan.release.opens is Opens.SCORES:
        return begun + 2
    # For 33 to 64 bits a comparison has the same number of levels; shorter scores have fewer.
    plan = LabelPlan(
        1, study.plan.width, labels.width, 40, 60, study.quorum, exclusive=labels.exclusive
    )
    return begun + 3 * len(list(plan.openings()))


def budget_lines(plan: StudyPlan) -> Iterator[str]:
    """Yield how many labels a peer may ask for, and whether that protects the model."""
    known, given = (
        each * plan.asked_features for each in (QUERIES_PER_FEATURE, KNOWN_QUERIES_PER_FEATURE)
    )
    answers = "scores" if plan.release.opens is Opens.SCORES else "labels"
    yield (
        f"- Each peer may ask for {plan.budget} {answers} of {plan.level}s{_reports(plan)}, "
        "all told: queries, evaluations and every model that is tried count against this one "
        "budget. Batches are padded and count whole."
    )
    if plan.release.opens is Opens.SCORES:
        yield (
            f"- Of this model, some {plan.asked_features} scores of chosen {plan.level}s are one a "
            "feature, and give it."
        )
        return
    yield (
        f"- Of this model, {known} labels of chosen {plan.level}s are two a feature, "
        f"{given} sixteen a feature: beyond the first it counts as known to that peer, the second "
        "give it."
    )
    if plan.budget <= known:
        return
    if plan.budget < given:
        yield (
            f"- **This budget is above two labels a feature: {plan.budget} labels of chosen "
            f"{plan.level}s tell a peer much of the model.**"
        )
    else:
        yield (
            f"- **This budget does not keep the model from a peer: of the {plan.budget} labels, "
            f"{given} give it. For a model that nobody may know, agree on query_budget={known}.**"
        )


def _reports(plan: StudyPlan) -> str:
    """Return the same number in reports, where a row is a part of a report."""
    rows = ROWS_A_DOCUMENT[plan.level]
    return "" if rows == 1 else f" (about {plan.budget // rows} reports of {rows} {plan.level}s)"
