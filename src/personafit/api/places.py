"""Where runs and stores are, how a run is found, and the names of its files."""

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError, printable, writing
from personafit._names import inside
from personafit.reports.result import Result
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    from personafit.train import TrainedRater

HOME = Path(".personafit")
SHOWN = 5  # maximum number of runs named in an error
LARGEST = 2**31 - 1  # the largest integer that every database accepts
LONG = 300_000  # number of judgments that take more than some ten seconds to read


def hint(text: str) -> None:
    """Print a line on standard error, without control characters: it may quote a model's reply."""
    print(printable(text), file=sys.stderr)


def working_on(where: str) -> AbstractContextManager[None]:
    """Return a context in which local models run where `where` says: `local`, or `ray[://ADDRESS]`."""
    if where == "local":
        return nullcontext()
    if not isinstance(where, str):
        raise UserError(f"backend={where!r:.60}: there are local, ray, and ray://HOST:PORT.")
    from personafit.engine.ray import working_on as workers

    return workers(where)


def store_url(store: str | Path | None) -> str:
    """Return the URL of the store asked for, or of the one in the working folder."""
    return str(store or os.environ.get("PERSONAFIT_STORE") or HOME / "store.db")


def out_folder(out: Path | None, name: str, within: str = "runs") -> Path:
    """Return the output folder for a name; names come from the store and so from data, and may not lead out of `within`."""
    return out or inside(HOME / within, name)


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`; raise a UserError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise UserError(f"{name}={value!r:.60}: give a whole number from {least:,} to {LARGEST:,}.")
    return value


def seed_number(seed: Any) -> int:
    """Return a seed; raise a UserError unless it is a whole number that every database accepts."""
    return whole_number("seed", seed, -LARGEST)


def check_margin(margin: float) -> float:
    """Return the margin of equivalence tests; raise a UserError unless it is a share of the scale."""
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin <= 1:
        raise UserError(f"margin={margin!r:.60}: give a share of the scale, such as 0.05.")
    return margin


def make_folder(folder: Path) -> None:
    """Create a folder for a run's files; raise a UserError if that is impossible."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSONL file, and its folder if there is none."""
    make_folder(path.parent)
    with writing(path):
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def find_run(store: Store, name: str) -> RunRecord:
    """Return a run by name, by folder or as `last`; prints a hint if reading it takes long."""
    try:
        run = store.run(_run_of_folder(Path(name)) if os.path.isdir(name) else name)
    except KeyError:
        known = [run.name for run in store.runs()]
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        listed = f"there are {', '.join(known[:SHOWN])}{more}" if known else "there are none yet"
        raise UserError(f"There is no run '{name}' in {store.url}; {listed}.") from None
    say_if_long(run)
    return run


def say_if_long(run: RunRecord) -> None:
    """Print a hint if reading the run takes more than a few seconds."""
    if run.planned > LONG:
        hint(f"Reading {run.planned:,} judgments of {run.name} ...")


def require_judged(run: RunRecord) -> RunRecord:
    """Return the run; raise a UserError if it has no judgments to read."""
    if run.config.get("kind") == "stages":
        raise UserError(
            f"{run.name} found attributes in conversations; its files are in {run.config['out']}, and `personafit extract measure` "
            "reads them."
        )
    if run.config.get("kind") == "best-of":
        raise UserError(
            f"{run.name} chose the best of several answers; its choices are in the file that --out named."
        )
    if "raters" not in run.config:
        raise UserError(
            f"{run.name} only made answers so far; the same `run answers` command goes on to judge them."
        )
    return run


def results_object(benchmark: str, results: Iterable[Result]) -> dict[str, Any]:
    """Return results that belong to no run as the one object that `--json` prints."""
    return {"benchmark": benchmark, "results": [result.as_dict() for result in results]}


def trained_object(trained: "TrainedRater") -> dict[str, Any]:
    """Return the figures of a trained rater as the one object that `--json` prints."""
    results = [
        Result.of(
            figure.estimate,
            metric=figure.metric,
            rater=trained.rater,
            slice={"split": figure.split},
            control=figure.control,
            fingerprint=trained.fingerprint if figure.control is None else None,
        )
        for figure in trained.figures
    ]
    return results_object(trained.source, results)


def _run_of_folder(folder: Path) -> str:
    try:
        return str(orjson.loads((folder / "run.json").read_bytes())["run"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return folder.name
