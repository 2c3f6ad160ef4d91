"""Parses the command line; each command does its work in a module of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from openmps import __version__
from openmps.cli.output import flush_quietly, tell
from openmps.errors import OpenmpsError

app = typer.Typer(
    name="openmps",
    help="PyTorch's mps device for every machine that is not a Mac.\n\n"
    "Every report is JSON with --json: doctor, metal, macs and ops print it in place of their "
    "table; run, check and bench write it to a file (- is standard output) beside what they print.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: openmps run train.py",
)

Mac = Annotated[str, typer.Option("--mac", help='The Mac to behave as, such as "M1 8GB".')]
Macos = Annotated[str, typer.Option("--macos", help="Its macOS release, such as 14.4.")]
Engine = Annotated[str, typer.Option("--engine", help="Where the work runs: auto, cpu or cuda.")]
# One rule for all: a command that only prints prints JSON instead; one that runs a program, which
# prints by itself, or for long writes it to a file beside what it prints.
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="A file for the whole report as JSON; - is standard output."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"openmps {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


_PROGRAM_USAGE = "[OPTIONS] FILE|-m MODULE|-c CODE [ARGUMENTS]..."
# Everything from the program's name on is the program's.
_A_PROGRAM = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


@app.command(
    context_settings=_A_PROGRAM,
    options_metavar=_PROGRAM_USAGE,
    epilog='Example: openmps run --mac "M1 8GB" train.py --epochs 3',
)
def run(
    context: typer.Context,
    mac: Mac = "",
    macos: Macos = "",
    engine: Engine = "",
    ledger: Annotated[
        bool, typer.Option("--ledger", help="At the end, print what it did on mps, by line.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", help="A file for the ledger as JSON (implies --ledger); - is standard output."
        ),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="A file for a trace that Perfetto opens.")
    ] = None,
) -> None:
    """Run an unmodified program (FILE, -m MODULE or -c CODE, and its arguments) with mps."""
    from openmps.cli.run import run_program

    run_program(
        context.args,
        mac=mac,
        macos=macos,
        engine=engine,
        ledger=ledger,
        json_file=json_file,
        trace=trace,
    )


@app.command(
    context_settings=_A_PROGRAM,
    options_metavar=_PROGRAM_USAGE,
    epilog='Example: openmps check --mac "M1 8GB" --html report.html train.py --epochs 1',
)
def check(
    context: typer.Context,
    mac: Mac = "",
    macos: Macos = "",
    engine: Engine = "",
    json_file: JsonFile = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="A file for the report as a web page.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with status 3 if there is any of: missing, fallback, float64, refused, "
            "limits, sync, memory.",
        ),
    ] = "",
) -> None:
    """Run a program once: will it work on a Mac, and what will hurt?

    The exit status is the program's own, but 3 where it is 0 and --fail-on has found something.
    """
    from openmps.cli.check import check_program

    check_program(
        context.args,
        mac=mac,
        macos=macos,
        engine=engine,
        json_file=json_file,
        html_file=html_file,
        fail_on=fail_on,
    )


@app.command(epilog="Example: openmps bench --quick --json now.json --chart speedup.svg")
def bench(
    mac: Mac = "",
    macos: Macos = "",
    engine: Engine = "",
    only: Annotated[
        str, typer.Option("--only", help="A list of: matmul, ResNet-50, BERT-base, VGG-16.")
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: seconds, not minutes.")] = (
        False
    ),
    batch: Annotated[
        int | None,
        typer.Option("--batch", help="Items for each model, not as many as fit this machine."),
    ] = None,
    json_file: JsonFile = None,
    chart_file: Annotated[
        Path | None, typer.Option("--chart", help="A file for the bars, as SVG.")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option("--compare", help="An earlier run's JSON: measure its sizes again."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", help="With --compare: which part of a speed-up may be lost (0.1: 10%)."
        ),
    ] = 0.1,
) -> None:
    """Measure matrix products and models on mps and on the CPU, in turn.

    Sizes are chosen so that it takes two or three minutes. The exit status is 1 where a result is
    wrong or, with --compare, a speed-up over the CPU is smaller than before.
    """
    from openmps.cli.bench import run_benchmarks

    status = run_benchmarks(
        mac=mac,
        macos=macos,
        engine=engine,
        only=only,
        quick=quick,
        batch=batch,
        json_file=json_file,
        chart_file=chart_file,
        compare=compare,
        tolerance=tolerance,
    )
    raise typer.Exit(status)


@app.command(epilog="Example: openmps doctor --json")
def doctor(as_json: Json = False) -> None:
    """Check this machine, and say what to do about each thing that does not work."""
    from openmps.cli.doctor import examine

    raise typer.Exit(0 if examine(as_json=as_json) else 1)


@app.command(epilog="Example: openmps metal reduce.metal --kernel 'sum_*'")
def metal(
    file: Annotated[Path, typer.Argument(help="Metal source.")],
    kernel: Annotated[
        list[str], typer.Option("--kernel", help="Only this kernel, or those like 'sum_*'.")
    ] = [],  # noqa: B006 (typer wants a list, and copies it)
    include: Annotated[
        list[Path], typer.Option("--include", "-I", help="A folder with headers of the file.")
    ] = [],  # noqa: B006
    emit: Annotated[bool, typer.Option("--emit", help="Print what is generated.")] = False,
    engine: Annotated[
        str, typer.Option("--engine", help="For which engine: cpu or cuda (no GPU is needed).")
    ] = "cpu",
    as_json: Json = False,
) -> None:
    """Compile a Metal file's kernels for this machine; exit status 1 if any is refused."""
    from openmps.cli.metal import inspect

    well = inspect(file, kernel, include, engine=engine, emit=emit, as_json=as_json)
    raise typer.Exit(0 if well else 1)


Pattern = Annotated[str, typer.Argument(help="A part of the name, or a glob.")]


@app.command(epilog="Example: openmps macs 'M3 Max' --macos 15.1")
def macs(pattern: Pattern = "", macos: Macos = "", as_json: Json = False) -> None:
    """List the Macs that --mac can name, with their memory limits."""
    from openmps.cli.macs import list_macs

    list_macs(pattern, macos, as_json=as_json)


@app.command(epilog="Example: openmps ops 'linalg*'")
def ops(pattern: Pattern = "", as_json: Json = False) -> None:
    """List the operators of the installed torch, and what a Mac does with each."""
    from openmps.cli.ops import list_operators

    list_operators(pattern, as_json=as_json)


def main() -> None:
    try:
        app()
    except OpenmpsError as error:
        tell(f"openmps: error: {error}")
        sys.exit(2)
    finally:
        flush_quietly()
