"""Runs of dialogues on both databases: held, judged, read back as a report, forgotten and resumed there alike."""

import asyncio
from pathlib import Path

from personafit import Store
from personafit.engine import Silence
from personafit.reports.dialogue import DialogueReport
from personafit.reports.report_page import write_page
from personafit.run import execute
from personafit.simulate import StopReason, dialogues
from tests.reports.unpacking import browser_blocks
from tests.simulate.talking import Talking, configuration, write_tasks


def test_a_run_is_held_reported_resumed_and_forgotten(tmp_path: Path, url: str) -> None:
    data = write_tasks(tmp_path / "data", 3)
    with Talking() as talking, Store(url) as store:
        config = configuration(
            data, talking, system_contexts=["none", "I", "wrong:I"], contexts=["given", "full"]
        )
        finished = asyncio.run(execute(store, config, Silence()))
        held = list(dialogues(store, finished.run.id))
        assert len(held) == 3 * 2 * 3
        assert {one.stop for one in held} == {StopReason.SATISFIED}
        assert [one.slot for one in held] == sorted(one.slot for one in held)
        report = DialogueReport(store, finished.run)
        totals = {
            (one.system_context, one.context, one.metric): one for one in report.results if not one.slice
        }
        assert totals["I", "given", "personalization"].value == 3.0
        assert totals["I", "full", "personalization"].value == 3.0
        assert totals["wrong:I", "given", "completion"].coverage == 1.0
        assert totals["none", None, "exchanges"].n == 6
        write_page([report.part()], tmp_path / "report.html")
        assert any("Here is option 1" in text for text in browser_blocks(tmp_path / "report.html")["texts"])

        asked = talking.answered.total()
        again = asyncio.run(execute(store, config, Silence()))
        assert talking.answered.total() == asked
        assert (again.run.id, len(dialogues(store, again.run.id))) == (finished.run.id, len(held))

        assert store.forget("p1") is not None
        left = list(dialogues(store, finished.run.id))
        assert {one.person for one in left} == {"p0", "p2"}
        assert {one.person for one in left if one.system_context == "wrong:I"} < {"p0", "p2"}
        remaining = DialogueReport(store, finished.run).results
        assert next(one.n for one in remaining if one.metric == "exchanges" and not one.slice) == 4
