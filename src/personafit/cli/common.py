"""What several commands share: how results are printed, and how a run's end is said."""

import shlex
import sys
from typing import Any

import orjson
from rich.console import Console

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
from personafit.engine import Summary
from personafit.reporting import Result, RunScores
from personafit.store import RunRecord, Store

MIN_WIDTH = 150  # in a pipe or a log there is no terminal to be narrower than


def console() -> Console:
    """Standard output; wide enough for the tables when it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, MIN_WIDTH), color_system=None)


def this_command() -> str:
    """The command line as it was typed, to be kept with what it makes."""
    return shlex.join(["personafit", *sys.argv[1:]])


AS_THEY_WERE = "Over the choices as they were, before anything hostile was put into them."


def open_choices(store: Store, run: RunRecord) -> RunScores | None:
    """The scores of a run whose items are choices, and a sentence where only some of them are read; None for other kinds."""
    from personafit.reporting.declared import choices_of  # which loads the rooms of all kinds

    scores = choices_of(store, run)
    if scores is not None and "base" in scores.items.columns:
        hint(AS_THEY_WERE)
    return scores


def print_json(benchmark: str, results: list[Result]) -> None:
    """Print the results as one object and nothing else."""
    _print_bytes(results_json(benchmark, results))


def print_object(body: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    _print_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))


def _print_bytes(body: bytes) -> None:
    sys.stdout.buffer.write(body + b"\n")
    sys.stdout.flush()


def say_end(summary: Summary) -> int:
    """Say what was spent and what came to a stop, was interrupted or failed; returns the exit code so far."""
    code = 0
    if summary.cost:
        hint(f"Spent {summary.cost:.4f} USD ({summary.tokens_in:,} tokens in, {summary.tokens_out:,} out).")
    for lane in summary.lanes:
        if lane.stopped:
            hint(f"personafit: {lane.name} stopped: {lane.stopped}")
            nothing = lane.finished == lane.failed == lane.reused == 0
            code = max(code, 2 if lane.unusable and nothing else 1)
    if summary.interrupted:
        hint("personafit: interrupted; what was judged is kept and the same command goes on from there.")
        return 130
    if summary.failed and not any(lane.stopped for lane in summary.lanes):
        hint(
            f"personafit: {summary.failed} asks failed ({summary.last_failure}); the same command tries them again."
        )
    return code


__all__ = [
    "HOME",
    "LONG",
    "console",
    "find_run",
    "hint",
    "judged_run",
    "load_run",
    "make_folder",
    "open_choices",
    "out_folder",
    "print_json",
    "print_object",
    "results_json",
    "say_end",
    "store_url",
    "this_command",
    "working_on",
]
