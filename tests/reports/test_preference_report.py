"""The numbers, tables and page of a preference run."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.engine import Silence
from personafit.kinds.preference import PreferenceScores, load_preferences
from personafit.reports.preference import preference_results, same_model
from personafit.reports.report_page import write_page
from personafit.reports.result import Result
from personafit.reports.run_report import open_report
from personafit.run import execute
from tests.preference_world import write_pairs, write_preferences
from tests.reports.unpacking import browser_blocks
from tests.scripted import write_lines


def _recorded(folder: Path, data: Path, mark: dict[str, dict[str, int]]) -> str:
    """A recording that gives item i the mark under '01' and '10' (as A to B)."""
    rows = [
        {"key": f"{item}|preference|{order}|0", "reply": json.dumps({"1": value})}
        for item, orders in mark.items()
        for order, value in orders.items()
    ]
    return f"replay:{write_lines(folder / f'{data.name}.jsonl', rows)}"


def _results(tmp_path: Path, data: Path, rater: str) -> list[Result]:
    with Store(tmp_path / "s.db") as store:
        finished = asyncio.run(execute(store, RunConfig("responses", data=data, raters=[rater]), Silence()))
        return open_report(store, finished.run).results


def _total(results: list[Result], rater: str, metric: str) -> Result:
    (found,) = [
        r
        for r in results
        if r.rater == rater
        and r.metric == metric
        and r.system is None
        and r.slice in ({}, {"detector": "rule"})
    ]
    return found


def test_marks_position_mention_and_agreement_by_hand(tmp_path: Path) -> None:
    data = write_preferences(tmp_path / "little")
    # Personalized second: 4 for even items, 2 for odd ones. Shown first it gets one point more (as B to A: 6 minus that).
    marks = {f"i{n}": {"01": 2 if n % 2 else 4, "10": 6 - (3 if n % 2 else 5)} for n in range(8)}
    rater = _recorded(tmp_path, data, marks)
    results = _results(tmp_path, data, rater)
    assert _total(results, rater, "rating").value == pytest.approx(3.5)
    assert _total(results, rater, "no_better").value == pytest.approx(0.5)
    assert _total(results, rater, "no_better_items").value == pytest.approx(0.5)
    assert _total(results, rater, "win_rate").value == pytest.approx(0.5)
    assert _total(results, rater, "position_effect").value == pytest.approx(0.5)
    assert _total(results, rater, "consistency").value == pytest.approx(0.5)
    assert _total(results, rater, "mention_effect").value == pytest.approx(2.5 - 4.5)
    assert _total(results, rater, "spearman").value == pytest.approx(1.0)
    assert _total(results, rater, "rating_over_people").value == pytest.approx(0.5)
    assert _total(results, rater, "mention_effect_over_people").value == pytest.approx(0.0)
    assert _total(results, rater, "rating").coverage == 1.0
    people = _total(results, "author", "rating")
    assert people.value == pytest.approx(3.0)
    assert people.control == "labels in the data"
    (rate,) = [r for r in results if r.metric == "mention_rate" and r.system is None]
    assert rate.value == pytest.approx(0.5)


def test_single_votes_give_the_ceiling_and_simulated_ones_are_called_so(tmp_path: Path) -> None:
    data = write_preferences(tmp_path / "little")
    votes = [
        {
            "item": f"i{n}",
            "question": "preference",
            "target": "bees",
            "rater": who,
            "label": str(mark),
            "value": mark,
        }
        for n in range(8)
        for who, mark in (("one", 1 + n % 5), ("two", 1 + n % 5), ("three", 5 - n % 5))
    ]
    write_lines(data / "votes.jsonl", votes)
    write_lines(
        data / "raters.jsonl",
        [{"fingerprint": n, "name": n, "kind": "simulated"} for n in ("one", "two", "three")],
    )
    results = _results(tmp_path, data, "rule:length")
    ceiling = _total(results, "simulated", "human_spearman")
    assert ceiling.value == pytest.approx((1 - 1 - 1) / 3)
    assert ceiling.control == "simulated people"
    assert "simulated" in str(ceiling.note)
    assert not [r for r in results if r.rater == "human"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> PreferenceScores:
    """The published layout, judged by a rule."""
    folder = tmp_path_factory.mktemp("pairs")
    config = RunConfig("responses", data=write_pairs(folder / "data"), raters=["rule:length"])
    with Store(folder / "s.db") as store:
        return load_preferences(store, asyncio.run(execute(store, config, Silence())).run)


def test_published_figures_stand_beside_published_pairs_only_and_are_marked(
    pairs: PreferenceScores, tmp_path: Path
) -> None:
    published = [r for r in preference_results(pairs) if r.control == "published"]
    assert published
    assert all("published, not measured here" in str(r.note) for r in published)
    assert {r.metric for r in published} >= {"human_spearman", "mention_effect", "mention_rate_items"}
    own = _results(tmp_path, write_preferences(tmp_path / "little"), "rule:length")
    assert not [r for r in own if r.control == "published"]


def test_the_coverage_of_peoples_marks_is_that_of_the_answers_they_are_of(pairs: PreferenceScores) -> None:
    some = (pl.col("generator") == "gpt-9") | (pl.col("person") < "u2")
    units = pairs.units.with_columns(pl.when(some).then(4.0).alias("human"))
    found = preference_results(replace(pairs, units=units, people_are="human"))
    marks = [r for r in found if (r.metric, r.rater, r.control) == ("rating", "human", "people")]
    assert {r.system: r.coverage for r in marks} == {None: 0.75, "gpt-9": 1.0, "claude-9": 0.5}


def test_rates_by_generator_and_naming_against_liking_it(pairs: PreferenceScores) -> None:
    results = preference_results(pairs)
    rates = {
        r.system: r.value for r in results if r.metric == "mention_rate_items" and r.system and not r.control
    }
    assert rates == {"gpt-9": 1.0, "claude-9": 0.0}
    (against,) = [r for r in results if r.metric == "mention_rate_against_effect" and not r.control]
    assert against.value is None
    assert "it takes 3" in str(against.note)
    assert same_model("openai:org/GPT_9@http://x/v1,effort=low", "gpt-9")
    assert not same_model("openai:gpt-9-mini", "gpt-9")


def test_the_page_is_whole_inert_and_shows_every_pair(tmp_path: Path) -> None:
    data = write_preferences(tmp_path / "little")
    hostile = "<script>alert(1)</script>"
    products = (data / "products.jsonl").read_text(encoding="utf-8")
    (data / "products.jsonl").write_text(products.replace("Bake bread 3.", hostile), encoding="utf-8")
    with Store(tmp_path / "s.db") as store:
        finished = asyncio.run(execute(store, RunConfig("responses", data=data), Silence()))
        write_page([open_report(store, finished.run).part()], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert hostile not in page
    assert "script-src &#39;sha256-" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "author: no evidence that it prefers either answer (mean 3.00" in page
    blocks = browser_blocks(tmp_path / "report.html")
    (index,) = blocks["index"]
    assert index["id"] == [f"i{n}" for n in range(8)]
    assert blocks["texts"][index["answers"][3][0]] == hostile
    text, note, cells = blocks["marks"][0][0]
    assert (text in index["texts"][0], note) == (True, None)
    named, author, *rules = (cell[0] for cell in cells)
    assert (named, author, len(rules)) == ("no", "4.0", 2)


def test_a_model_may_say_what_is_named_beside_the_rule(tmp_path: Path) -> None:
    data = write_preferences(tmp_path / "little")
    rows = [{"key": f"i{n}|mention|01|0", "reply": "[1]" if n < 2 else "[]"} for n in range(7)]
    path = write_lines(tmp_path / "said.jsonl", [*rows, {"key": "i7|mention|01|0", "reply": "No idea."}])
    detector = f"mention:replay:{path}"
    with Store(tmp_path / "s.db") as store:
        finished = asyncio.run(
            execute(store, RunConfig("responses", data=data, raters=[detector]), Silence())
        )
        report = open_report(store, finished.run)
        write_page([report.part()], tmp_path / "report.html")
    asks = browser_blocks(tmp_path / "report.html")["asks"]
    assert ["No idea."] in [ask["reply"] for ask in asks]
    rates = {
        r.slice["detector"]: r for r in report.results if r.metric == "mention_rate" and r.system is None
    }
    assert rates["rule"].value == pytest.approx(0.5)
    assert rates[detector].value == pytest.approx(2 / 7)
    assert rates[detector].coverage == pytest.approx(7 / 8)
    effects = {r.slice["detector"] for r in report.results if r.metric == "mention_effect"}
    assert effects == {"rule", detector}
    assert not [r for r in report.results if r.rater == detector]
    worst = report.worst_coverage()
    assert worst is not None
    assert worst[0] == detector
