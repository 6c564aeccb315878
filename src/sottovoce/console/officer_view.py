"""The console's page for the data protection officer: what left, to whom, and what it reveals."""

from collections.abc import Iterator

from sottovoce.errors import SottovoceError
from sottovoce.ledger import LetterSum, LineKind, letter_sums, read_ledger
from sottovoce.ledger import verify as verify_ledger
from sottovoce.node.known_studies import known_study
from sottovoce.node.report_facts import flows_of
from sottovoce.node.site.ledgers import SeatLedger, ledgers_of
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.charts import amount, flows
from sottovoce.pictures.html import Html, table, tag
from sottovoce.pictures.page import coded, folded, section

_LETTERS = frozenset({LineKind.SENT, LineKind.RECEIVED, LineKind.APPROVAL})


def officer_sections(site: Site, study: str) -> Iterator[Html]:
    """The ledgers of this site in one study."""
    ledgers = ledgers_of(site, study)
    if not ledgers:
        yield section("Nothing left yet", tag("p", "A ledger begins when this site joins a study."))
        return
    described = known_study(site, study).described
    organisations = {seat.name: seat.organisation for seat in described.seats}
    checked = [_checked(ledger) for ledger in ledgers]
    says = coded("`sottovoce ledger verify` does the same, `--online` with the newest receipt.")
    yield section("Is the ledger whole?", *checked, tag("p", says, class_="soft"))
    yield section("What left, to whom", *_left(ledgers, organisations))
    yield section("Decisions and deletions", _decided(ledgers))


def _checked(ledger: SeatLedger) -> Html:
    try:
        done = verify_ledger(ledger.path, ledger.whose, noted=ledger.kept_receipt())
    except SottovoceError as error:
        return tag("p", f"{ledger.seat}: {error}", class_="notice bad")
    held = " and ".join(done.against) or "nothing but its own signatures"
    said = f"{ledger.seat}: whole, {done.lines:,} lines, ends "
    against = f"; checked against {held}."
    return tag("p", said, tag("code", done.words), against, class_="notice good")


def _left(ledgers: list[SeatLedger], organisations: dict[str, str]) -> Iterator[Html]:
    own = {ledger.seat for ledger in ledgers}
    ours = {organisations.get(seat, seat) for seat in own}
    sent = [flow for flow in flows_of(ledgers) if flow.sender in own]
    if not sent:
        yield tag("p", "No message has left yet.")
        return
    by_party: dict[str, list[LetterSum]] = {}
    for kind in letter_sums(line for ledger in ledgers for line in read_ledger(ledger.path)):
        if kind.letters.what == LineKind.SENT:
            by_party.setdefault(kind.letters.party, []).append(kind)
    yield flows("Who was sent how much: a line is thicker where more was", sent)
    whose = {party: organisations.get(party, party) for party in by_party}
    rows: list[tuple[object, ...]] = [
        (
            party,
            whose[party] + (" (this organisation)" if whose[party] in ours else ""),
            sum(kind.times for kind in kinds),
            amount(sum(kind.bytes for kind in kinds)),
        )
        for party, kinds in by_party.items()
    ]
    yield table(("to", "organisation", "messages", "bytes"), rows)
    for party, kinds in by_party.items():
        yield folded(
            f"Every kind of message to {party}, and what it reveals",
            table(
                ("from", "stage", "message", "times", "bytes", "reveals"),
                [
                    (of.seat, of.stage, of.kind, kind.times, amount(kind.bytes), of.reveals)
                    for kind in kinds
                    for of in (kind.letters,)
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
