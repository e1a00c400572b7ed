"""The sentences of the first page say what the numbers are."""

from pathlib import Path

from personafit.benchmarks.config import RunConfig
from personafit.reporting.whole.collected import ChoiceRun
from personafit.reporting.whole.headline import choice_sentences
from personafit.store import Store
from tests.scripted import run, write_lines


def test_restraint_in_a_win_rate_is_doing_no_harm_and_not_winning(tmp_path: Path) -> None:
    """The same answer with the person and without: it wins nothing, and it harms nobody."""
    rows = [
        {
            "person": {"id": f"p{n}", "likes": "tea"},
            "question": f"Question {n}?",
            "answer": "The same.",
            "generic": "The same.",
            "expect": expect,
        }
        for n in range(6)
        for expect in ("generic", "personal")
    ]
    log = write_lines(tmp_path / "log.jsonl", rows)
    with Store(tmp_path / "store.db") as store:
        finished = run(store, RunConfig("answers", log=log, raters=["rule:name"])).run
        (said,) = choice_sentences(ChoiceRun(store, finished))
    assert "wins in 50.0\u00a0% (ties throughout) of 6 items" in said
    assert said.endswith(
        " Where no personal answer is asked for, knowing the person did no harm in 100.0\u00a0% (54.1–100.0)."
    )
