"""Logs of Inspect AI, as answers to be evaluated or as a run that can be reported."""

from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located, writing
from personafit.api.evaluating import evaluate
from personafit.api.places import HOME, make_folder
from personafit.api.run import Run
from personafit.benchmarks import BENCHMARKS
from personafit.benchmarks.inspect_logs import Choices, InspectLog
from personafit.store import Store

RECORDINGS = HOME / "inspect"


def import_answers(log: InspectLog, out: Path, person: str, generic: Path | None) -> list[str]:
    """Write the answers of a log as JSONL and return what to say about it, a sentence each."""
    rows = list(log.answers(person, InspectLog(generic) if generic else None))
    missing = sum(row["answer"] is None for row in rows)
    if missing == len(rows):
        raise _none_completed(log)
    _write(out, rows)
    said = [f"Wrote {len(rows):,} answers of {log.model} to {out}."]
    if missing:
        said.append(f"{missing} samples failed or were empty: they are written without an answer, and lose.")
    unpaired = sum("generic" not in row for row in rows)
    if generic is None or unpaired:
        said.append(
            f"{unpaired:,} have no generic answer to be compared with; --generic LOG gives a run without the person."
        )
    return [*said, f"Evaluate them: personafit run {out} --rater openai:MODEL"]


def import_choices(log: InspectLog, choices: Choices, data: Path | None, store: Store) -> Run:
    """Keep the replies of a log as a recording, and make the run from it: parser, controls and report are the usual ones."""
    benchmark, data = _benchmark(log, choices, data)
    replies = list(log.replies())
    if not replies:
        raise _none_completed(log)
    recording = RECORDINGS / f"{log.path.stem}.jsonl"
    _write(recording, replies)
    return evaluate(
        benchmark,
        data=data,
        raters=f"replay:{recording}",
        contexts=choices.view,
        kind=None if benchmark in BENCHMARKS else "choice",
        seed=choices.seed,
        store=store,
        command=f"personafit data import {log.path}",
    )


def _none_completed(log: InspectLog) -> UserError:
    return UserError(
        f"{log.path}: no sample was completed ({log.ending}), so there is nothing to import; run the evaluation again."
    )


def _benchmark(log: InspectLog, choices: Choices, data: Path | None) -> tuple[str, Path | None]:
    """The benchmark and its data: a log may say which of ours it was, but where on this machine data is says the user."""
    if choices.benchmark in BENCHMARKS:
        if choices.data is not None and data is None:
            place = located(log.path, field="eval.task_args.data")
            raise UserError(
                f"{place}: a log does not choose what is read here; name the data of {choices.benchmark} with --data, "
                f"which was '{choices.data[:80]}' when the log was made."
            )
        return choices.benchmark, data
    if data is None:
        place = located(log.path, field="eval.task_args.benchmark")
        raise UserError(
            f"{place}: a log does not choose what is read here; name the benchmark folder with --data, which was "
            f"'{choices.benchmark[:80]}' when the log was made."
        )
    return str(data), None


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    make_folder(path.parent)
    with writing(path):
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
