"""Adds runs and folders to a collected report, each by its kind."""

from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.reporting.result import Result
from personafit.reporting.run_report import open_report
from personafit.reporting.whole.audits import FILE as AUDIT
from personafit.reporting.whole.audits import read_audit
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.curves import is_training, read_training
from personafit.reporting.whole.fitted import is_fitted, read_fitted
from personafit.store import RunRecord

FLOW, EXTRACTION = "flow", "extraction"


def collect_run(given: Collected, run: RunRecord) -> None:
    """Add a judged run of any kind that has a chapter."""
    kind = run.config.get("kind", "choice")
    parts: dict[str, dict[str, Any]] = {
        "dialogue": given.dialogues,
        "relevance": given.relevance,
        "preference": given.preferences,
        "injection": given.injections,
        "writing": given.writings,
    }
    if kind == "choice":
        given.choices[run.name] = ChoiceRun(given.store, run)
    elif kind in parts:
        parts[kind][run.name] = open_report(given.store, run)
    else:
        from personafit.reporting.plain_report import PlainReport

        given.others[run.name] = PlainReport(given.store, run)


def collect_folder(given: Collected, folder: Path) -> bool:
    """Add a folder of `audit`, `extraction flow`, `extraction measure` or `train`; False where it is none of these."""
    name = folder.resolve().name
    if is_training(folder):
        given.trainings[name] = read_training(folder)
        return True
    if is_fitted(folder):
        given.fitted[name] = read_fitted(folder)
        return True
    if (folder / AUDIT).is_file():
        given.audits[name] = read_audit(folder / AUDIT)
        return True
    measured = _measured(folder)
    if measured is None:
        return False
    kind, results, command = measured
    (given.flows if kind == FLOW else given.extractions)[name] = results
    if command is not None:
        given.commands[name] = command
    return True


def _measured(folder: Path) -> tuple[str, list[Result], str | None] | None:
    path = folder / "results.json"
    if not path.is_file():
        return None
    try:
        body = orjson.loads(path.read_bytes())
        if body["benchmark"] not in (FLOW, EXTRACTION):
            return None
        return body["benchmark"], [Result(**row) for row in body["results"]], body.get("command")
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); make it again with `personafit extraction`."
        ) from error
