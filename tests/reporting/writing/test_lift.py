"""The lift of writing says what it is over, and why it has no interval where it has none."""

import polars as pl
import pytest

from personafit.kinds.lines import Line
from personafit.reporting.writing.scores import WritingScores, writing_line, writing_results
from personafit.store import RunRecord


def line(given: str, control: str | None, scores: list[float]) -> Line:
    """What one system wrote for one person under one context."""
    count = len(scores)
    frame = pl.DataFrame(
        {
            "item": [f"i{n}" for n in range(count)],
            "person": ["ann"] * count,
            "prompt": [f"Q{n}" for n in range(count)],
            "task": ["LaMP_4"] * count,
            "rouge_1": scores,
            "rouge_l": scores,
        }
    )
    return writing_line("mine", "f", given, frame, control)


def test_one_person_gives_a_lift_without_an_interval_and_says_so() -> None:
    lines = [line("memory", None, [0.6, 0.8]), line("none", "no view", [0.2, 0.2])]
    lines.append(line("wrong:memory", "wrong person", [0.3, 0.3]))
    run = RunRecord(-1, "mine", "mine", {}, 0, 0.0, None)
    scores = WritingScores(run, {}, {"i0": "a", "i1": "b"}, lines, pl.DataFrame())
    (lift,) = (one for one in writing_results(scores) if one.metric == "lift" and not one.slice)
    assert lift.value == pytest.approx(0.4)
    assert lift.low is None
    assert lift.note == (
        "no interval: it needs at least 6 people, and there is 1; "
        "over wrong:memory, the larger of the two controls; of ROUGE-1"
    )
