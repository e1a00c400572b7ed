"""The two studies: best of three, Easy pairs, votes on drawn pairs, tiers, balance, splits, and waiting for people."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from personafit import Store, UserError
from personafit.benchmarks import FolderBenchmark, check_folder
from personafit.build import Stopped
from personafit.build.studies.balance import RankedPair, Signs, right, signs
from personafit.label import simulate_votes
from personafit.people import Person
from personafit.reports.audit import audit_benchmark
from personafit.statistics.tiers import HELD_OUT
from tests.build.answers.building import MODELS, rows, write_config
from tests.build.builds import lines, run_build
from tests.helpers import results_of
from tests.scripted import invoke, write_lines

LANGUAGES = 'languages = ["en", "zh"]'
MEMORIES = "[memories]\nper_person = 3\nsampled = 2\nfeatures = 2\n"
SIMULATED = 'voters = "simulated"\npairs = 2'
RULES = ("length", "second-person", "markup", "name")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty people, sixty questions, both studies simulated; some questions are asked by several people."""
    folder = tmp_path_factory.mktemp("studies")
    questions = "specific = 3\ngeneral = 2\nsimilarity = 1.0"
    config = write_config(
        folder, studies=SIMULATED, people=20, questions=questions, build=LANGUAGES, more=MEMORIES
    )
    run_build(config, folder / "out")
    return folder / "out"


def test_both_studies_give_a_folder_that_is_right_and_says_that_nobody_voted(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_folder(built) == []
    gold = lines(built / "gold.jsonl")
    items = {row["id"]: row for row in lines(built / "items.jsonl")}
    assert {row["rater"] for row in gold} == {"majority(simulated raters)"}
    assert {row["extra"]["tier"] for row in gold} == {"easy", "medium", "hard"}
    answers = {row["id"]: row for row in rows(built, "answers")}
    for row in gold:
        item, label = items[row["item"]], int(row["label"])
        assert {"half", "category", "reject"} == set(item["slices"])
        chosen, rejected = answers[item["products"][label]], answers[item["products"][1 - label]]
        assert chosen["person"] == rejected["person"] == item["person"]
        assert 0.5 < row["extra"]["share"] <= 1 or row["extra"]["tier"] == "easy"
        assert sum(row["extra"]["votes"].values()) == 9
        if row["extra"]["tier"] == "easy":
            assert chosen["strategy"] in ("A1", "A2", "A3")
            assert rejected["strategy"] == {"generic": "A3"}.get(item["slices"]["reject"], "wrong-person")
            assert max(row["extra"]["votes"], key=row["extra"]["votes"].get) == chosen["strategy"]
        else:
            assert row["extra"]["votes"][row["label"]] > 4
    assert {row["slices"]["half"] for row in items.values()} == {"specific", "general"}
    votes = lines(built / "votes.jsonl")
    assert {row["rater"] for row in votes} == {f"simulated:rule-{number}" for number in range(1, 10)}
    voted = Counter(row["item"] for row in votes)
    assert voted == {name: 9 for name in items if name.startswith("pairs/")}
    card = (built / "card.md").read_text(encoding="utf-8")
    assert "**All votes are simulated.**" in card
    assert "simulated raters" in card
    monkeypatch.chdir(tmp_path)
    invoke(monkeypatch, tmp_path, "run", str(built), "--rater", "rule:overlap")
    found = [
        row for row in results_of(tmp_path) if row["metric"] == "accuracy" and row["rater"] == "rule:overlap"
    ]
    assert {row["slice"].get("tier") for row in found} >= {"easy", "medium", "hard", None}


def test_no_rule_tells_the_better_answer_and_the_card_says_what_the_audit_says(built: Path) -> None:
    audit = audit_benchmark(FolderBenchmark(built))
    card = (built / "card.md").read_text(encoding="utf-8").partition("## What simple rules score")[2]
    told = {cells[1].strip(): cells for line in card.splitlines() if len(cells := line.split("|")) > 7}
    for place, name in enumerate([*RULES, "overlap"], 3):
        for part, estimate in audit.rules[name].items():
            assert estimate.value is not None
            assert told[part][place].strip() == f"{100 * estimate.value:.1f} %"
            if name in RULES:
                assert 0.47 <= round(estimate.value, 9) <= 0.53
    used = Counter(product for row in lines(built / "items.jsonl") for product in row["products"])
    assert set(used.values()) == {1}, "how often an answer occurs tells nothing"
    orders = Counter(row["label"] for row in lines(built / "gold.jsonl"))
    assert min(orders.values()) > 0.3 * orders.total()


def test_splits_share_nobody(built: Path) -> None:
    splits = FolderBenchmark(built).info.splits
    assert {name: len(people) for name, people in splits.items()} == {"test": 16, "validation": 4}
    assert not set(splits["test"]) & set(splits["validation"])


def test_kappas_of_tiers_are_of_votes_that_did_not_choose_them(built: Path) -> None:
    found = {row["tier"]: row for row in rows(built, "tiers", "tiers")}
    assert found["medium"]["kappa"] > found["hard"]["kappa"], "of votes that did not choose the tier"
    assert found["hard"]["low"] < found["hard"]["kappa"] < found["hard"]["high"]
    assert HELD_OUT in (built / "card.md").read_text(encoding="utf-8")
    tiers = Counter(row["extra"]["tier"] for row in lines(built / "gold.jsonl"))
    assert {name: row["pairs"] for name, row in found.items()} == {name: tiers[name] for name in found}
    assert found["medium"]["least"] >= found["hard"]["least"]


def test_each_language_is_balanced_by_itself(built: Path) -> None:
    people = {one["id"]: Person.model_validate(one) for one in lines(built / "people.jsonl")}
    texts = {row["id"]: row["text"] for row in lines(built / "products.jsonl")}
    items = {row["id"]: row for row in lines(built / "items.jsonl")}
    said: dict[tuple[str, str], list[Signs]] = {}
    for row in lines(built / "gold.jsonl"):
        item, label = items[row["item"]], int(row["label"])
        better, worse = (texts[item["products"][place]] for place in (label, 1 - label))
        told = RankedPair(people[item["person"]], item["prompt"], better, worse)
        said.setdefault((people[item["person"]].language, row["extra"]["tier"]), []).append(signs(told))
    assert {language for language, _ in said} == {"en", "zh"}
    for pairs in said.values():
        for rule in range(len(RULES)):
            assert 0.47 <= round(right(sum(one[rule] for one in pairs), len(pairs)), 9) <= 0.53


def study_votes(folder: Path, raters: int, name: str) -> list[dict[str, Any]]:
    """What people said: eight of nine take the first answer, the ninth the last."""
    return [
        {
            "item": row["id"],
            "rater": f"r{number}",
            "label": "0" if number else "1",
            "kind": "human",
            "role": "item",
        }
        for row in lines(folder / "studies" / name / "items.jsonl")
        for number in range(raters)
    ]


def test_the_line_waits_for_people_and_goes_on_with_their_votes(tmp_path: Path, answered: Path) -> None:
    out = answered
    config = write_config(tmp_path, studies="validation = 0.25")
    with pytest.raises(
        Stopped, match=r"personafit label new truth --from .*studies/truth .*personafit label export truth"
    ):
        run_build(config, out)
    faults = check_folder(out / "studies" / "truth")
    assert len(faults) == 12
    assert all(fault.endswith("has no gold.") for fault in faults), "and nothing else is wrong with it"
    shown = lines(out / "studies" / "truth" / "products.jsonl")
    assert all(set(row) == {"id", "kind", "text"} for row in shown), "nothing says who made it or from what"
    write_lines(tmp_path / "truth.jsonl", study_votes(out, 9, "truth"))
    config = write_config(tmp_path, studies='validation = 0.25\nvotes = ["truth.jsonl"]')
    with pytest.raises(Stopped, match="The study 'pairs' waits for people's votes"):
        run_build(config, out)
    assert (out / "steps" / "truth" / "done.json").is_file()
    write_lines(tmp_path / "pairs.jsonl", study_votes(out, 9, "pairs"))
    config = write_config(tmp_path, studies='validation = 0.25\nvotes = ["truth.jsonl", "pairs.jsonl"]')
    assert run_build(config, out).done == ["truth", "tiers"]
    assert check_folder(out) == []
    assert {row["rater"] for row in lines(out / "gold.jsonl")} == {"majority(raters)"}
    assert "simulated raters" not in (out / "card.md").read_text(encoding="utf-8")
    truth = rows(out, "truth")
    assert len(truth) == 12
    assert all(row["share"] == 8 / 9 for row in truth)


def test_votes_of_people_who_could_not_tell_count_as_none(tmp_path: Path, answered: Path) -> None:
    out = answered
    with pytest.raises(Stopped):
        run_build(write_config(tmp_path, studies=""), out)
    for name, label in (("truth", "0"), ("pairs", None)):
        votes = [{**row, "label": label} for row in study_votes(out, 9, name)]
        write_lines(tmp_path / f"{name}.jsonl", votes)
        files = ", ".join(
            f'"{one}.jsonl"' for one in ("truth", "pairs") if (tmp_path / f"{one}.jsonl").is_file()
        )
        config = write_config(tmp_path, studies=f"balanced = false\nvotes = [{files}]")
        if name == "truth":
            with pytest.raises(Stopped):
                run_build(config, out)
    run_build(config, out)
    assert {row["extra"]["tier"] for row in lines(out / "gold.jsonl")} == {"easy"}
    assert {row["reason"] for row in rows(out, "tiers", "rejected")} == {"has no majority"}
    assert "No pair has two votes and a majority." in (out / "card.md").read_text(encoding="utf-8")
    write_lines(tmp_path / "truth.jsonl", [{**row, "label": None} for row in study_votes(out, 9, "truth")])
    with pytest.raises(UserError, match=r"pairs\.jsonl, line \d+.*these are votes of another build"):
        run_build(config, out)


def test_votes_that_do_not_fit_are_named_by_file_and_line(tmp_path: Path, answered: Path) -> None:
    out = answered
    with pytest.raises(Stopped):
        run_build(write_config(tmp_path, studies=""), out)
    good = study_votes(out, 3, "truth")
    config = write_config(tmp_path, studies='votes = ["truth.jsonl"]')
    for bad, sentence in (
        (
            {"item": "truth/x", "rater": "a", "label": "0"},
            r"truth.jsonl, line 1, .*item.*'truth/x' is not in",
        ),
        ({**good[0], "label": "3"}, r"line 1, .*label.*'3' is none of the 3 answers"),
        ({**good[0], "rater": ""}, r"line 1, .*rater.* is empty"),
        ({"rater": "a", "label": "0"}, r"line 1, .*item.* is missing"),
        ({**good[0]}, r"line 2 is a second vote of human:r0"),
    ):
        write_lines(tmp_path / "truth.jsonl", [bad, *good])
        with pytest.raises(UserError, match=sentence):
            run_build(config, out)
    write_lines(tmp_path / "truth.jsonl", good)
    with pytest.raises(Stopped, match=r"truth: 0 of 12 items have 9 votes, as raters in"):
        run_build(config, out)


def test_the_labelling_app_takes_the_study_and_the_line_takes_its_votes(
    tmp_path: Path, answered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, votes in (("truth", ""), ("pairs", '"truth-votes/votes.jsonl"')):
        config = write_config(tmp_path, studies=f"validation = 0\nvotes = [{votes}]")
        with pytest.raises(Stopped):
            run_build(config, answered)
        invoke(monkeypatch, tmp_path, "label", "new", name, "--from", f"out/studies/{name}", "--simulated")
        with Store(tmp_path / ".personafit" / "store.db") as store:
            simulate_votes(store, name)
        invoke(monkeypatch, tmp_path, "label", "export", name, "--out", f"{name}-votes", "--format", "jsonl")
    files = '"truth-votes/votes.jsonl", "pairs-votes/votes.jsonl"'
    run_build(write_config(tmp_path, studies=f"validation = 0\nvotes = [{files}]"), answered)
    assert check_folder(answered) == []
    assert {row["rater"] for row in lines(answered / "gold.jsonl")} == {"majority(simulated raters)"}
    assert all(row["rater"].startswith("simulated:") for row in rows(answered, "truth", "ballots"))


def test_answers_that_are_all_alike_end_the_line_with_a_sentence(tmp_path: Path, answered: Path) -> None:
    config = write_config(tmp_path, studies=SIMULATED, models=f'answerers = ["{MODELS}flat"]')
    with pytest.raises(UserError, match="no question has three different answers by one model"):
        run_build(config, answered)
    assert json.loads((answered / "steps" / "answers" / "done.json").read_text())["counts"]["answers"] > 12
