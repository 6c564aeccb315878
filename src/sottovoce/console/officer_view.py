"""The console's page for the data protection officer: what left, to whom, and what it reveals."""

from collections import Counter
from collections.abc import Iterator

from sottovoce.config.study_file import parse_study
from sottovoce.errors import SottovoceError
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.ledger import verify as verify_ledger
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.report_facts import flows_of
from sottovoce.node.site.ledgers import SeatLedger, ledgers_of
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.charts import amount, flows
from sottovoce.pictures.html import Html, table, tag
from sottovoce.pictures.page import coded, folded, section

_LETTERS = frozenset({LineKind.SENT, LineKind.RECEIVED, LineKind.APPROVAL})
_Kind = tuple[str, str, str, str]
"""Seat, stage, kind of message, and what it reveals."""


def officer_sections(site: Site, study: str) -> Iterator[Html]:
    """The ledgers of this site in one study."""
    ledgers = ledgers_of(site, study)
    if not ledgers:
        yield section("Nothing left yet", tag("p", "A ledger begins when this site joins a study."))
        return
    checked = [_checked(ledger) for ledger in ledgers]
    says = coded("`sottovoce ledger verify` does the same, `--online` with the newest receipt.")
    yield section("Is the ledger whole?", *checked, tag("p", says, class_="soft"))
    yield section("What left, to whom", *_left(ledgers, _organisations(site, study)))
    yield section("Decisions and deletions", _decided(ledgers))


def _checked(ledger: SeatLedger) -> Html:
    try:
        done = verify_ledger(ledger.path, ledger.whose, witnesses=ledger.kept_receipt())
    except SottovoceError as error:
        return tag("p", f"{ledger.seat}: {error}", class_="notice bad")
    held = "; ".join(done.against) or "nothing but its own signatures"
    said = f"{ledger.seat}: whole, {done.lines:,} lines, ends "
    return tag("p", said, tag("code", done.words), f"; held to {held}.", class_="notice good")


def _organisations(site: Site, study: str) -> dict[str, str]:
    """Whose seat is whose, as the study says."""
    texts = [
        registry.text for registry in registries(site.coordinator_place()) if registry.id == study
    ]
    described = [parse_study(text) for text in texts]
    described += [
        joined.description
        for joined in site.joined()
        if joined.id == study and joined.description is not None
    ]
    return {seat.name: seat.organisation for study in described for seat in study.seats}


def _left(ledgers: list[SeatLedger], organisations: dict[str, str]) -> Iterator[Html]:
    own = {ledger.seat for ledger in ledgers}
    ours = {organisations.get(seat, seat) for seat in own}
    sent = [flow for flow in flows_of(ledgers) if flow.sender in own]
    if not sent:
        yield tag("p", "No message has left yet.")
        return
    counts: dict[str, Counter[_Kind]] = {}
    sizes: dict[str, Counter[_Kind]] = {}
    for ledger in ledgers:
        for line in read_ledger(ledger.path):
            if line.what == LineKind.SENT:
                kind = (ledger.seat, line.stage, line.kind, line.reveals)
                counts.setdefault(line.party, Counter())[kind] += 1
                sizes.setdefault(line.party, Counter())[kind] += line.bytes
    yield flows("Who was sent how much: a line is thicker where more was", sent)
    whose = {party: organisations.get(party, party) for party in counts}
    rows: list[tuple[object, ...]] = [
        (
            party,
            whose[party] + (" (this organisation)" if whose[party] in ours else ""),
            counts[party].total(),
            amount(sizes[party].total()),
        )
        for party in counts
    ]
    yield table(("to", "organisation", "messages", "bytes"), rows)
    for party, kinds in counts.items():
        yield folded(
            f"Every kind of message to {party}, and what it reveals",
            table(
                ("from", "stage", "message", "times", "bytes", "reveals"),
                [
                    (
                        seat,
                        stage,
                        kind,
                        count,
                        amount(sizes[party][seat, stage, kind, reveals]),
                        reveals,
                    )
                    for (seat, stage, kind, reveals), count in kinds.items()
                ],
            ),
            name=f"to-{party}",
        )


def _decided(ledgers: list[SeatLedger]) -> Html:
    rows: list[tuple[object, ...]] = [
        (line.when[:19].replace("T", " "), ledger.seat, line.what, line.note)
        for ledger in ledgers
        for line in read_ledger(ledger.path)
        if line.what not in _LETTERS
    ]
    return table(("when (UTC)", "seat", "what", "note"), rows)
