"""The card's section on assumptions, and on what pooling would give to whom."""

from collections.abc import Iterator

from sottovoce.study.adversaries import POOLS
from sottovoce.study.card.arrangement_lines import pooled_lines
from sottovoce.study.card.facts import worded
from sottovoce.study.choices import Engine
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.wire.printable import markdown


def _pool_lines(study: Study) -> Iterator[str]:
    """Yield what each pool would learn, as in SECURITY.md."""
    for pool in POOLS:
        if pool.applies(study):
            yield f"- If they pool, {pool.who}: {worded(study, pool.gets)}."


def pooling_section(study: Study) -> Iterator[str]:
    """Yield the assumption, and every pair of parties that must not pool."""
    roster = study.roster
    yield "## What must hold"
    yield ""
    if study.engine is Engine.QUORUM:
        yield from _quorum_lines(study)
        return
    pair = "coordinator and evaluator do not"
    if roster.dealer is not None:
        pair = "no two of coordinator, evaluator and dealer"
    yield f"Everyone follows the protocol (honest but curious), and {pair} pool what they saw."
    yield ""
    yield from _pool_lines(study)
    yield from pooled_lines(study)
    organisations = {participant.organisation for participant in roster.having(Role.PEER)}
    for role in (Role.EVALUATOR, Role.DEALER):
        for participant in roster.having(role):
            if participant.organisation in organisations:
                yield (
                    f"- {markdown(participant.organisation)} is a peer and the {role}: it and the "
                    "coordinator are such a pair. An independent organisation is better."
                )
    if len(roster.peers) == 2:
        yield "- With two peers each trusts the coordinator not to side with the other."


def _quorum_lines(study: Study) -> Iterator[str]:
    """Yield the section for a quorum: who may pool, who may not, and what is not covered."""
    quorum = study.quorum
    t, n = quorum.threshold, len(quorum.members)
    names = ", ".join(markdown(study.roster.organisation(member)) for member in quorum.members)
    yield (
        f"Everyone follows the protocol (honest but curious), and at most {t} of the {n} members "
        f"({names}) pool what they saw, with or without the coordinator, who has no share."
    )
    yield ""
    yield f"- The threshold of this study is {t}: no {t + 1} members may pool."
    yield from _pool_lines(study)
    yield (
        f"- {quorum.needed} of the members finish a training and answer queries; with fewer, "
        "nobody gets labels any more."
    )
    spare = n - quorum.needed
    named = spare // 2
    seen = "A wrong share of a product is seen"
    if spare:
        seen += (
            f" where more than {quorum.needed} members are there (up to {spare} of them; {named} "
            "named), and else"
        )
    yield (
        f"- {seen} by the range of what is opened, or because a sign is no bit. This guards "
        "against faults and clumsy cheating, not against malice: who deals shares that do not fit "
        "can make an honest member look wrong."
    )
    yield (
        f"- All that is opened in this study is within {study.quorum_distance:.1g} of noise that "
        "knows nothing (a study above 2^-40 is refused)."
    )
