"""The card's participants, the fingerprint that consent signs, and a block for signatures."""

from collections.abc import Iterator

from sottovoce.study.study import Study, grouped
from sottovoce.wire.printable import markdown


def people_section(study: Study, words: tuple[str, ...], *, keyed: bool) -> Iterator[str]:
    """Yield all participants, and the fingerprint once everybody's keys are known (`keyed`)."""
    roster = study.roster
    yield "## Who takes part"
    yield ""
    yield "| participant | organisation | role |"
    yield "|---|---|---|"
    for person in roster.participants:
        yield f"| {markdown(person.name)} | {markdown(person.organisation)} | {person.role} |"
    yield ""
    for organisation in dict.fromkeys(
        participant.organisation for participant in roster.participants
    ):
        seats = [
            participant
            for participant in roster.participants
            if participant.organisation == organisation
        ]
        if len(seats) > 1:
            roles = " and ".join(str(seat.role) for seat in seats)
            yield f"- {markdown(organisation)} is {roles}: whatever its seats see, it sees."
    yield ""
    if not keyed:
        yield (
            "The fingerprint of this study stands for the plan and for everybody's keys, so it is "
            "known when everybody has come. It is shown before anybody consents; consent and "
            "ledger name it."
        )
        return
    yield f"Fingerprint (consent signs it, the ledger names it): `{grouped(study.digest)}`"
    if words:
        yield ""
        yield "Words to compare with the other sites over the phone:"
        yield ""
        for start in range(0, len(words), 4):
            yield f"    {' '.join(words[start : start + 4])}"


def signature_section(study: Study, *, keyed: bool, code: str) -> Iterator[str]:
    """Yield a line for signing for each organisation."""
    yield "## Signatures"
    yield ""
    signed = f"fingerprint `{grouped(study.digest)}`" if keyed else f"plan `{code}`"
    yield f"For the study {markdown(study.plan.name)!r} with the {signed}:"
    yield ""
    yield "| organisation | name and function | place and date | signature |"
    yield "|---|---|---|---|"
    for organisation in dict.fromkeys(
        participant.organisation for participant in study.roster.participants
    ):
        yield f"| {markdown(organisation)} | | | |"
