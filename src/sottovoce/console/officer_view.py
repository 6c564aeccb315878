"""The console's page for the officer: what left, to whom, how often, what it reveals; checked."""

from collections import Counter
from collections.abc import Iterator

from sottovoce.errors import SottovoceError
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.ledger import verify as verify_ledger
from sottovoce.node.report_facts import flows_of
from sottovoce.node.site.ledgers import SeatLedger, ledgers_of
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.charts import amount, flows
from sottovoce.pictures.html import Html, table, tag
from sottovoce.pictures.page import section

_LETTERS = frozenset({LineKind.SENT, LineKind.RECEIVED, LineKind.APPROVAL})


def officer_sections(site: Site, study: str) -> Iterator[Html]:
    """The ledgers of this site in one study."""
    ledgers = ledgers_of(site, study)
    if not ledgers:
        yield tag("p", "No ledger yet: one begins when a site joins.")
        return
    yield section("Is it whole?", *(_checked(ledger) for ledger in ledgers))
    yield section("What left, to whom", *_left(ledgers))
    yield section("Decisions and deletions", _decided(ledgers))


def _checked(ledger: SeatLedger) -> Html:
    try:
        done = verify_ledger(ledger.path, ledger.whose, witnesses=ledger.kept_receipt())
    except SottovoceError as error:
        return tag("p", f"{ledger.seat}: {error}", class_="notice bad")
    held = "; ".join(done.against) or "nothing but its own signatures"
    said = f"{ledger.seat}: whole, {done.lines:,} lines, ends {done.words}; held to {held}."
    return tag("p", said, class_="good")


def _left(ledgers: list[SeatLedger]) -> Iterator[Html]:
    sent = [
        flow for flow in flows_of(ledgers) if flow.sender in {ledger.seat for ledger in ledgers}
    ]
    if sent:
        yield flows("Who was sent how much", sent)
    counts: Counter[tuple[str, str, str, str, str]] = Counter()
    sizes: Counter[tuple[str, str, str, str, str]] = Counter()
    for ledger in ledgers:
        for line in read_ledger(ledger.path):
            if line.what == LineKind.SENT:
                key = (ledger.seat, line.party, line.stage, line.kind, line.reveals)
                counts[key] += 1
                sizes[key] += line.bytes
    rows: list[tuple[object, ...]] = [
        (seat, to, stage, kind, counts[seat, to, stage, kind, count],
         amount(sizes[seat, to, stage, kind, count]), count)
        for seat, to, stage, kind, count in counts
    ]  # fmt: skip
    yield table(("seat", "to", "stage", "message", "times", "bytes", "reveals"), rows)


def _decided(ledgers: list[SeatLedger]) -> Html:
    rows: list[tuple[object, ...]] = [
        (line.when[:19].replace("T", " "), ledger.seat, line.what, line.note)
        for ledger in ledgers
        for line in read_ledger(ledger.path)
        if line.what not in _LETTERS
    ]
    return table(("when (UTC)", "seat", "what", "note"), rows)
