"""For a team's own tests: `from personafit.testing import assert_lift`. The rules are those of `--fail-under`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import TypeAdapter, ValidationError

from personafit._errors import UserError
from personafit.api.run import Run, load
from personafit.reports.assertions import COVERAGE, Bar, Undecided, bar_metric, gate_verdicts
from personafit.reports.result import Result

FEWEST_ANSWERED = 0.95
"""The least coverage where no bar names another, as in `personafit run`."""
_RESULTS = TypeAdapter(list[Result])


def assert_lift(
    run: Run | str | Path = "last",
    rater: str | None = None,
    at_least: float = 0.0,
    *,
    reuse: bool = False,
    undecided: Literal["fail", "pass"] = "fail",
) -> None:
    """Fail a test unless the run shows that knowing the person helps by at least so much; `assert_metric` has the arguments."""
    assert_metric(run, "lift", rater, at_least, reuse=reuse, undecided=undecided)


def assert_metric(
    run: Run | str | Path,
    metric: str,
    rater: str | None = None,
    at_least: float = 0.0,
    *,
    reuse: bool = False,
    undecided: Literal["fail", "pass"] = "fail",
) -> None:
    """Fail a test unless the run passes a gate.

    Args:
        run: What `evaluate` returned, a run's name, `last` for the run used last, or a run's folder or its results.json.
        metric: The metric, or one slice of it as `win_rate[tier=hard]`.
        rater: Whose figure it is, without options such as price and timeout if you like; everyone's by default.
        at_least: The bar: the 95 % interval has to lie above it.
        reuse: Whether answers of an earlier run may count, of a system that may have changed since (an endpoint, a function).
        undecided: Whether a figure of which the run cannot tell fails or passes.

    Raises:
        AssertionError: With a sentence for everything that does not pass.
        UserError: Where there is no such run or figure.
    """
    results, stale = _read(run, metric)
    bars: list[Bar] = [(metric, at_least)]
    if bar_metric(metric)[0] != COVERAGE:
        bars.append((COVERAGE, FEWEST_ANSWERED))
    verdicts = gate_verdicts(results, bars, rater)
    for one in verdicts:
        if one.metric == metric and not one.subject:
            raise UserError(one.reason)
    missed = [one.reason for one in verdicts if one.subject and one.stops(Undecided(undecided))]
    if stale and not reuse:
        missed.append(
            f"{stale:,} answers were reused from an earlier run, and the system may have changed since: run it with --fail-under or "
            "evaluate(..., reuse=False), which make them anew, or say reuse=True here."
        )
    if missed:
        raise AssertionError(" ".join(missed))


def _read(run: Run | str | Path, metric: str) -> tuple[Sequence[Result], int]:
    """The results of a run, and how many of its answers are from an earlier one of a system that may have changed."""
    if isinstance(run, Run):
        return run.figures_by(metric), run.answers["stale"]
    if isinstance(run, str) and not Path(run).exists() and "/" not in run:
        opened = load(run)
        try:
            return opened.figures_by(metric), opened.answers["stale"]
        finally:
            opened.close()
    path = Path(run)
    path = path / "results.json" if path.is_dir() else path
    try:
        body: Any = orjson.loads(path.read_bytes())
        rows = _RESULTS.validate_python([Result.from_dict(row) for row in body["results"]])
        return rows, int(body.get("stale", 0))
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); give a run, its name or its folder."
        ) from error
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, ValidationError) as error:
        raise UserError(f"{path} is not the results.json of a run.") from error


__all__ = ["assert_lift", "assert_metric"]
