"""`sottovoce ledger …`: what left this site and what came, line by line."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sottovoce.ledger import LedgerLine, LetterSum
    from sottovoce.node.site.ledgers import SeatLedger
    from sottovoce.node.site.site_folder import Site

app = typer.Typer(no_args_is_help=True, help="What left this site and what came, line by line.")

SeatName = Annotated[
    str | None,
    typer.Option("--seat", metavar="NAME", help="One seat of this site; all seats by default."),
]


@app.callback()
def root() -> None:
    """The messages that left this site and that came, line by line."""


@app.command(short_help="Print the lines.")
def show(
    study: StudyName = None,
    seat: SeatName = None,
    what: Annotated[
        str | None,
        typer.Option("--what", metavar="SORT", help="sent, received, consent, deletion, …"),
    ] = None,
    party: Annotated[
        str | None, typer.Option("--party", metavar="NAME", help="Only to or from this party.")
    ] = None,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary", help="One line for each kind of message: how often, how many bytes."
        ),
    ] = False,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Print one line for each message sent or received: when, what, to whom, what it reveals.

    \b
    Examples:
      sottovoce ledger show
      sottovoce ledger show --what sent --summary
      sottovoce ledger show --what sent --party coordinator
      sottovoce ledger show --seat evaluator --json
    """
    from sottovoce.ledger import LineKind, select, to_json

    sort = None
    if what is not None:
        try:
            sort = LineKind(what)
        except ValueError:
            known = ", ".join(LineKind)
            raise InputError(f"--what: expected one of {known}, found {what!r}") from None
    shown_lines = _lines(open_home(home, passphrase_file), study, seat)
    lines = list(select(shown_lines, what=sort, party=party or ""))
    if summary:
        _print_summary(lines, as_json=as_json)
    elif as_json:
        screen.say_json_text(to_json(lines), nl=False)
    elif not lines:
        screen.say("no such line", err=True)
    else:
        _print(lines)


@app.command(short_help="Check that no line was changed, moved or cut out.")
def verify(
    study: StudyName = None,
    seat: SeatName = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="WORDS", help="The end of the ledger that you wrote down earlier."
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            "--beside", metavar="FILE", help="Another seat's ledger of the study, to compare with."
        ),
    ] = None,
    receipt: Annotated[
        Path | None,
        typer.Option(
            "--receipt",
            metavar="FILE",
            help="A saved receipt of the coordinator; by default the one beside the ledger.",
        ),
    ] = None,
    online: Annotated[
        bool,
        typer.Option("--online", help="Ask the coordinator how long the ledger was."),
    ] = False,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Check every line's signature and position, and that no line is missing at the end.

    Prints the end in a form that can be written down: given to --against later, it shows whether
    lines were removed since. The coordinator's receipts show it too: the last one is beside the
    ledger, --receipt names a copy, and --online asks the coordinator. Another seat's ledger
    (--beside) shows it as well: every letter that it received from here must be in this ledger.

    \b
    Examples:
      sottovoce ledger verify
      sottovoce ledger verify --online
      sottovoce ledger verify --seat north --receipt /mnt/safe/north.receipt
      sottovoce ledger verify --seat north --against 412-0123…cdef
      sottovoce ledger verify --seat north --beside coordinator.jsonl
    """
    import asyncio
    from dataclasses import asdict

    from sottovoce.ledger import NotedEnd
    from sottovoce.ledger import verify as check

    site = open_home(home, passphrase_file)
    noted = () if against is None else (NotedEnd.of_words(against),)
    verified = []
    for place in _places(site, study, seat):
        receipts = (*noted, *place.kept_receipt(receipt))
        if online:
            receipts = (*receipts, *asyncio.run(place.asked_receipt()))
        done = check(place.path, place.whose, noted=receipts)
        alike = None if beside is None else _compared(place.path, beside)
        verified.append({"seat": place.seat} | asdict(done) | {"alike": alike})
        if not as_json:
            held = " and ".join(done.against) or "nothing but its own signatures"
            whole = f"{place.seat}: whole, {done.lines:,} lines, ends {done.words}"
            screen.say(f"{whole}; checked against {held}")
            if beside is not None:
                screen.say(f"{place.seat}: {alike:,} letters are the same in {beside}")
    if as_json:
        screen.say_json(verified)


def _compared(ours: Path, theirs: Path) -> int:
    """The number of letters that both ledgers have; a difference is an error."""
    from sottovoce.errors import LedgerError
    from sottovoce.ledger import compare, read_ledger

    compared = compare(read_ledger(ours), _exported(theirs))
    if compared.differences:
        others = len(compared.differences) - 1
        more = f", and {others} others" if others else ""
        raise LedgerError(f"{theirs}: {compared.differences[0]}{more}")
    return compared.alike


def _exported(path: Path) -> "list[LedgerLine]":
    """Another seat's lines: its ledger, or the JSON or JSON Lines of `ledger export`."""
    import msgspec

    from sottovoce.errors import LedgerError
    from sottovoce.ledger import LedgerLine, read_ledger

    if path.suffix != ".json":
        return list(read_ledger(path))
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[LedgerLine])
    except msgspec.MsgspecError:
        raise LedgerError(
            f"{path}: expected lines of a ledger",
            hints=(ShellCommand("sottovoce ledger export --out ledger.jsonl"),),
        ) from None


@app.command(short_help="Write the lines as CSV, JSON or Markdown.")
def export(
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="FILE.csv, .json, .jsonl, .md")
    ],
    study: StudyName = None,
    seat: SeatName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Write all lines to a file for other tools.

    \b
    Examples:
      sottovoce ledger export --out ledger.csv
      sottovoce ledger export --out ledger.md --seat north
      sottovoce ledger export --out north.jsonl --seat north
    """
    from sottovoce.keyfiles import storage
    from sottovoce.ledger import FORMATS

    kinds = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".md": "markdown"}
    if out.suffix not in kinds:
        raise InputError(
            f"--out: expected a name that ends in {', '.join(kinds)}, found {out.name!r}"
        )
    storage.check_absent(out)
    site = open_home(home, passphrase_file)
    lines = list(_lines(site, study, seat))
    data = FORMATS[kinds[out.suffix]](lines).encode()
    storage.write_whole(out, data, mode=storage.SECRET_MODE)
    facts = {"out": str(out), "lines": len(lines)}
    screen.tell(f"{out}: {len(lines):,} lines", facts, as_json=as_json)


def _lines(site: "Site", study: str | None, seat: str | None) -> "Iterator[LedgerLine]":
    from sottovoce.ledger import read_ledger

    for place in _places(site, study, seat):
        yield from read_ledger(place.path)


def _places(site: "Site", study: str | None, seat: str | None) -> "list[SeatLedger]":
    """The seats of this site in the study."""
    from sottovoce.node.site.ledgers import ledgers_of

    ledgers = ledgers_of(site, study)
    if not ledgers:
        raise InputError(
            f"{site.home}: there is no ledger yet",
            hints=(Hint("a ledger begins when a site joins: ", ShellCommand("sottovoce join")),),
        )
    wanted = [place for place in ledgers if seat in {None, place.seat}]
    if not wanted:
        known = ", ".join(place.seat for place in ledgers)
        raise InputError(f"--seat: expected a seat of this site ({known}), found {seat!r}")
    return wanted


def _print_summary(lines: "list[LedgerLine]", *, as_json: bool) -> None:
    """Each party with its kinds of messages, as on the officer's page of the console."""
    from dataclasses import asdict
    from itertools import groupby

    from sottovoce.ledger import letter_sums
    from sottovoce.pictures.charts import amount

    def way(kind: "LetterSum") -> tuple[str, str]:
        return kind.letters.what, kind.letters.party

    sums = sorted(letter_sums(lines), key=way)
    if as_json:
        screen.say_json(
            [asdict(kind.letters) | {"times": kind.times, "bytes": kind.bytes} for kind in sums]
        )
        return
    if not sums:
        screen.say("no such line", err=True)
    for (what, party), grouped in groupby(sums, way):
        kinds = list(grouped)
        times, size = sum(kind.times for kind in kinds), sum(kind.bytes for kind in kinds)
        towards = "from" if what == "received" else "to"
        messages = "message" if times == 1 else "messages"
        screen.say(f"{what} {towards} {party}: {times:,} {messages}, {amount(size)}")
        for kind in kinds:
            of = kind.letters
            each = f"{kind.times:,} × {of.kind} of {of.seat} ({of.stage}), {amount(kind.bytes)}"
            screen.say(f"  {each}: reveals {of.reveals or 'nothing'}")


def _print(lines: "list[LedgerLine]") -> None:
    """Two lines for each: what happened, and what it reveals."""
    for line in lines:
        when = line.when[:19].replace("T", " ")
        words = [line.seat, line.what]
        if line.kind:
            towards = "from" if line.what == "received" else "to"
            words += [line.kind, towards, line.party, f"({line.stage}, {line.bytes:,} bytes)"]
        screen.say(f"{when}  {' '.join(words)}")
        meaning = f"reveals {line.reveals}" if line.reveals else line.note
        if meaning:
            screen.say(f"                     {meaning}")
