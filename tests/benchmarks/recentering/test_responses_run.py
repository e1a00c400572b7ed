"""`run responses` against a real endpoint: judging pairs, making them first, matching, resuming."""

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from personafit import Store, UserError
from personafit.benchmarks import Finished, RunConfig
from personafit.engine import Silence
from personafit.kinds.preference import load_preferences
from personafit.reports.run_report import open_report
from personafit.run import execute
from tests.preference_world import plays_all_parts, write_pairs, write_preferences
from tests.stub_endpoint import BEHAVIOURS, Body, StubEndpoint, completion, saying


def _run(store: Store, data: Path, **more: Any) -> Finished:
    return asyncio.run(execute(store, RunConfig("responses", data=data, **more), Silence()))


def test_a_judge_is_asked_in_both_orders_and_asked_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint
) -> None:
    plays_all_parts(monkeypatch, endpoint)
    with Store(tmp_path / "s.db") as store:
        data = write_pairs(tmp_path / "data")
        finished = _run(store, data, raters=[endpoint.spec()])
        assert len(endpoint.requests) == 32
        again = _run(store, data, raters=[endpoint.spec()])
        assert len(endpoint.requests) == 32
        assert again.run.name == finished.run.name
        scores = load_preferences(store, finished.run)
    line = next(one for one in scores.lines if one.asked_for)
    by_generator = dict(line.frame.group_by("generator").agg(pl.col("rating").mean()).iter_rows())
    assert by_generator == {"gpt-9": 5.0, "claude-9": 3.0}
    assert (line.frame["first"] == line.frame["last"]).all()
    prompts = [request["messages"][0]["content"] for request in endpoint.requests]
    first = [prompt.split("<answer_A>")[1].split("</answer_A>")[0] for prompt in prompts]
    assert sum("Since you" in text for text in first) == 8, "either answer is shown first"
    assert not any("gpt-9" in prompt for prompt in prompts)


def test_a_system_answers_told_nothing_all_matched_and_what_people_called_relevant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint
) -> None:
    plays_all_parts(monkeypatch, endpoint)
    with Store(tmp_path / "s.db") as store:
        data = write_pairs(tmp_path / "data", users=2)
        finished = _run(store, data, raters=[endpoint.spec()], systems=[endpoint.spec()])
        scores = load_preferences(store, finished.run)
        texts = store.texts(
            {p for item in store.items(finished.run.dataset) for p in item.products[:2]}
        ).values()
        calls = len(endpoint.requests)
        _run(store, data, raters=[endpoint.spec()], systems=[endpoint.spec()])
        assert len(endpoint.requests) == calls
    # 4 prompts: a match and four answers each, and three pairs in two orders.
    assert calls == 4 + 16 + 24
    system_contexts = ("attributes:all", "attributes:matched", "attributes:human")
    assert sorted(scores.units["system_context"].unique().to_list()) == sorted(system_contexts)
    assert {text[-2:] for text in texts} == {"r.", "1.", "2.", "3."}
    assert scores.units["generator"].unique().to_list() == [endpoint.spec()]


def test_a_matcher_may_be_named_and_one_that_only_scores_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint
) -> None:
    plays_all_parts(monkeypatch, endpoint)
    with Store(tmp_path / "s.db") as store:
        data = write_pairs(tmp_path / "data", users=1)
        finished = _run(
            store,
            data,
            systems=[endpoint.spec()],
            system_contexts=["none", "attributes:matched:rule:always-yes"],
        )
        assert load_preferences(store, finished.run).units["system_context"].unique().to_list() == [
            "attributes:matched:rule:always-yes"
        ]
        with pytest.raises(UserError, match="gives scores and no answers"):
            _run(store, data, systems=[endpoint.spec()], system_contexts=["attributes:matched:rule:bm25"])


def test_identical_answers_are_put_before_no_judge_and_are_no_difference_to_a_rule(
    tmp_path: Path, endpoint: StubEndpoint
) -> None:
    data = write_preferences(tmp_path / "little")
    lines = (
        (data / "products.jsonl").read_text(encoding="utf-8").replace(" Use honey, it keeps for years.", "")
    )
    (data / "products.jsonl").write_text(lines, encoding="utf-8")
    with Store(tmp_path / "s.db") as store:
        finished = _run(store, data, raters=[endpoint.spec()], people=["p0", "p2"])
        scores = load_preferences(store, finished.run)
    assert endpoint.requests == []
    assert [line.frame["rating"].to_list() for line in scores.lines] == [[3.0, 3.0]] * 3


def test_an_answer_that_a_system_did_not_make_loses_to_its_generic_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told of the person, the system answers half of the prompts; the others were left out, as if nobody had asked."""
    name = f"shy_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SHY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with Store(tmp_path / "s.db") as store:
        finished = _run(
            store,
            write_pairs(tmp_path / "data", users=8, generators=["gpt-9"]),
            systems=[f"python:{name}:answer"],
            raters=[f"python:{name}:prefer", f"python:{name}:Scorer"],
            system_contexts=["attributes:all"],
        )
        scores = load_preferences(store, finished.run)
        report = open_report(store, finished.run)
    assert f"python:{name}:answer did not make 8 answers (failed, refused or empty): they lose" in " ".join(
        finished.run.config["notes"]
    )
    assert scores.units["item"].n_unique() == 16
    lost = pl.col("names").is_null()
    for line in scores.lines:
        assert set(line.frame.filter(lost)["rating"]) == {1.0}, line.name
        assert line.frame.filter(~lost)["rating"].min() != 1.0, line.name
    found = {(r.rater, r.metric): r for r in report.results if r.system is None}
    for rater in ("prefer", "Scorer"):
        rate = found[f"python:{name}:{rater}", "win_rate"]
        assert rate.value == pytest.approx(1 - scores.units["names"].null_count() / len(scores.units))
        assert rate.coverage == 1.0
        at_equal = found[f"python:{name}:{rater}", "win_rate_length_controlled"]
        assert at_equal.value == pytest.approx(rate.value)
        assert found[f"python:{name}:{rater}", "mention_effect"].n == len(scores.made)
    lengths = next(r for r in report.results if r.metric == "length_difference" and r.system is None)
    assert (lengths.n, lengths.value) == (8, 25.0)


SHY = """
def answer(messages):
    told = "keeps bees" in messages[0]["content"]
    if told and "cook" in messages[-1]["content"]:
        return ""
    return "A plain answer." + " With honey of your bees." * told

def prefer(prompt, attributes, answers):
    assert all(answers)
    return [5 if "honey" in answers[1] else 1] * len(attributes)

class Scorer:
    def score(self, prompt, attribute, answer):
        assert answer
        return float("honey" in answer)
"""


def test_a_dead_endpoint_leaves_nothing_to_judge(tmp_path: Path, endpoint: StubEndpoint) -> None:
    endpoint.behave("unauthorized")
    with Store(tmp_path / "s.db") as store:
        finished = _run(
            store,
            write_pairs(tmp_path / "data", users=1),
            systems=[endpoint.spec()],
            system_contexts=["attributes:all"],
        )
        assert "raters" not in finished.run.config
        assert any(lane.stopped for lane in finished.summary.lanes)


def test_what_a_judge_leaves_out_lowers_coverage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint
) -> None:
    plays_all_parts(monkeypatch, endpoint)
    endpoint.behave("parts", first="prose", times=2)
    with Store(tmp_path / "s.db") as store:
        judge = endpoint.spec(",concurrency=1")
        finished = _run(store, write_preferences(tmp_path / "little"), raters=[judge])
        report = open_report(store, finished.run)
    assert report.worst_coverage() == (f"{judge} (attributes)", 15 / 16)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"contexts": ["profile"]}, "raters of preference items are told attributes"),
        ({"system_contexts": ["attributes:all"]}, "name the system"),
        ({"raters": ["rule:bm25"]}, "scores attributes, not preference items"),
        ({"systems": ["python:nowhere:x"]}, "cannot import"),
    ],
)
def test_bad_usage_is_said_at_once(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    with Store(tmp_path / "s.db") as store, pytest.raises(UserError, match=words):
        _run(store, write_preferences(tmp_path / "little"), **more)


def test_a_system_may_be_given_what_a_model_makes_of_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint
) -> None:
    def speak(body: Body) -> Body:
        said = body["messages"][0]["content"]
        if "You keep a short profile" in said or "你为助手维护" in said:
            edit = {"do": "add", "field": "Habits", "value": "reads mysteries", "evidence": [1]}
            return completion(body, json.dumps({"edits": [edit]}))
        if "Go over the numbered memories" in said or '"1"' in said:
            return completion(body, '{"1": "keep"}')
        told = json.dumps(body["messages"])
        return completion(body, "Mysteries!" if "reads mysteries" in told else f"Hm, {len(told)}.")

    monkeypatch.setitem(BEHAVIOURS, "speaking", saying(speak))
    endpoint.behave("speaking")
    system_contexts = ["induced", "memory:k=3,by=bm25+filter"]
    more: dict[str, Any] = {"systems": [endpoint.spec()], "system_contexts": system_contexts, "limit": 3}
    with Store(tmp_path / "s.db") as store:
        finished = _run(store, Path("starter"), raters=["rule:mention"], **more)
        scores = load_preferences(store, finished.run)
        products = {p for item in store.items(finished.run.dataset) for p in item.products[:2]}
        assert "Mysteries!" in store.texts(products).values()
        calls = len(endpoint.requests)
        _run(store, Path("starter"), raters=["rule:mention"], **more)
        assert len(endpoint.requests) == calls
    assert sorted(scores.units["system_context"].unique().to_list()) == ["induced", "memory:by=bm25+filter"]
