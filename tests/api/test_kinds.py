"""Every kind of run goes through the same function and gives back the same frames."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import personafit as pf
from personafit.benchmarks import FolderBenchmark
from tests.benchmarks.recentering.world import leave_out_embedding
from tests.scripted import invoke
from tests.stub_endpoint import StubEndpoint


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


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("no mark", "judge gave no mark that could be read"),
        (None, "personalization 3.00 of 4, tasks completed 100.0 %"),
    ],
)
def test_a_judge_of_dialogues_whose_replies_cannot_be_read_gives_no_score(
    reply: str | None, said: str, tmp_path: Path
) -> None:
    async def judge(messages: list[dict[str, str]]) -> str:
        return await dialogue_judge(messages) if reply is None else reply

    arguments = KINDS["personalens"][0] | {"raters": judge}
    run = pf.evaluate("personalens", store=tmp_path / "s.db", progress=False, **arguments)
    assert said in run.verdict.sentence


def brief(person: str, question: str) -> str:
    return "Yes."


def test_a_rule_compares_assistants_by_which_it_scores_higher(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": "starter", "user": user, "limit": 6, "store": tmp_path / "s.db"}
    long, short = (
        pf.evaluate("personalens", systems=one, raters="rule:length", progress=False, **asked)
        for one in (assistant, brief)
    )
    (row,) = pf.compare(long, short).as_dict()["comparisons"]
    assert (row["metric"], row["value"], row["n"]) == ("scored_higher", 1.0, 6)
    with pytest.raises(pf.UserError, match="nothing can be compared"):
        pf.compare(long, short, metric="completion")
    with pytest.raises(
        pf.UserError, match="raters give scores and no marks, so there are no failures to show"
    ):
        pf.analyze(long, "failures")


def test_systems_that_answer_prompts_are_named_in_the_verdict(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": "starter", "limit": 4, "system_contexts": "attributes:all"}
    run = pf.evaluate(
        "responses",
        systems=[assistant, brief],
        raters=judge,
        store=tmp_path / "s.db",
        progress=False,
        **asked,
    )
    told = [one.sentence.partition(":")[0] for one in run.verdict.subjects[:2]]
    assert told == ["assistant told “attributes", "brief told “attributes"]
    assert pf.analyze(run, "bias").results.height > 0  # though nobody's marks are there


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with choices, attributes and preferences."""
    leave_out_embedding(monkeypatch)
    invoke(monkeypatch, tmp_path, "data", "convert", "responses", "--data", "starter", "--out", "study")
    return tmp_path / "study"


def judge(shown: pf.Shown) -> Any:
    """A judge of every kind: the longer answer, attributes of even length, and the mark 4."""
    if shown.question.name == "relevance":
        return [len(attribute) % 2 == 0 for attribute in shown.attributes]
    if shown.question.name == "preference":
        return [4] * len(shown.attributes)
    return [len(answer) for answer in shown.answers]


def test_a_folder_with_several_kinds_is_one_run_over_all(folder: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"raters": judge, "limit": 12, "store": tmp_path / "s.db", "progress": False}
    run = pf.evaluate(folder, out=tmp_path / "out", **asked)
    assert (run.name, run.finished, run.failed) == ("study", True, 0)
    assert [one.kind for one in run.runs] == run.kind.split(", ") == ["choice", "relevance", "preference"]
    for name in ("results", "judgments", "items"):
        whole: pl.DataFrame = getattr(run, name)
        for one in run.runs:
            own = getattr(one, name)
            part = whole.filter(run=one.name, kind=one.kind).select(own.columns)
            assert part.equals(own), f"{name} of {one.kind}"
        assert len(whole) == sum(len(getattr(one, name)) for one in run.runs)
    firsts = [one.verdict.first for one in run.runs]
    assert [one.metric for one in firsts] == ["lift", "f1", "rating"]
    assert run.verdict.sentences[:3] == [one.sentence for one in firsts]
    assert all(one.sentence in repr(run) for one in firsts[:2])
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(one.name in page for one in run.runs)
    told = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert [one["run"] for one in told["runs"]] == [one.name for one in run.runs]
    assert "<table>" in run._repr_html_()
    again = pf.evaluate(folder, **asked)
    assert (again.asked, again.reused) == (0, run.asked)
    with pytest.raises(pf.UserError, match="study is 3 runs: give one of its `runs`"):
        pf.compare(run, again)
    only = pf.evaluate(folder, kind="relevance", **asked)
    assert (only.kind, only.name) == ("relevance", run.runs[1].name)


def test_a_kind_that_the_rater_cannot_judge_does_not_keep_the_others(folder: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"raters": "rule:length", "limit": 12, "store": tmp_path / "s.db"}
    run = pf.evaluate(folder, progress=False, **asked)
    assert (run.kind, run.finished) == ("choice, preference", False)
    assert run.stopped == [f"{name}: {error}" for name, error in run.errors]
    assert "it scores answers, not relevance items" in run.stopped[0]
    assert "it scores answers, not relevance items" in pf.estimate(folder, **asked)
    with pytest.raises(pf.UserError, match="there is no such rule"):
        pf.evaluate(folder, progress=False, **asked | {"raters": "rule:nothing"})


def test_several_kinds_share_one_budget(folder: Path, tmp_path: Path, endpoint: StubEndpoint) -> None:
    spec = f"{endpoint.spec()},price=1000/1000"
    asked: dict[str, Any] = {"raters": spec, "limit": 4, "store": tmp_path / "s.db", "progress": False}
    whole = pf.evaluate(folder, kind="choice", **asked).cost
    spent = pf.evaluate(folder, budget=whole, **asked | {"store": tmp_path / "other.db"})
    assert 0 < spent.cost <= whole
    assert any("budget" in sentence for sentence in spent.stopped)
    assert [one.kind for one in spent.runs] == ["choice", "relevance", "preference"], "free controls go on"


def test_the_bias_of_a_judge_whose_pairs_are_all_alike_is_not_measured(tmp_path: Path) -> None:
    def forgetful(question: str) -> str:
        return "The same."

    asked: dict[str, Any] = {"data": "starter", "systems": forgetful, "raters": judge, "limit": 4}
    run = pf.evaluate("responses", store=tmp_path / "s.db", progress=False, **asked)
    found = pf.analyze(run, "bias").results
    assert found.filter(pl.col("metric") == "bias_length")["value"].is_null().all()


def test_a_rule_on_dialogues_costs_no_calls(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": "starter", "systems": assistant, "user": user, "limit": 2}
    said = pf.estimate("personalens", raters=["rule:length", "embedded"], store=tmp_path / "s.db", **asked)
    assert "rule:length: 6 asks, no model call." in said
    assert "embedded: 42 calls, about" in said


@pytest.mark.parametrize("name", ["position", "products", "accuracy", "answered"])
def test_a_field_called_like_a_column_of_ours_is_a_slice_like_others(name: str, tmp_path: Path) -> None:
    told = [{"id": f"p{number}", "likes": "tea"} for number in range(6)]
    rows = [{"person": one, "question": "A drink?", name: f"x{place % 2}"} for place, one in enumerate(told)]
    for more in ({"chosen": "Tea.", "rejected": "No tea."}, {"answer": "Tea.", "generic": "No tea."}):
        asked: dict[str, Any] = {"raters": judge, "store": tmp_path / "s.db", "progress": False}
        run = pf.evaluate([row | more for row in rows], **asked)
        assert run.report(tmp_path / "report.html").is_file()
        some = pf.evaluate([row | more for row in rows], where={f"log.{name}": "x1"}, **asked)
        assert some.items["person"].n_unique() == 3


def test_a_folder_whose_labels_are_anothers_says_so(folder: Path) -> None:
    toml = folder / "benchmark.toml"
    toml.write_text(toml.read_text().replace('gold = "author"', 'gold = "majority"'))
    notes = FolderBenchmark(folder).notes()
    said = "field 'gold': no label in gold.jsonl is by 'majority', so nothing is scored; they are by author."
    assert any(said in note for note in notes)


def _copy(folder: Path, name: str, declared: str = "", **files: str) -> Path:
    """Return a copy of the folder whose benchmark.toml says more, and with other files in place of its own."""
    copy = folder.with_name(name)
    shutil.copytree(folder, copy)
    toml = copy / "benchmark.toml"
    toml.write_text(declared + toml.read_text(encoding="utf-8"), encoding="utf-8")
    for stem, text in files.items():
        (copy / f"{stem}.jsonl").write_text(text, encoding="utf-8")
    return copy


def test_dialogues_with_people_of_whom_only_a_profile_is_known(folder: Path, tmp_path: Path) -> None:
    person = FolderBenchmark(folder).people().__next__()
    task = {
        "id": "t", "person": person.id, "domains": ["Food"], "description": "A dinner.", "intent": "Plan a dinner.",
        "goal": "A dinner is planned.", "preferences": [next(iter(person.facets))], "situation": {},
    }  # fmt: skip
    own = _copy(folder, "talks", items="", gold="", tasks=json.dumps(task))
    run = pf.evaluate(
        own, systems=assistant, user=user, raters="rule:length", store=tmp_path / "s.db", progress=False
    )
    assert (run.kind, run.finished) == ("dialogue", True)
    assert set(run.results["system_context"].drop_nulls()) == {"none", "profile", "wrong:profile"}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("injection", "items of kind injection need the slices version, of, .* there is no 'version'"),
        ("preference", "items.jsonl, line 1, field 'products': a preference item has two answers"),
        ("relevance", "items.jsonl, line 1, field 'products': a relevance item has one product"),
    ],
)
def test_items_that_do_not_fit_the_kind_their_folder_declares(
    kind: str, said: str, folder: Path, tmp_path: Path
) -> None:
    items = [line for line in (folder / "items.jsonl").read_text().splitlines() if '"choice"' in line]
    ids = {json.loads(line)["id"] for line in items}
    gold = [
        line for line in (folder / "gold.jsonl").read_text().splitlines() if json.loads(line)["item"] in ids
    ]
    own = _copy(folder, kind, f'kind = "{kind}"\n', items="\n".join(items), gold="\n".join(gold))
    with pytest.raises(pf.UserError, match=said):
        pf.evaluate(own, raters=judge, store=tmp_path / "s.db", progress=False)


def test_a_copy_of_a_benchmark_is_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    invoke(monkeypatch, tmp_path, "data", "convert", "injection", "--out", "attacks")
    asked: dict[str, Any] = {"raters": "rule:markup", "limit": 6, "progress": False}
    run = pf.evaluate(tmp_path / "attacks", store=tmp_path / "s.db", **asked)
    assert (run.kind, run.finished) == ("injection", True)


def test_what_was_done_by_controls_alone_has_no_failures(tmp_path: Path) -> None:
    run = pf.evaluate("world", limit=1, store=tmp_path / "s.db", progress=False)
    with pytest.raises(pf.UserError, match="only controls were run, so there are no failures to show"):
        pf.analyze(run, "failures")
    with pytest.raises(pf.UserError, match="retrieval is measured on a benchmark"):
        pf.analyze(run, "retrieval")


@pytest.mark.parametrize(
    "ask", [pf.evaluate, pf.load, pf.agree, lambda name, store: pf.analyze(name, "retrieval", store=store)]
)
def test_a_text_in_place_of_a_name_is_no_traceback(ask: Any, tmp_path: Path) -> None:
    with pytest.raises(pf.UserError):
        ask("person,question,chosen,rejected\n" * 20, store=tmp_path / "s.db")
