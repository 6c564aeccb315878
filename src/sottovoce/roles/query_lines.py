"""What a study card says about queries: how labels are found, and what a budget protects."""

from collections.abc import Iterator

from sottovoce.roles.plan import (
    KNOWN_QUERIES_PER_FEATURE,
    QUERIES_PER_FEATURE,
    Release,
    StudyPlan,
    Verdict,
)
from sottovoce.roles.study import Study


def verdict_lines(study: Study) -> Iterator[str]:
    """Which verdict holds, and what falls back to what."""
    plan = study.plan
    if plan.release is not Release.SEALED:
        return
    alone = [name for name in study.roster.peers if study.verdict_for(name) is Verdict.DGK]
    if len(alone) == len(study.roster.peers):
        yield (
            f"- Labels are found without a dealer (`{Verdict.DGK}`): "
            "asker and coordinator compare by themselves."
        )
        return
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
            f"- For {', '.join(alone)} nobody of another house deals: its labels are found "
            f"without a dealer (`{Verdict.DGK}`) from the start."
        )


def budget_lines(plan: StudyPlan) -> Iterator[str]:
    """How many labels a peer may ask for, and whether that keeps the model from it."""
    known, given = (
        each * plan.asked_features for each in (QUERIES_PER_FEATURE, KNOWN_QUERIES_PER_FEATURE)
    )
    yield (
        f"- Each peer may ask for {plan.budget} labels. Batches are padded to whole "
        f"ciphertexts and count whole. A sealed model is not sealed against its own answers: "
        f"beyond about {known} labels of chosen documents (two a feature) it "
        f"counts as known to that peer; {given} (sixteen a feature) give it."
    )
    if plan.release is not Release.SEALED or plan.budget <= known:
        return
    if plan.budget < given:
        yield (
            f"- **This budget is above two labels a feature: {plan.budget} labels of chosen "
            "documents tell a peer much of the model.**"
        )
    else:
        yield (
            f"- **This budget does not keep the model from a peer: {plan.budget} labels are more "
            f"than the {given} that give it. For a model that nobody may know, agree on "
            f"query_budget={known}.**"
        )
