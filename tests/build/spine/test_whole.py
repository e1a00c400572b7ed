"""A build with every section, by scripted models: what each step makes can be followed back to where it comes from."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from personafit import Store
from personafit.benchmarks import check_folder
from personafit.build import estimate, read_config
from personafit.build.candidates import own_seeds
from personafit.build.line import STEPS
from personafit.build.questions.lists import examples
from personafit.models import Message
from personafit.store import tables as t
from tests.build.answers import models
from tests.build.answers.building import write_config
from tests.build.builds import lines, run_build
from tests.build.pairs import answerers
from tests.build.tasks import writers

SPEC = "python:tests.build.spine.test_whole:everything"
PAIRS = ("Here is somebody", "下面是一个人")
MORE = """
[memories]
per_person = 3
sampled = 2
features = 2
[tasks]
domains = [3, 3]
single = 1
multi = 1
[pairs]
per_person = 1
hard = 3
words = 30
similarity = 1.0
"""
RULES = ("template:", "rule:", "pool:")


def everything(messages: list[Message]) -> str:
    """The scripted models of all rooms in one."""
    asked = messages[1 if messages[0]["role"] == "system" else 0]["content"]
    if asked.startswith(PAIRS):
        return answerers.able(messages)
    if "\nNotes:\n" in asked or asked.startswith("A person wants this"):
        return writers.careful(messages)
    return models.able(messages)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All steps, in English."""
    folder = tmp_path_factory.mktemp("whole")
    config = write_config(
        folder,
        studies='voters = "simulated"\npairs = 2',
        people=4,
        questions="specific = 2\ngeneral = 1\nsimilarity = 1.0",
        more=MORE,
    )
    text = config.read_text(encoding="utf-8").replace(f"{models.__name__}:able", SPEC.removeprefix("python:"))
    config.write_text(text.replace("quota = 4", "quota = 4\ntraining = 3"), encoding="utf-8")
    run_build(config, folder / "out")
    return folder / "out"


def stored(out: Path) -> dict[str, dict[str, Any]]:
    """Every product of the build's store."""
    with Store(out / "build.db") as store:
        rows = [row._asdict() for page in store.stream(select(t.products), 500) for row in page]
    return {row["id"]: {**row, "parents": json.loads(row["parents"])} for row in rows}


def test_all_sections_make_one_folder_that_is_right(whole: Path) -> None:
    steps = {path.parent.name for path in whole.glob("steps/*/done.json")}
    assert len(steps) == sum(map(len, STEPS.values()))
    assert check_folder(whole) == []
    assert {row["kind"] for row in lines(whole / "products.jsonl")} >= {
        "profile",
        "question",
        "answer",
        "task",
    }


def test_every_product_says_who_made_it_and_from_what(whole: Path) -> None:
    makers = {row["fingerprint"]: row for row in lines(whole / "makers.jsonl")}
    people = {row["id"] for row in lines(whole / "people.jsonl")}
    people |= {row["id"] for row in lines(whole / "steps" / "people" / "training_people.jsonl")}
    everyone = {row["id"]: row for row in lines(whole / "steps" / "features" / "people.jsonl")}
    products = stored(whole)
    outside = people | {seed.id for seed in own_seeds()} | {one.id for one in examples()}
    outside |= {name for row in everyone.values() for name in row["facets"]}
    outside |= {one["id"] for row in everyone.values() for one in row["attributes"]}
    kinds = set()
    for row in [*products.values(), *lines(whole / "products.jsonl")]:
        kinds.add(row["kind"])
        if not row["maker"].startswith(RULES):
            maker = makers[row["maker"]]
            assert maker["model"] == SPEC
            assert maker["prompt"].rpartition("-")[2].isdigit(), "with its version"
            assert {"seed", "take", "step", "temperature", "prompt_fingerprint"} <= set(maker)
        parents = row.get("parents", [])
        assert parents, row
        for parent in parents:
            assert parent in products or parent in outside or "#" in parent, (row["kind"], parent)
        given = row.get("given")
        assert given is None or products[given]["kind"] == "context"
    assert kinds >= {
        "profile",
        "memory",
        "attribute",
        "question",
        "answer",
        "context",
        "summary",
        "task",
        "wish",
    }


def test_a_dry_run_says_calls_tokens_and_money_and_of_a_folder_what_is_left(whole: Path) -> None:
    path = whole.parent / "build.toml"
    text = path.read_text(encoding="utf-8")
    priced = path.with_name("priced.toml")
    priced.write_text(text.replace(SPEC, "openai:strong@http://127.0.0.1:9/v1,price=2/10"), encoding="utf-8")
    said = estimate(read_config(priced))
    # Seven people, 550 tokens in and 1 out each: 3,850 tokens at 2 and 7 at 10 USD a million.
    assert "people: screening by openai:strong@http://127.0.0.1:9/v1" in said
    assert "about 7 calls, 3,850 tokens in and 7 out, 0.01 USD" in said
    # Four of the people have tasks, over three domains each.
    assert "tasks: histories by" in said
    assert "about 12 calls, 4,200 tokens in and 2,040 out, 0.03 USD" in said
    assert "The budget of 0.05 USD does not last that long" in estimate(read_config(priced), budget=0.05)
    total = said.splitlines()[-1]
    assert total.startswith("In all about ")
    assert float(total.partition(" USD")[0].rpartition(" ")[2]) == pytest.approx(
        sum(
            float(line.partition(" USD.")[0].rpartition(" ")[2])
            for line in said.splitlines()[:-1]
            if "USD." in line
        ),
        abs=0.1,
    )
    config = read_config(path)
    foretold = int(estimate(config).splitlines()[-1].split()[3].replace(",", ""))
    with Store(whole / "build.db") as store:
        asked = sum(len(page) for page in store.stream(select(t.asks.c.id), 500))
    assert foretold == pytest.approx(asked, rel=0.1), "a model that does all that is asked needs no more"
    done = estimate(config, whole)
    assert done.count(": done before.") == len(done.splitlines()) - 1
    assert "In all about 0 calls, 0 tokens, 0.00 USD" in done
    config.build.takes["answers"] = 1
    again = estimate(config, whole)
    for name in ("answers", "truth", "tiers"):
        assert f"{name}: done before." not in again, "what is done anew, and what depends on it"
    for name in ("people", "questions", "pairs", "tasks"):
        assert f"{name}: done before." in again


def test_simulated_votes_are_said_to_be_so_in_the_folder_itself(whole: Path) -> None:
    assert "votes and gold are simulated too" in (whole / "benchmark.toml").read_text(encoding="utf-8")


def test_the_card_has_the_tables_of_the_paper_beside_ours(whole: Path) -> None:
    card = (whole / "card.md").read_text(encoding="utf-8")
    assert "specific 1,108, 1,667, 1,682; general 1,510, 1,321, 1,010; 8,298 in all" in card
    assert "| Recommendation Systems | 23.47% |" in card
