"""What several commands share: how results are printed, and how a run ends."""

import shlex
import sys
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from personafit.api.gate import run_check, say_end_of
from personafit.api.places import hint, out_folder, results_object
from personafit.api.run import Run
from personafit.reports.analysis import Analysis
from personafit.reports.gate import Undecided

MIN_WIDTH = 100  # in a pipe or a log there is no terminal to be narrower than


def console() -> Console:
    """Standard output; wide enough for the tables when it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, MIN_WIDTH), color_system=None)


def this_command() -> str:
    """The command line as it was typed, to be kept with what it makes."""
    return shlex.join(["personafit", *sys.argv[1:]])


def show_analysis(found: Analysis, json: bool) -> None:
    """Print an analysis as tables or as one JSON object, and what it left out to standard error."""
    for text in found.hints:
        hint(text)
    if json:
        print_object(found.as_dict())
    else:
        found.print(console())


def print_object(body: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    sys.stdout.buffer.write(orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n")
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
            print_object(results_object("answers", []))
        return say_end_of(run, undecided)
    page = run.write(out_folder(out, run.name))
    if json:
        print_object(run.as_dict())
    else:
        run.print(console())
        print(f"Report: {page}")
    if junit is not None:
        from personafit.reports.gate import write_junit

        write_junit(junit, [run_check(run, undecided)])
    return say_end_of(run, undecided)
