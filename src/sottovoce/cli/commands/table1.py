"""`sottovoce table1`: the paper's table, reproduced and measured beside its own figures."""

from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.paper.table1 import PrintedRow, TableEntry


class TableRows(StrEnum):
    """The rows of the table that are made."""

    PLAIN = "plain"
    ENCRYPTED = "encrypted"
    ALL = "all"


class KeySize(StrEnum):
    """Sizes of the encrypted rows' key."""

    USUAL = "2048"
    LARGE = "3072"


def table1(
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Random draws over which each row is averaged.")
    ] = 20,
    rows: Annotated[TableRows, typer.Option("--rows", help="Which rows; plain ones are quick.")] = (
        TableRows.ALL
    ),
    bits: Annotated[KeySize, typer.Option("--bits", help="Size of the encrypted rows' key.")] = (
        KeySize.USUAL
    ),
    as_json: AsJson = False,
) -> None:
    """The paper's table on Ionosphere: misclassification and seconds, its figures beside ours.

    The first 200 rows train and the last 151 test; rows are dealt to the peers at random,
    with 1,000 rados in all. Rows whose outcome does not depend on the draw are run once.

    Encrypted rows run once, on seed 0, with 100 rados (their plaintext twin is a row of its
    own), and take about half a minute. Their seconds are the wall time of all parties
    together, who take turns on all cores of this machine; what encryption cost beside the
    twin is printed below the table.

    \b
    Examples:
      sottovoce table1
      sottovoce table1 --rows plain --seeds 5
      sottovoce table1 --rows encrypted --bits 3072 --json
    """
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.paper.table1 import for_people, for_scripts, measure

    printed: list[PrintedRow] = []
    with ExitStack() as stack:
        status = stack.enter_context(screen.console(err=True).status("learning …"))
        entries = _entries(rows, bits, stack)
        for row in measure(entries, seeds=seeds):
            printed.append(row)
            status.update(f"{len(printed)} of {len(entries)} rows, the last one {row.learner} …")
    if as_json:
        show({}, [for_scripts(row) for row in printed], title="", as_json=True)
        return
    table = [for_people(row) for row in printed]
    show({"seeds": seeds}, table, title="the paper's table, on Ionosphere", as_json=False)
    _show_costs([row for row in printed if row.sealed is not None])


def _entries(rows: TableRows, bits: KeySize, stack: ExitStack) -> "Sequence[TableEntry]":
    from sottovoce.paper.table1 import PLAIN

    if rows is TableRows.PLAIN:
        return PLAIN
    from sottovoce.entropy import SystemEntropy
    from sottovoce.paillier import generate
    from sottovoce.paper.cores import Cores
    from sottovoce.paper.table1_encrypted import EncryptionSetting, entries

    entropy = SystemEntropy()
    key = generate(int(bits), entropy=entropy)
    cores = stack.enter_context(Cores())
    setting = EncryptionSetting(key.with_arithmetic(cores), entropy, cores.cpu_seconds)
    encrypted = entries(setting)
    return encrypted if rows is TableRows.ENCRYPTED else (*PLAIN, *encrypted)


def _show_costs(rows: "Sequence[PrintedRow]") -> None:
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.paper.table1 import cost_for_people, operations_for_people

    if not rows or rows[0].sealed is None:
        return
    facts = {"bits": f"{rows[0].bits:d}", "κ": rows[0].sealed.kappa}
    costs = [cost_for_people(row) for row in rows]
    show(facts, costs, title="what encryption costs, beside the plaintext twin", as_json=False)
    operations = [operations_for_people(row) for row in rows]
    show(facts, operations, title="operations of all parties, by kind", as_json=False)
