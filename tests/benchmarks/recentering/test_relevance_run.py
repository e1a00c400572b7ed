import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.benchmarks import Finished, RunConfig, write_folder
from personafit.benchmarks.recentering import RelevanceLabels
from personafit.kinds import Line
from personafit.kinds.relevance import RelevanceScores, load_relevance, opened_relevance
from personafit.reports.line_results import line_coverage
from personafit.reports.relevance import relevance_results
from personafit.run import estimate
from tests.benchmarks.recentering.test_labels import DATA, needs_data
from tests.benchmarks.recentering.world import Row, leave_out_embedding, row, rows, write_module, write_world
from tests.scripted import run, write_lines
from tests.stub_endpoint import BEHAVIOURS, Body, StubEndpoint, completion, saying


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    leave_out_embedding(monkeypatch)
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module name of its own per test: Python keeps modules it has imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return write_module(tmp_path, f"world_{abs(hash(request.node.name))}")


def world(tmp_path: Path, lines: list[Row] | None = None) -> Path:
    return write_world(tmp_path / "data", rows() if lines is None else lines)


def config(data: Path, *raters: str, **more: object) -> RunConfig:
    return RunConfig(benchmark="recentering", data=data, raters=list(raters), **more)  # type: ignore[arg-type]


def scores_of(store: Store, finished: Finished) -> RelevanceScores:
    return load_relevance(store, finished.run)


def line_of(scores: RelevanceScores, name: str, context: str = "none") -> Line:
    return next(line for line in scores.lines if (line.rater, line.context) == (name, context))


def statuses(line: Line) -> dict[str | None, int]:
    return dict(line.frame["status"].value_counts().iter_rows())


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, RelevanceScores]:
    """Every way of asking over lists with two empty attributes and one on which people have no majority."""
    folder = tmp_path_factory.mktemp("usual")
    lines = [*rows(), row(0, 0, " "), row(60, 0, ""), row(0, 0, "The user paints tea pots.", relevant=None)]
    with pytest.MonkeyPatch.context() as patch, Store(folder / "store.db") as store:
        patch.syspath_prepend(str(folder))
        leave_out_embedding(patch)
        write_module(folder, USUAL)
        finished = run(store, config(world(folder, lines), *RATERS))
        return finished, scores_of(store, finished)


USUAL = "usual_relevance"
PAIRS, LISTS, GRADED, TEA, SCORED, MUMBLING, OTHERS = RATERS = [
    f"pair:python:{USUAL}:pairs",
    f"list:python:{USUAL}:lists",
    f"graded:python:{USUAL}:grades",
    f"python:{USUAL}:tea",
    f"python:{USUAL}:scores",
    f"list:python:{USUAL}:mumbling",
    f"list:python:{USUAL}:naming_others",
]


def test_every_way_of_asking_answers_every_pair(usual: tuple[Finished, RelevanceScores]) -> None:
    scores = usual[1]
    results = [r for r in relevance_results(scores) if not r.slice and r.context == "none"]
    found = {(r.rater, r.metric): r for r in results if r.control != "published"}
    figures = {key: one.value for key, one in found.items()}
    assert figures[PAIRS, "precision"] == 0.5
    assert figures[PAIRS, "over_selection"] == 2.0
    assert figures[LISTS, "f1"] == 1.0
    assert figures[GRADED, "precision"] == 0.5  # must and may
    assert figures[TEA, "f1"] == 1.0
    assert figures[SCORED, "f1"] == 1.0  # the threshold of other prompts is the right one here too
    assert figures[SCORED, "average_precision"] == 1.0
    assert figures["rule:always-yes", "recall"] == 1.0
    assert figures["gpt-5.4", "over_selection"] == 2.0
    unread = found[MUMBLING, "f1"]
    assert (unread.value, unread.coverage) == (None, 0.0)
    assert found["rule:always-yes", "f1"].n == 80, "what has no majority is judged and not scored"


def test_everybody_skips_empty_attributes_and_unreadable_lists_are_unparsed(
    usual: tuple[Finished, RelevanceScores],
) -> None:
    scores = usual[1]
    for name in (PAIRS, LISTS, GRADED, TEA, OTHERS, "rule:always-yes"):
        assert statuses(line_of(scores, name)) == {"ok": 81, "skipped": 2}
    assert statuses(line_of(scores, MUMBLING)) == {"unparsed": 81, "skipped": 2}


def test_numbers_that_are_not_on_the_list_are_noted(usual: tuple[Finished, RelevanceScores]) -> None:
    line = line_of(usual[1], OTHERS)
    assert int(line.frame["yes"].sum()) == 16  # the first of each list, and nothing for number 5000
    details = usual[1].answers.filter(rater=line.fingerprint)["detail"].drop_nulls()
    assert any("5000" in one for one in details)


def test_without_the_prompt_an_attribute_is_asked_about_once(
    usual: tuple[Finished, RelevanceScores],
) -> None:
    finished, scores = usual
    assert finished.summary.lanes[0].total == 83 + 43  # pairs, and distinct attributes of each person
    alone = line_of(scores, PAIRS, "attribute-alone")
    assert statuses(alone) == {"ok": 81, "skipped": 2}
    assert alone.control == "attribute alone"
    assert not any(line.context == "attribute-alone" for line in scores.lines if line.rater == "rule:bm25")


def test_the_same_command_asks_nothing_twice(store: Store, tmp_path: Path, module: str) -> None:
    wanted = config(world(tmp_path), f"list:python:{module}:lists")
    first = run(store, wanted)
    again = run(store, wanted)
    assert first.run.name == again.run.name
    assert sum(lane.finished for lane in first.summary.lanes) == first.run.planned
    assert all(lane.reused == lane.total for lane in again.summary.lanes)


def test_a_list_that_fails_is_failed_pair_by_pair_and_tried_again(
    store: Store, tmp_path: Path, module: str
) -> None:
    name = f"python:{module}:breaking_once,concurrency=1"
    wanted = config(world(tmp_path), name, contexts=["none"])
    first = run(store, wanted)
    line = line_of(scores_of(store, first), name)
    assert statuses(line) == {"ok": 75, "failed": 5}
    assert line_coverage(line.frame) == 75 / 80
    again = run(store, wanted)
    assert again.summary.lanes[0].reused == 15
    assert statuses(line_of(scores_of(store, again), name)) == {"ok": 80}


def test_many_attributes_on_one_page_come_in_parts(store: Store, tmp_path: Path, module: str) -> None:
    page = [row(50, 0, f"The user {'likes tea' if n % 100 == 0 else 'owns thing'} {n}.") for n in range(300)]
    name = f"list:python:{module}:lists"
    wanted = config(world(tmp_path, [*rows(), *page]), name, contexts=["none"])
    finished = run(store, wanted)
    scores = scores_of(store, finished)
    line = line_of(scores, name)
    assert line_coverage(line.frame) == 1.0
    big = line.frame.filter(line.frame["person"] == "u50")
    assert int(big["yes"].sum()) == 3
    assert finished.summary.lanes[0].total == 16 + 3
    assert any("1 lists in parts" in note for note in scores.run.config["notes"])


def test_repeated_attributes_get_one_answer(store: Store, tmp_path: Path, module: str) -> None:
    lines = [*rows(), row(0, 0, "The user likes tea of kind 0.", relevant=False)]
    name = f"list:python:{module}:lists"
    scores = scores_of(store, run(store, config(world(tmp_path, lines), name, contexts=["none"])))
    frame = line_of(scores, name).frame
    twice = frame.filter(
        (frame["list_name"] == "recentering/u00/0@u00") & (frame["attribute"].str.contains("tea"))
    )
    assert twice["yes"].to_list() == [True, True]
    assert twice["relevant"].to_list() == [True, False]


def test_a_limit_takes_whole_lists_of_many_prompts(store: Store, tmp_path: Path) -> None:
    scores = scores_of(store, run(store, config(world(tmp_path), limit=23)))
    assert len(scores.items) == 20
    assert scores.items["prompt"].n_unique() == 4
    smallest = scores_of(store, run(store, config(world(tmp_path), limit=1)))
    assert len(smallest.items) == 5


def test_users_are_chosen_and_unknown_ones_refused(store: Store, tmp_path: Path) -> None:
    scores = scores_of(store, run(store, config(world(tmp_path), people="3")))
    assert scores.items["person"].n_unique() == 3
    wanted = tmp_path / "ids.txt"
    wanted.write_text("u01\nnobody\n")
    with pytest.raises(UserError, match="nobody is called 'nobody'"):
        run(store, config(world(tmp_path), people=str(wanted)))


def test_unknown_contexts_and_raters_are_refused_before_anything_is_asked(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="attribute-alone"):
        run(store, config(world(tmp_path), contexts=["profile"]))
    with pytest.raises(UserError, match="scores answers, not relevance items"):
        run(store, config(world(tmp_path), "rule:length"))
    assert store.runs() == []


def test_scores_with_one_prompt_only_stay_undecided(store: Store, tmp_path: Path, module: str) -> None:
    name = f"python:{module}:scores"
    scores = scores_of(
        store, run(store, config(world(tmp_path, rows(prompts=1, each=1)), name, contexts=["none"]))
    )
    found = {
        r.metric: r
        for r in relevance_results(scores)
        if r.rater == name and not r.slice and r.context == "none"
    }
    assert found["f1"].value is None
    assert "other prompts" in str(found["f1"].note)
    assert found["average_precision"].value == 1.0


def test_samples_are_averaged(store: Store, tmp_path: Path, module: str) -> None:
    name = f"pair:python:{module}:pairs"
    scores = scores_of(store, run(store, config(world(tmp_path), name, contexts=["none"], samples=3)))
    line = line_of(scores, name)
    assert line.frame["answered"].to_list() == [3] * 80
    assert line_coverage(line.frame) == 1.0


def test_a_dry_run_counts_lists_and_pairs(store: Store, tmp_path: Path, module: str) -> None:
    raters = (f"pair:python:{module}:pairs", f"list:python:{module}:lists")
    words = estimate(store, config(world(tmp_path), *raters, contexts=["none"]))
    assert f"{raters[0]}: 80 asks" in words
    assert f"{raters[1]}: 16 asks" in words
    assert store.runs() == []


def test_an_endpoint_is_asked_by_pair_and_by_list(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: Body) -> Body:
        return completion(body, "[1]" if "numbered list" in body["messages"][0]["content"] else "yes")

    monkeypatch.setitem(BEHAVIOURS, "relevance", saying(answer))
    with StubEndpoint("relevance") as stub:
        spec = stub.spec()
        finished = run(store, config(world(tmp_path), spec, f"list:{spec}", contexts=["none"]))
    scores = scores_of(store, finished)
    assert int(line_of(scores, spec).frame["yes"].sum()) == 80
    assert int(line_of(scores, f"list:{spec}").frame["yes"].sum()) == 16
    assert finished.summary.tokens_in == 100 * (80 + 16)


@needs_data
def test_published_votes_reproduce_and_always_yes_has_its_f1(store: Store) -> None:
    opened = opened_relevance(scores_of(store, run(store, config(DATA, contexts=["none"]))))
    found = {
        (line.rater, name): opened.metric(name).of(line.frame).value
        for line in opened.lines
        for name in ("f1", "precision")
    }
    assert found["rule:always-yes", "f1"] == pytest.approx(2 * 554 / (3019 + 554))
    assert found["gpt-5.4", "f1"] == pytest.approx(0.480, abs=5e-4)
    assert found["gpt-5.4", "precision"] == pytest.approx(0.340, abs=5e-4)
    assert found["google_gemma-4-31b-it", "f1"] == pytest.approx(0.511, abs=5e-4)


def test_a_group_of_several_people_is_one_list_each(store: Store, tmp_path: Path, module: str) -> None:
    labels = RelevanceLabels(world(tmp_path))
    write_folder(tmp_path / "folder", labels)
    items = tmp_path / "folder" / "items.jsonl"
    pooled = [json.loads(line) for line in items.read_text().splitlines()]
    for one in pooled:
        one["group"] = one["prompt"]  # as a page for people has it
    write_lines(items, pooled)
    name = f"python:{module}:breaking_once,concurrency=1"
    scores = scores_of(store, run(store, config(tmp_path / "folder", name, contexts=["none"])))
    assert scores.items["list_name"].n_unique() == 16
    failed = line_of(scores, name).frame.filter(line_of(scores, name).frame["status"] == "failed")
    assert failed["person"].n_unique() == 1
    assert len(failed) == 5


def test_the_starter_set_runs(store: Store) -> None:
    scores = scores_of(store, run(store, config(Path("starter"))))
    assert line_coverage(line_of(scores, "rule:always-yes").frame) == 1.0
    assert scores.info["gold"] == "author"
