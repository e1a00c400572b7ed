"""`--where NAME=VALUE`: only items of a slice are judged, and only questions of it answered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from tests.benchmarks.recentering.world import leave_out_embedding

Evaluate = Callable[..., pf.Run]


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """`pf.evaluate` on a store of its own, silent, without the control that embeds every attribute."""
    leave_out_embedding(monkeypatch)

    def evaluated(benchmark: Any, **arguments: Any) -> pf.Run:
        return pf.evaluate(benchmark, store=tmp_path / "store.db", progress=False, **arguments)

    return evaluated


def never(person: str, question: str) -> str:
    raise AssertionError("nobody was to be asked")


@pytest.mark.parametrize("benchmark", ["recentering", "responses"])
def test_items_of_a_slice(benchmark: str, evaluate: Evaluate) -> None:
    judged = evaluate(benchmark, data="starter", where={"language": "zh"})
    every = evaluate(benchmark, data="starter").items
    assert set(judged.items["item"]) == set(every.filter(language="zh")["item"])
    assert 0 < judged.items.height < every.height


@pytest.mark.parametrize("name", ["system_context", "given"])
def test_answers_of_a_log_by_what_the_system_was_told(name: str, evaluate: Evaluate) -> None:
    rows = [
        {
            "person": {"id": person, "likes": person},
            "question": f"What suits {told}?",
            "answer": f"{person}!",
            "generic": "Anything.",
            name: told,
        }
        for person in ("tea", "jazz")
        for told in ("profile", "memory")
    ]
    run = evaluate(rows, raters="rule:length", where={"system_context": "memory"})
    assert run.items["system_context"].to_list() == ["memory"] * len(run.items)
    assert run.items["person"].n_unique() == 2


@pytest.mark.parametrize("benchmark", ["recentering", "responses", "personalens"])
def test_a_name_nobody_has(benchmark: str, evaluate: Evaluate) -> None:
    systems = "canned" if benchmark == "personalens" else ()
    with pytest.raises(pf.UserError, match="items have no 'nothing'"):
        evaluate(benchmark, data="starter", systems=systems, where=["nothing=1"])


@pytest.mark.parametrize("benchmark", ["answers", "responses"])
def test_nothing_is_answered_where_the_name_is_wrong(benchmark: str, evaluate: Evaluate) -> None:
    data = "starter" if benchmark == "responses" else None
    raters = "rule:length" if benchmark == "answers" else ()
    with pytest.raises(pf.UserError, match="--where nothing=1"):
        evaluate(benchmark, data=data, systems=never, raters=raters, where=["nothing=1"])


def test_systems_answer_only_the_questions_asked_for(evaluate: Evaluate) -> None:
    asked = []

    def brief(person: str, question: str) -> str:
        asked.append(question)
        return "Yes."

    where = ["half=specific", "against=generic"]
    run = evaluate("answers", systems=brief, raters="rule:length", contexts="none", where=where, limit=3)
    assert len(set(asked)) == 3
    assert run.items["against"].to_list() == ["generic"] * 3
