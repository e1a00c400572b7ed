"""Every kind of run goes through the same function and gives back the same frames."""

import json
from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from tests.benchmarks.recentering.world import leave_out_embedding


def relevant(prompt: str, attributes: list[str], person: Any) -> list[bool]:
    return [len(attribute) % 2 == 0 for attribute in attributes]


def marks(prompt: str, attributes: list[str], answers: list[str]) -> list[int]:
    return [4] * len(attributes)


def assistant(person: str, question: str) -> str:
    return f"Gladly. You said: {question[:40]} And {len(person)} things are known."


def user(messages: list[dict[str, str]]) -> str:
    return "A plan for dinner?\n" + ("[SATISFIED]" if len(messages) > 2 else "[CONTINUE]")


async def dialogue_judge(messages: list[dict[str, str]]) -> str:
    return json.dumps({"reason": "so it is", "score": 3, "complete": True, "scores": [3]})


KINDS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "recentering": ({"data": "starter", "raters": relevant, "limit": 12}, "relevance", "relevant", "f1"),
    "responses": ({"data": "starter", "raters": marks, "limit": 4}, "preference", "marks", "rating"),
    "injection": ({"raters": "rule:markup", "limit": 12}, "injection", "rule:markup", "unmoved"),
    "personalens": (
        {"data": "starter", "systems": assistant, "user": user, "raters": dialogue_judge, "limit": 1},
        "dialogue",
        "dialogue_judge on assistant",
        "personalization",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_run_of_every_kind_has_its_frames_and_its_verdict(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_embedding(monkeypatch)
    arguments, kind, subject, metric = KINDS[name]
    run = pf.evaluate(name, store=tmp_path / "s.db", progress=False, **arguments)
    assert (run.kind, run.finished, run.failed) == (kind, True, 0)
    assert run.results.height == len(run.figures) > 0
    assert run.judgments.height > 0
    assert run.judgments["rater"].null_count() == 0
    assert run.items.height > 0
    assert run.verdict.first.subject.startswith(subject)
    assert run.verdict.first.metric == metric
    assert subject.rpartition(" ")[2] in run.verdict.sentence
    assert "<table>" in run._repr_html_()
    assert run.report(tmp_path / "report.html").stat().st_size > 10_000
    again = pf.evaluate(name, store=tmp_path / "s.db", progress=False, **arguments)
    assert (again.name, again.asked) == (run.name, 0)
    assert pf.load(run.name, store=tmp_path / "s.db").results.equals(run.results)
