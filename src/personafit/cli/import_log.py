"""`personafit data import LOG.eval`: what Inspect AI logged, as answers to be judged or as a run that can be reported."""

from pathlib import Path
from typing import Any

import orjson
import typer

from personafit._errors import UserError, located
from personafit.api.evaluating import evaluate
from personafit.benchmarks import BENCHMARKS
from personafit.benchmarks.inspect_logs import Choices, InspectLog
from personafit.cli.common import HOME, make_folder, store_url
from personafit.cli.run_end import report_run
from personafit.store import Store

RECORDINGS = HOME / "inspect"


def import_log(
    path: Path, out: Path | None, person: str, generic: Path | None, data: Path | None, store: str | None
) -> None:
    """Take a log in, whatever task it is of."""
    log = InspectLog(path)
    choices = log.choices
    if choices is None and data is not None:
        raise UserError(f"--data means nothing here: {path} holds answers, not choices of a benchmark.")
    if choices is None:
        _import_answers(log, out or path.with_suffix(".jsonl"), person, generic)
    elif generic is not None:
        raise UserError(f"--generic means nothing here: {path} holds choices, not answers.")
    else:
        _import_choices(log, choices, out, data, store)


def _import_answers(log: InspectLog, out: Path, person: str, generic: Path | None) -> None:
    rows = list(log.answers(person, InspectLog(generic) if generic else None))
    made = [row for row in rows if row is not None]
    if not made:
        raise UserError(f"{log.path} holds no answers.")
    _write(out, made)
    print(f"Wrote {len(made):,} answers of {log.model} to {out}.")
    if missing := len(rows) - len(made):
        print(f"{missing} samples failed or were empty and are left out.")
    unpaired = sum("generic" not in row for row in made)
    if generic is None or unpaired:
        print(
            f"{unpaired:,} have no generic answer to be compared with; --generic LOG gives a run without the person."
        )
    print(f"Judge them: personafit run answers --log {out} --judge openai:MODEL")


def _import_choices(
    log: InspectLog, choices: Choices, out: Path | None, data: Path | None, store: str | None
) -> None:
    """Keep the replies as a recording, then let the run be made from it: parser, controls and report are the usual ones."""
    benchmark, data = _benchmark(log, choices, data)
    recording = RECORDINGS / f"{log.path.stem}.jsonl"
    _write(recording, list(log.replies()))
    with Store(store_url(store)) as opened:
        run = evaluate(
            benchmark,
            data=data,
            raters=f"replay:{recording}",
            contexts=choices.view,
            kind=None if benchmark in BENCHMARKS else "choice",
            seed=choices.seed,
            store=opened,
            command=f"personafit data import {log.path}",
        )
        code = report_run(run, out, json=False, bars=[])
    print(f"Replies of {choices.model} are now the run {run.name}: report, compare and agree read it.")
    if code:
        raise typer.Exit(code)


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
    try:
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); choose another with --out.") from error
