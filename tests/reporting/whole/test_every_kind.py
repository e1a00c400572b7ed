"""Runs of every kind, a study, an audit, extraction and training in one report: each has its chapter, and all of it stands in order."""

import json
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from personafit._errors import UserError
from personafit.cli.train_reward import reward
from personafit.reporting.audit.records import field_groups, parts, shortcuts, subsets
from personafit.reporting.whole.audits import audit_words, read_audit
from personafit.reporting.whole.curves import read_training
from personafit.reporting.whole.remade import training_command
from personafit.store import Store
from personafit.training.reward.settings import Mix, RewardSettings
from tests.benchmarks.recentering.world import rows, write_world
from tests.reporting.stages.test_stages_measure import stages_folder
from tests.reporting.test_html import browser
from tests.reporting.whole.test_whole_page import PAGE
from tests.scripted import invoke

pytest.importorskip("axe_playwright_python", reason="axe is not installed: accessibility is NOT tested")

__all__ = ["browser"]  # the fixture of the report's own tests

HEADS = """
def heads(person, question, answers):
    return [
        {"helpfulness": min(4, len(one) / 200), "correctness": len(one) % 5, "coherence": 4 - one.count(".") % 5,
         "complexity": min(4, len(one.split()) / 60), "verbosity": min(4, len(one) / 400)}
        for one in answers
    ]
"""
SETTINGS = {
    "base": "some/base",
    "data": "my pairs.jsonl",
    "preset": "helpsteer",
    "mix": ["general.jsonl", 0.36],
    "lora": True,
    "adapter": False,
    "pack": "sequence",
    "epochs": 2.0,
    "batch": 16,
    "rate": 3e-05,
    "max_tokens": 1024,
    "seed": 7,
    "limit": None,
    "held_out": 0.2,
}
THERE = {
    *(
        "headline",
        "comparison",
        "views",
        "tiers",
        "controls",
        "audit",
        "people",
        "agreement",
        "bias",
        "aspects",
    ),
    *(
        "shortfalls",
        "relevance",
        "preference",
        "hostile",
        "stages",
        "training",
        "failures",
        "items",
        "instrument",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All parts, made by their own commands, and the report of them; before the browser, whose driver keeps a loop running."""
    folder = tmp_path_factory.mktemp("every")
    (folder / "heads_of_all.py").write_text(HEADS)
    write_world(folder / "labels", rows())
    stages_folder(folder / "extracted")
    (folder / "reward").mkdir()
    (folder / "reward" / "curves.csv").write_text(
        "step,eval_accuracy,eval_loss,loss\n1,,,0.7\n2,0.75,0.6,0.5\n"
    )
    (folder / "reward" / "started.json").write_text(json.dumps(SETTINGS))
    with pytest.MonkeyPatch.context() as patch:

        def go(*arguments: str) -> None:
            invoke(patch, folder, *arguments)

        go("run", "starter", "--rater", "aspects:python:heads_of_all:heads", "--limit", "60")
        go("run", "recentering", "--data", "labels", "--rater", "rule:bm25")
        go("run", "responses", "--data", "starter", "--rater", "rule:length")
        go("run", "injection", "--rater", "rule:length", "--limit", "6")
        go(
            "label",
            "new",
            "panel",
            "--from",
            "starter",
            "--question",
            "fit",
            "--limit",
            "30",
            "--overlap",
            "3",
            "--simulated",
        )
        go("label", "simulate", "panel")
        go("audit", "starter", "--out", "audit")
        go("extraction", "measure", "extracted", "--out", "measured")
        with Store(folder / ".personafit" / "store.db") as store:
            runs = [run.name for run in store.runs() if "raters" in run.config]
        go(
            "report",
            *runs,
            "panel",
            "audit",
            "measured",
            "reward",
            "--whole",
            "all.html",
            "--tables",
            "tables",
        )
    return folder


@pytest.fixture
def page(folder: Path, browser: Any) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened.goto((folder / "all.html").as_uri())
    yield opened
    opened.close()


@pytest.mark.slow
def test_every_part_has_its_chapter_and_says_how_to_make_it_again(page: Any) -> None:
    ids = set(page.locator("main > section").evaluate_all("all => all.map(one => one.id)"))
    assert ids >= THERE
    text = page.locator("#instrument").text_content()
    for command in (
        "audit starter --out audit",
        "extraction measure extracted --out measured",
        "run responses",
    ):
        assert f"personafit {command}" in text
    assert "personafit train reward --base some/base --data 'my pairs.jsonl' --preset helpsteer" in text
    assert (
        page.locator("#people .warning").text_content().startswith("The raters of this study are simulated")
    )
    assert "3 raters gave 90 answers on 30 pages" in page.locator("#people").text_content()
    assert page.locator("#audit tbody th", has_text="contradictory gold").count() == 1
    assert "checks of starter fail" in page.locator("#headline").text_content()
    assert "Kappa of every two raters" in page.locator("#agreement").text_content()


@pytest.mark.slow
def test_people_stand_above_the_raters_of_the_run_in_the_tiers(page: Any) -> None:
    table = page.locator("#tiers table", has_text="the majority of the others")
    names = table.locator("tbody th .name").all_text_contents()
    assert names[0] == "one simulated person (panel)"
    assert sorted(names[1:]) == ["aspects:python:heads_of_all:heads", "rule:length", "rule:overlap"]
    headings = [text.strip() for text in table.locator("thead button").all_text_contents()]
    assert headings == ["who", "against", "all", "easy", "medium", "hard"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(page: Any, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page.emulate_media(color_scheme=scheme)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found] == []
    levels = page.locator("h1, h2, h3, h4, h5").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_on_paper_folded_parts_are_open_and_figures_fit_the_page(page: Any) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#instrument details.rater .facts").first.is_visible()
    tallest = page.locator(".plot svg").evaluate_all("all => Math.max(...all.map(one => one.clientHeight))")
    assert 0 < tallest <= PAGE


@pytest.mark.slow
def test_an_audit_is_read_back_as_it_was_made(folder: Path) -> None:
    one = read_audit(folder / "audit" / "audit.json")
    assert parts(one.results) == ["all", "easy", "medium", "hard"]
    body = json.loads((folder / "audit" / "audit.json").read_text())
    value = next(
        row["value"] for row in body["results"] if row["rater"] == "rule:length" and not row["slice"]
    )
    assert shortcuts(one.results)["length"]["all"].value == value
    assert set(subsets(one.results)) == {"length-matched", "shorter wins", "every shortcut wrong"}
    only, without = field_groups(one.results)["Demographics"]
    assert (only.slice, without.slice) == ({"fields": "Demographics"}, {"fields": "all but Demographics"})
    counted, *worst = audit_words(one)
    graded = [verdict["grade"] for verdict in body["verdicts"]]
    assert counted.startswith(f"{graded.count('fails')} of {len(graded)} checks of starter fail")
    assert len(worst) == graded.count("fails") + graded.count("warns")
    (folder / "half.json").write_text('{"benchmark": "starter", "verdicts": [{}]}')
    with pytest.raises(UserError, match=r"half\.json cannot be read"):
        read_audit(folder / "half.json")


@pytest.mark.parametrize(
    "settings", [SETTINGS, RewardSettings("b", Path("d"), Path("o"), mix=Mix(Path("g"), None)).as_dict()]
)
def test_the_command_of_a_training_asks_for_the_same_again(tmp_path: Path, settings: dict[str, Any]) -> None:
    (tmp_path / "curves.csv").write_text("step,loss\n1,0.7\n")
    (tmp_path / "started.json").write_text(json.dumps(settings | {"pairs": "0123", "processes": 1}))
    command = training_command(read_training(tmp_path))
    assert command is not None
    app = typer.Typer()
    app.command()(reward)
    words = shlex.split(command)
    assert words[:3] == ["personafit", "train", "reward"]
    asked = typer.main.get_command(app).make_context("reward", words[3:]).params
    wanted = dict(settings)
    mix = wanted.pop("mix")
    assert asked["mix"] == (mix[0] if mix[1] is None else f"{mix[0]}={mix[1]}")
    assert {name: str(asked[name]) for name in wanted} == {name: str(value) for name, value in wanted.items()}
    assert asked["out"] == tmp_path
