"""The Inspect AI task asks the same prompts and gives the same scores on the same replies as personafit itself."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from personafit._hashing import draw
from personafit.benchmarks import starter
from tests.faults.world import write_benchmark
from tests.helpers import Later, run_cli

inspect_ai: Any = Later("inspect_ai")

REPLIES = ("A", "B", "Answer: A", "I cannot say.")


def reply_to(prompt: str) -> str:
    return REPLIES[draw("reply", prompt, among=len(REPLIES))]


@pytest.mark.slow
def test_same_replies_same_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(messages: list[Any], _tools: Any, _choice: Any, _config: Any) -> Any:
        asked.append(messages[-1].text)
        output = inspect_ai.model.ModelOutput.from_content("mockllm/model", reply_to(messages[-1].text))
        output.usage = (
            inspect_ai.model.ModelUsage()
        )  # without it Inspect would fetch a tokenizer to count with
        return output

    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    (log,) = inspect_ai.eval(
        "personafit/choices",
        model=inspect_ai.model.get_model("mockllm/model", custom_outputs=answer),
        task_args={"benchmark": "starter"},
        display="none",
    )
    assert log.status == "success", log.error
    assert log.results is not None
    assert log.samples is not None
    theirs = {name: value.value for name, value in log.results.scores[0].metrics.items()}
    choices = [item for item in starter().items() if item.kind == "choice"]
    assert len(asked) == len(log.samples) == 2 * len(choices)

    replies = tmp_path / "replies.jsonl"
    with replies.open("w", encoding="utf-8") as file:
        for sample in log.samples:
            file.write(json.dumps({"key": sample.id, "reply": sample.output.completion}) + "\n")
    done = run_cli(
        "run",
        "starter",
        "--rater",
        f"replay:{replies}",
        "--context",
        "profile",
        "--json",
        cwd=tmp_path,
        code=1,
    )
    ours = {
        r["metric"]: r
        for r in json.loads(done.stdout)["results"]
        if r["rater"].startswith("replay:") and not r["slice"]
    }
    answered = [s for s in log.samples if s.output.completion != "I cannot say."]
    assert theirs["coverage"] == pytest.approx(len(answered) / len(log.samples))
    assert ours["accuracy"]["coverage"] == pytest.approx(theirs["coverage"])
    # personafit averages orders within an item first, and scores items that were answered in both.
    by_item: dict[str, list[float]] = {}
    for sample in answered:
        assert sample.scores is not None
        by_item.setdefault(str(sample.id).split("|")[0], []).append(sample.scores["fit"].as_float())
    both = [sum(scores) / 2 for scores in by_item.values() if len(scores) == 2]
    expected = sum(both) / len(both)
    assert ours["accuracy"]["value"] == pytest.approx(expected)


def test_every_answer_scores_half_where_gold_is_a_tie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_benchmark(tmp_path / "tied", items=2, people=2)
    gold = folder / "gold.jsonl"
    gold.write_text(re.sub(r'"label": ?"[01]"', '"label": "tie"', gold.read_text()))
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    output = inspect_ai.model.ModelOutput.from_content("mockllm/model", "A")
    output.usage = inspect_ai.model.ModelUsage()
    (log,) = inspect_ai.eval(
        "personafit/choices",
        model=inspect_ai.model.get_model("mockllm/model", custom_outputs=lambda *_: output),
        task_args={"benchmark": str(folder), "context": "none"},
        display="none",
    )
    assert log.status == "success", log.error
    assert log.samples is not None
    assert [sample.scores["fit"].as_float() for sample in log.samples if sample.scores] == [0.5] * 4
