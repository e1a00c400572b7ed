"""The lines of a run of every kind: what `run_lines` holds gives the numbers that results have."""

from pathlib import Path

import pytest

from personafit import Store
from personafit.kinds import run_lines
from personafit.kinds.lines import paired_rows
from personafit.reports.line_results import line_coverage
from personafit.reports.run_report import open_report
from tests.golden.cases import CASES, Case
from tests.golden.server import ScriptedServer
from tests.golden.taking import carry_out

NAMES = {
    "choice-many",
    "answers-made",
    "injection",
    "relevance-functions",
    "preference-made",
    "dialogues-thinking",
    "writing",
}
COLUMNS = {"unit", "item", "person", "prompt", "asked", "answered"}


@pytest.mark.parametrize("case", [case for case in CASES if case.name in NAMES], ids=lambda case: case.name)
def test_lines_give_the_numbers_of_results(case: Case, tmp_path: Path) -> None:
    with ScriptedServer(), Store(tmp_path / "store.db") as store:
        run = carry_out(case, store, tmp_path / "data").run
        opened, results = run_lines(store, run), open_report(store, run).results
    index = {
        (one.rater, one.fingerprint, one.context, one.system, one.system_context, one.metric): one
        for one in results
        if not one.slice
    }
    met = 0
    for line in opened.lines:
        assert set(line.frame.columns) >= COLUMNS
        assert line.frame["unit"].null_count() == 0
        for metric in opened.metrics:
            found = index.get((line.rater, *line.key[:2], line.system, line.system_context, metric.name))
            if (
                found is None
                or metric.over is not None
                or metric.where
                or metric.under
                or not metric.applies(line)
            ):
                continue
            estimate = metric.of(line.frame)
            met += found.value is not None
            assert (estimate.n, estimate.people, line.control) == (found.n, found.people, found.control)
            for ours, theirs in (
                (estimate.value, found.value),
                (estimate.low, found.low),
                (estimate.high, found.high),
                (line_coverage(line.frame, metric), found.coverage),
            ):
                assert ours == (theirs if theirs is None else pytest.approx(theirs, abs=1e-9))
    assert met > 5
    first = next(line for line in opened.lines if opened.headline.applies(line))
    itself = paired_rows(first, first, opened.headline)
    assert len(itself) > 0
    assert set(itself["difference"]) == {0.0}
