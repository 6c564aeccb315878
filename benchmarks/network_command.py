"""`python -m benchmarks network`: what a study between machines costs beside one in memory."""

from typing import Annotated

import typer

from sottovoce.cli.terminal import screen


def network(
    features: Annotated[int, typer.Option(min=1, help="Features of the study.")] = 256,
    documents: Annotated[int, typer.Option(min=90, help="Notes of all sites together.")] = 900,
    labels: Annotated[int, typer.Option(min=1, help="Labels that one site asks for.")] = 500,
    bits: Annotated[int, typer.Option(help="Size of the key: 2048, 3072, 4096.")] = 3072,
    engine: Annotated[str, typer.Option(help="shares (with two helpers) or quorum.")] = "shares",
    tail: Annotated[int, typer.Option(min=0, help="Columns of the tail.")] = 0,
    kernel: Annotated[int, typer.Option(min=0, help="Columns of the kernel.")] = 0,
    encoder: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Also with this encoder's vectors.")
    ] = None,
    processes: Annotated[
        bool,
        typer.Option("--processes", help="Train once, every party a process of its own."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The same small study in memory and over TLS on loopback, CPU of all parties of each.

    Three sites (and two helpers in engine shares), all in this process on one thread; the Paillier
    key is made before. Over TLS every letter is sealed, signed, stored and written into ledgers.
    Sites count their documents before they take a seat, which memory does not: these seconds
    stand apart, too.

    With --processes the study is trained once, by the commands that people type, each in a process
    of its own: seconds by the clock, and CPU seconds of all processes from start to end.

    \b
    Examples:
      python -m benchmarks network
      python -m benchmarks network --features 2048 --documents 3000 --json
      python -m benchmarks network --features 2048 --tail 2048 --encoder wordllama --engine quorum
      python -m benchmarks network --processes --features 2048 --tail 2048 --encoder wordllama
    """
    from benchmarks.studies.networked import NetworkTrial, measure
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.encoders import find_encoder, ready
    from sottovoce.study.choices import Engine

    name = find_encoder(encoder or "none")
    ready(name)
    beside: dict[str, int | str] = {"tail": tail, "kernel": kernel}
    if name is not None:
        beside["encoder"] = str(name)
    wanted = [NetworkTrial(Engine(engine), features, documents, labels, beside)]
    if processes:
        from benchmarks.studies.processes import measure_processes

        with screen.console(err=True).status("") as status:
            between = measure_processes(
                wanted, key_bits=bits, encoder=encoder, progress=status.update
            )
            rows = list(between)
        show({"bits": bits}, rows, title="between processes, seconds", as_json=as_json)
        return
    with screen.console(err=True).status("") as status:
        rows = list(measure(wanted, key_bits=bits, progress=status.update))
    show({"bits": bits}, rows, title="over TLS beside in memory, CPU seconds", as_json=as_json)
