"""What several commands share: how results are printed, how a run ends, and the gate."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from rich.console import Console

from personafit.api.gate import say_end, say_end_of
from personafit.api.places import (
    HOME,
    LONG,
    find_run,
    hint,
    judged_run,
    load_run,
    make_folder,
    out_folder,
    results_json,
    store_url,
    working_on,
)
from personafit.api.run import Run
from personafit.reports import Result
from personafit.reports.assertions import Undecided

if TYPE_CHECKING:
    from personafit.api.reading import RaterAgreement, RunComparison
    from personafit.reports.analysis import Analysis

MIN_WIDTH = 150  # in a pipe or a log there is no terminal to be narrower than


def console() -> Console:
    """Standard output; wide enough for the tables when it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, MIN_WIDTH), color_system=None)


def this_command() -> str:
    """The command line as it was typed, to be kept with what it makes."""
    return shlex.join(["personafit", *sys.argv[1:]])


def show_analysis(found: "Analysis | RunComparison | RaterAgreement", json: bool) -> None:
    """Print an analysis as tables or as one JSON object, and what it left out to standard error."""
    for text in found.hints:
        hint(text)
    if json:
        print_object(found.as_dict())
    else:
        found.print(console())


def print_json(benchmark: str, results: list[Result]) -> None:
    """Print the results as one object and nothing else."""
    _print_bytes(results_json(benchmark, results))


def print_object(body: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    _print_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))


def _print_bytes(body: bytes) -> None:
    sys.stdout.buffer.write(body + b"\n")
    sys.stdout.flush()


def report_run(
    run: Run,
    out: Path | None,
    json: bool,
    junit: Path | None = None,
    undecided: Undecided = Undecided.FAIL,
) -> int:
    """Print what there is, write the files, and say how the run ended; returns the exit code."""
    if not run.judged:  # stopped while the systems were still answering
        if json:
            print_json("answers", [])
        return say_end_of(run, undecided)
    page = write_run(run, out)
    if json:
        print_object(run.as_dict())
    else:
        run.print(console())
        print(f"Report: {page}")
    if junit is not None:
        from personafit.reports.junit import write_junit

        write_junit(junit, run.figures, run.verdict.gate, run.coverage_gap, undecided)
    return say_end_of(run, undecided)


def write_run(run: Run, out: Path | None) -> Path:
    """Write the files of a run where they belong, and return where the page is."""
    return run.write(out_folder(out, run.name))


__all__ = [
    "HOME",
    "LONG",
    "console",
    "find_run",
    "hint",
    "judged_run",
    "load_run",
    "make_folder",
    "out_folder",
    "print_json",
    "print_object",
    "report_run",
    "results_json",
    "say_end",
    "say_end_of",
    "show_analysis",
    "store_url",
    "this_command",
    "working_on",
    "write_run",
]
