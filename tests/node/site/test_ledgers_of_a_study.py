"""After a whole study every seat's ledger is whole, and any two of them tell the same story."""

from itertools import combinations

from harness.network import Network
from sottovoce.ledger import LineKind, compare, read_ledger
from sottovoce.ledger.chain import LedgerLine

SITES = ("north", "harbour", "valley")


def test_any_two_ledgers_of_a_study_agree_and_say_what_was_revealed_and_deleted(
    trained: Network,
) -> None:
    paths = {path.parent.name: path for path in trained.root.rglob("ledger.jsonl")}
    assert set(paths) == {"coordinator", "evaluator", "dealer", *SITES}
    ledgers = {name: list(read_ledger(path)) for name, path in paths.items()}
    shared = 0
    for first, other in combinations(ledgers, 2):
        compared = compare(ledgers[first], ledgers[other])
        assert compared.differences == (), f"{first} and {other}: {compared.differences[0]}"
        shared += compared.alike
    assert shared > 100
    for name, lines in ledgers.items():
        _check_lines(name, lines)
    # Without its last letter the same ledger is told apart by the one that received it.
    last = max(line.line for line in ledgers["north"] if line.what == LineKind.SENT)
    (missing,) = compare(ledgers["north"][: last - 1], ledgers["coordinator"]).differences
    assert missing.says == "received, and not in the sender's ledger"


def _check_lines(name: str, lines: list[LedgerLine]) -> None:
    letters = [line for line in lines if line.what in {LineKind.SENT, LineKind.RECEIVED}]
    places = {letter.entry.place for letter in letters}
    assert len(places) == len(letters), f"{name} has two lines of one letter"
    assert all(letter.reveals and not letter.reveals.startswith("unknown") for letter in letters)
    assert any(line.what == LineKind.DELETION for line in lines), f"{name} deleted nothing"
    assert any(line.what == LineKind.END for line in lines), f"{name} came to no end"
    if name in SITES:
        assert any(line.what == LineKind.CONSENT for line in lines), f"{name} consented to nothing"
