"""The card's section on bytes: those that leave a peer, and those at the other seats."""

from collections.abc import Iterator

from sottovoce.study.card.query_lines import query_amount
from sottovoce.study.card.seat_sizes import helper_sizes
from sottovoce.study.card.sizes import ASSUMED_DOCUMENTS, peer_sizes, step_bytes
from sottovoce.study.choices import Engine
from sottovoce.study.release import Opens
from sottovoce.study.study import Study


def amounts_section(study: Study) -> Iterator[str]:
    """Yield the tables of bytes that leave a peer, and of those at the other seats."""
    rows = peer_sizes(study)
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
        "numbers only."
    )
    if study.engine is not Engine.QUORUM:
        yield query_amount(study)
    if study.engine is Engine.PAILLIER:
        yield f"Ciphertexts are counted for {ASSUMED_DOCUMENTS:,} documents in all."
    if study.engine is Engine.QUORUM:
        yield (
            f"{query_amount(study)} In each step of the solve a member that deals sends about "
            f"{step_bytes(study):,} bytes."
        )
        return
    yield ""
    yield from _helpers(study)


def _helpers(study: Study) -> Iterator[str]:
    seats = dict.fromkeys(row.seat for row in helper_sizes(study))
    yield f"## How much passes through the seat of {' and '.join(f'the {seat}' for seat in seats)}"
    yield ""
    yield "| seat | stage | message | way | times | bytes |"
    yield "|---|---|---|---|---:|---:|"
    for row in helper_sizes(study):
        way = f"to {row.to}" if row.way == "sends" else f"from {row.to}"
        times = f"each {row.each}" if row.each else str(row.times)
        about = "" if row.exact else "about "
        cells = (row.seat, row.stage, row.kind, way, times, f"{about}{row.bytes:,}")
        yield f"| {' | '.join(cells)} |"
    yield ""
    if study.plan.descends:
        yield (
            "The steps of the descent, how many of them there are and what each sends, follow from "
            "public numbers; they are left out here, and so are messages of a few dozen bytes."
        )
    else:
        yield (
            "A solve takes some dozens of steps to a few hundred: how many follows from the joint "
            "moments, which nobody knows beforehand. Messages of a few dozen bytes are left out."
        )
    if study.plan.deals_verdicts and study.plan.release.opens is not Opens.WEIGHTS:
        yield "For each query who deals sends keys for its comparisons, some kilobytes a batch."
