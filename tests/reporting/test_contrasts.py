"""The takeaways as contrasts: paired on a run, and arithmetic on the published tables that says it has no interval."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from personafit.benchmarks import FolderBenchmark, ImportedPairs, write_folder
from personafit.benchmarks.config import RunConfig
from personafit.reporting import RunScores, load_scores
from personafit.reporting.contrasts import (
    NO_INTERVAL,
    Contrast,
    contrasts,
    memory_contrasts,
    published_contrasts,
    reasoning_contrasts,
)
from personafit.store import Store
from tests.scripted import run, simple_pairs, write_pairs, write_recording
from tests.stub_endpoint import StubEndpoint


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = simple_pairs(people=8, questions=3)
    for number, row in enumerate(rows):
        row["question"] += str(number)
        row["tier"] = "easy" if number % 2 else "hard"
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))
    return tmp_path / "mine"


def test_raters_that_differ_only_in_effort_are_paired_with_their_tokens(
    store: Store, folder: Path, endpoint: StubEndpoint
) -> None:
    plain, thinking = endpoint.spec(), endpoint.spec(",effort=high")
    run(store, RunConfig(str(folder), raters=[plain], views=["profile"]))
    endpoint.behave("reasoning_content")
    config = RunConfig(str(folder), raters=[thinking, plain], views=["profile"])
    scores = load_scores(store, run(store, config).run)
    found = list(reasoning_contrasts(store, scores))
    assert [contrast.slice for contrast in found] == [{"tier": "hard"}, {"tier": "easy"}, {}]
    total = found[-1]
    assert (total.value, total.n, total.people, total.published) == (0.0, 24, 8, False)
    assert total.low is None, "nothing varies: there is nothing to estimate"
    assert "effort high and effort unset score the same on every item" in total.sentence
    assert total.sentence.endswith("Thinking tokens an ask: 10 against 0.")


def test_without_such_a_pair_nothing_is_said(store: Store, folder: Path, endpoint: StubEndpoint) -> None:
    config = RunConfig(str(folder), raters=[endpoint.spec(), "rule:length"], views=["profile"])
    assert list(reasoning_contrasts(store, load_scores(store, run(store, config).run))) == []


@pytest.fixture
def views(store: Store, folder: Path) -> RunScores:
    """A rater that is always right with the profile, half right with memories, and always wrong with nothing."""

    def decide(view: str, item: int, order: str) -> str:
        return "right" if view == "profile" or (view.startswith("wrong") and item % 2) else "wrong"

    recording = write_recording(folder.parent / "said.jsonl", FolderBenchmark(folder), decide)
    config = RunConfig(
        str(folder), raters=[f"replay:{recording}"], views=["profile", "none", "wrong:profile"]
    )
    scores = load_scores(store, run(store, config).run)
    names = {"wrong:profile": "memory"}  # no memories in these profiles: another view stands in
    renamed = scores.run._replace(
        config=scores.run.config | {"views": [names.get(v, v) for v in scores.views]}
    )
    return replace(
        scores, run=renamed, scores={(r, names.get(v, v)): frame for (r, v), frame in scores.scores.items()}
    )


def totals(found: list[Contrast]) -> list[Contrast]:
    return [contrast for contrast in found if not contrast.slice]


def test_memory_is_held_against_nothing_and_the_profile_against_both(views: RunScores) -> None:
    found = list(memory_contrasts(views))
    assert len(found) == 3 * 3
    memory, profile, both = totals(found)
    assert [memory.value, profile.value, both.value] == [0.5, 0.5, 1.0]
    assert "shown memory is better than shown none by 50.0 points" in memory.sentence
    assert "shown profile is better than shown memory by 50.0 points" in profile.sentence
    assert memory.low is not None
    assert memory.low > 0
    hard = next(c for c in found if c.slice == {"tier": "hard"})
    assert (hard.value, "on hard" in hard.sentence) == (0.0, True)


def test_the_interval_goes_the_way_the_words_do(views: RunScores) -> None:
    turned = {"memory": "none", "none": "memory"}
    scores = replace(views, scores={(r, turned.get(v, v)): frame for (r, v), frame in views.scores.items()})
    memory = totals(list(memory_contrasts(scores)))[0]
    assert memory.low is not None
    assert memory.high is not None
    assert memory.high < 0, "the record stays first minus second"
    assert "shown none is better than shown memory by 50.0 points" in memory.sentence
    assert f"95 % interval {-100 * memory.high:+.1f} to {-100 * memory.low:+.1f}, p" in memory.sentence
    assert "over 7 comparisons" in memory.sentence, "all slices and pairs of views are tested together"


def test_a_run_without_memory_still_says_what_the_profile_adds(views: RunScores) -> None:
    without = replace(views, run=views.run._replace(config=views.run.config | {"views": ["profile", "none"]}))
    (total,) = totals(list(memory_contrasts(without)))
    assert "shown profile is better than shown none by 100.0 points" in total.sentence


def test_published_figures_never_pretend_to_an_interval() -> None:
    found = published_contrasts()
    assert {contrast.takeaway for contrast in found} == {"reasoning", "size", "reward", "memory"}
    for contrast in found:
        assert contrast.published
        assert (contrast.low, contrast.high, contrast.people) == (None, None, 0)
        assert contrast.sentence.endswith(f"({NO_INTERVAL}).")
        assert "arXiv 2506.12915, Table" in contrast.source


def test_the_published_contrasts_are_the_tables_own_arithmetic() -> None:
    found = published_contrasts()

    def one(text: str, **where: str) -> Contrast:
        (match,) = (c for c in found if text in c.sentence and c.slice == where)
        return match

    assert one("R1-Distill-Qwen-32B 74.0, Qwen2.5-32B-Instruct 75.2", half="specific").value == pytest.approx(
        -0.012
    )
    assert one("7 open-source models, all questions, size").value == pytest.approx(0.917, abs=0.001)
    assert one("6 Qwen2.5 models, all questions, a doubling").value == pytest.approx(0.0258, abs=0.001)
    memory = one("Shown memory+filter instead of none, 8 of 8 models score higher")
    assert memory.value == pytest.approx(0.0324, abs=0.0001)
    assert (memory.n, memory.source.endswith("Table 7")) == (8, True)
    assert one("Reward models against chat models: specific 70.5 against 74.9").value == pytest.approx(
        -0.009, abs=0.001
    )


def test_everything_together_is_plain_data(store: Store, views: RunScores) -> None:
    found = contrasts(store, views)
    assert [contrast.published for contrast in found] == sorted(contrast.published for contrast in found)
    assert all(isinstance(contrast.as_dict()["sentence"], str) for contrast in found)
