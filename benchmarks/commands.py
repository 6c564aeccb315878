"""`python -m benchmarks …`: our figures beside a named partner's, measured in one run."""

from typing import Annotated

import typer

from benchmarks.growth_command import growth
from benchmarks.members_command import members
from benchmarks.network_command import network
from benchmarks.serve_command import serve
from benchmarks.site_command import site
from benchmarks.startup_command import startup
from benchmarks.study_commands import (
    arrangements,
    classify,
    contributions,
    remote_parts,
    sealed,
    steps,
    table_settings,
    train,
)
from benchmarks.text_commands import accuracy, blocks, text
from benchmarks.traffic_command import traffic
from sottovoce.cli.terminal import screen

app = typer.Typer(no_args_is_help=True, help="Measure: ours beside a named partner, in one run.")


@app.callback()
def root() -> None:
    """Measure: ours beside a named partner, in one run."""


app.command(short_help="Learning together beside pooled text.")(accuracy)
app.command(short_help="Reading text beside scikit-learn's hashing.")(text)
app.command(short_help="What each block of columns costs a site.")(blocks)
app.command(short_help="Sealed training beside plaintext training.")(train)
app.command(short_help="Private labels beside scores with phe.")(classify)
app.command(short_help="Many peers at one coordinator beside a bare echo.")(serve)
app.command(short_help="How cost grows beside how it should.")(growth)
app.command(short_help="A site with many documents, to a trained study.")(site)
app.command(short_help="Short commands beside an empty Python.")(startup)
app.command(short_help="A day's letters at one coordinator.")(traffic)
app.command(short_help="A study over TLS beside one in memory.")(network)
app.command(short_help="Memory and CPU of one member of a quorum.")(members)
app.command(short_help="A sealed study on real text beside plaintext.")(sealed)
app.command(short_help="Sampled rados beside exact moments.")(contributions)
app.command(short_help="Steps of a solve from a point and from zero.")(steps)
app.command(short_help="Other arrangements beside peers with rows.")(arrangements)
app.command("table-settings", short_help="Penalties of the paper's table, from folds.")(
    table_settings
)
app.command("remote-parts", short_help="Protocol 3 as printed beside ours.")(remote_parts)


@app.command("all", short_help="Every benchmark in turn, as tables.")
def everything() -> None:
    """Every benchmark in turn, as tables; one that lacks its data says so and is passed over.

    \b
    Example:
      SOTTOVOCE_DATA=datasets/ python -m benchmarks all
    """
    from sottovoce.errors import InputError

    for command in app.registered_commands:
        job = command.callback
        if job is None or job is everything:
            continue
        screen.say(f"bench {command.name or job.__name__.replace('_', '-')}", bold=True)
        try:
            job()
        except InputError as error:
            screen.say("\n".join((f"passed over: {error}", *(f"hint: {h}" for h in error.hints))))


@app.command(short_help="Products mod 2^64 beside numpy's.")
def ring(
    features: Annotated[
        int, typer.Option("--features", min=1, help="Size of the square matrix.")
    ] = 2048,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Products mod 2^64 beside numpy's integer product (operations per second of CPU time).

    \b
    Examples:
      python -m benchmarks ring
      python -m benchmarks ring --features 4096 --json
    """
    from benchmarks.arithmetic.ring import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("multiplying …"):
        rows = measure(features=features, rounds=rounds)
    facts = {"features": features, "rounds": rounds}
    show(facts, rows, title="products mod 2^64, per second", as_json=as_json)


@app.command(short_help="Encrypted arithmetic beside phe and sf-heu.")
def paillier(
    bits: Annotated[int, typer.Option("--bits", help="Size of the key: 2048, 3072, 4096.")] = 3072,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Encrypted arithmetic beside phe and, where installed, sf-heu (rates per CPU second).

    \b
    Examples:
      python -m benchmarks paillier
      python -m benchmarks paillier --bits 2048 --json
    """
    from benchmarks.arithmetic.paillier import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        rows = measure(bits=bits, rounds=rounds, progress=status.update)
    show({"bits": bits}, rows, title="Paillier, rates per CPU second", as_json=as_json)


@app.command(short_help="A ciphertext for its key holder beside one for others.")
def randomisers(
    bits: Annotated[int, typer.Option("--bits", help="Size of the key: 2048, 3072, 4096.")] = 3072,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 9,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """A uniform r^N, for whatever goes to a key holder, beside a power of the key's own base.

    Milliseconds of CPU time for each ciphertext.

    \b
    Examples:
      python -m benchmarks randomisers
      python -m benchmarks randomisers --bits 2048 --json
    """
    from benchmarks.arithmetic.randomisers import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("raising to powers …"):
        rows = measure(bits=bits, rounds=rounds)
    show({"bits": bits}, rows, title="randomisers, ms a ciphertext", as_json=as_json)


@app.command("long-plaintexts", short_help="Damgård and Jurik's s > 1 beside Paillier's s = 1.")
def long_plaintexts(
    bits: Annotated[int, typer.Option("--bits", help="Size of the key: 2048, 3072, 4096.")] = 3072,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Longer plaintexts beside Paillier's, in plaintext bits per CPU second.

    \b
    Examples:
      python -m benchmarks long-plaintexts
      python -m benchmarks long-plaintexts --bits 2048 --json
    """
    from benchmarks.arithmetic.lengths import measure
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.entropy import SystemEntropy
    from sottovoce.paillier import generate

    with screen.console(err=True).status("encrypting …"):
        rows = measure(generate(bits, entropy=SystemEntropy()), rounds=rounds)
    show({"bits": bits, "rounds": rounds}, rows, title="plaintexts modulo N^s", as_json=as_json)


@app.command(short_help="Exact moments of documents beside scipy.")
def moments(
    documents: Annotated[int, typer.Option("--documents", min=1, help="Documents.")] = 100_000,
    features: Annotated[int, typer.Option("--features", min=1, help="Features.")] = 2048,
    words: Annotated[int, typer.Option("--words", min=1, help="Distinct words each.")] = 100,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Exact moments of sparse documents beside scipy's X.T @ X plus X.T @ Y.

    One core is measured in CPU time, two cores in wall time; scipy uses one core in both.

    \b
    Examples:
      python -m benchmarks moments
      python -m benchmarks moments --documents 20000 --rounds 5 --json
    """
    from benchmarks.arithmetic.moments import MadeUpCorpus, measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("adding up moments …"):
        rows = measure(MadeUpCorpus(documents, features, words), rounds=rounds)
    facts = {"documents": documents, "features": features, "words": words, "rounds": rounds}
    show(facts, rows, title="exact moments beside scipy, seconds", as_json=as_json)


@app.command(short_help="The sealed solve on shares beside numpy.")
def solve(
    features: Annotated[
        list[int] | None, typer.Option("--features", min=1, help="Features; may be repeated.")
    ] = None,
    classes: Annotated[int, typer.Option("--classes", min=1, help="Right-hand sides.")] = 1,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The sealed solve on shares, all three parties, beside numpy's plain solve (CPU seconds).

    \b
    Examples:
      python -m benchmarks solve
      python -m benchmarks solve --features 2048 --classes 12 --json
    """
    from benchmarks.arithmetic.solve import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        rows = measure(
            features=features or (512, 1024, 2048),
            classes=classes,
            rounds=rounds,
            progress=status.update,
        )
    facts = {"documents": 4000, "rounds": rounds}
    show(facts, rows, title="sealed solve beside numpy, CPU seconds", as_json=as_json)


@app.command(short_help="The dealt private verdict, documents a second.")
def verdict(
    documents: Annotated[int, typer.Option("--documents", min=1, help="Documents.")] = 20_000,
    classes: Annotated[
        list[int] | None, typer.Option("--classes", min=2, help="Classes; may be repeated.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The dealt private verdict: documents per CPU second of all three parties.

    \b
    Examples:
      python -m benchmarks verdict
      python -m benchmarks verdict --documents 1000 --classes 2 --json
    """
    from benchmarks.arithmetic.verdict import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        rows = measure(
            documents=documents,
            classes=classes or (2, 12),
            rounds=rounds,
            progress=status.update,
        )
    facts = {"documents": documents, "rounds": rounds}
    show(facts, rows, title="dealt verdict, per CPU second", as_json=as_json)


@app.command("blind-sum", short_help="Blind sums beside sums that hide nothing.")
def blind_sum(
    peers: Annotated[int, typer.Option("--peers", min=3, help="Peers in the sum.")] = 10,
    words: Annotated[
        int, typer.Option("--words", min=1, help="64-bit words that each contributes.")
    ] = 2048 * 2049 // 2,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Blind sums beside sums that hide nothing (CPU seconds; the ratio is what hiding costs).

    \b
    Examples:
      python -m benchmarks blind-sum
      python -m benchmarks blind-sum --peers 40 --words 10000 --json
    """
    from benchmarks.arithmetic.blind_sum import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("adding up blindly …"):
        rows = measure(peers=peers, words=words, rounds=rounds)
    facts = {"peers": peers, "words": words, "rounds": rounds}
    show(facts, rows, title="blind sums, CPU seconds", as_json=as_json)


@app.command("two-party", short_help="What two parties compute on ciphertexts.")
def two_party(
    bits: Annotated[int, typer.Option("--bits", help="Size of the key: 2048, 3072, 4096.")] = 2048,
    kappa: Annotated[
        int, typer.Option("--kappa", min=40, help="Bits that masks reach beyond values.")
    ] = 40,
    values: Annotated[int, typer.Option("--values", min=1, help="Length of vectors.")] = 100,
    features: Annotated[int, typer.Option("--features", min=1, help="Size of matrices.")] = 35,
    inverse: Annotated[
        int, typer.Option("--inverse", min=1, help="Size of matrices to invert.")
    ] = 12,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Every block between evaluator and key holder: CPU time of both, trips, bytes, operations.

    The default sizes take about a minute of CPU; an inverse grows with the cube of its size.

    \b
    Examples:
      python -m benchmarks two-party
      python -m benchmarks two-party --bits 3072 --features 10 --json
      python -m benchmarks two-party --inverse 35
    """
    from benchmarks.arithmetic.two_party import SHOWN, Sizes, measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        rows = measure(
            Sizes(values, features, inverse),
            bits=bits,
            kappa=kappa,
            rounds=rounds,
            progress=status.update,
        )
    if not as_json:
        rows = [{name: row[name] for name in SHOWN} for row in rows]
    facts = {"bits": bits, "kappa": kappa, "rounds": rounds}
    show(facts, rows, title="two-party blocks", as_json=as_json)
