"""From votes to a benchmark that `personafit run` takes, with people and models in one table."""

import json
from collections import Counter
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.benchmarks import check_folder
from personafit.label import Studies, disputes, import_votes, simulate_votes, write_benchmark
from personafit.label.adjudicating import decide
from personafit.label.gold import EASY_REJECTS, study_gold
from personafit.label.votes import study_votes
from tests.conftest import Command
from tests.label.served import new_study


@pytest.fixture(scope="module")
def voted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a study that nine simulated raters have finished."""
    store = tmp_path_factory.mktemp("voted") / "store.db"
    new_study(store, "nine", count=60, overlap=9, seats=9, simulated=True)
    with Store(store) as opened:
        assert simulate_votes(opened, "nine") == 9 * 60
        assert simulate_votes(opened, "nine") == 0, "who has finished is not asked again"
    return store


def test_gold_is_the_majority_and_tiers_come_from_construction_or_votes(voted: Path) -> None:
    with Store(voted) as opened:
        studies = Studies(opened)
        gold = study_gold(studies, "nine")
        items = {item.id: item for item in opened.items(studies.study("nine").dataset)}
    assert len(gold.rows) + len(gold.undecided) == 60
    assert gold.undecided == (), "nine raters on pairs have a majority"
    for row in gold.rows:
        assert row.extra is not None
        votes = row.extra["votes"]
        assert sum(votes.values()) == 9
        assert votes[row.label] == max(votes.values())
        assert row.extra["share"] == pytest.approx(max(votes.values()) / 9)
        constructed = items[row.item].slices["reject"] in ("generic", "wrong-person")
        assert (row.extra.get("tier") == "easy") == constructed
    assert gold.sizes["easy"] > 0
    assert gold.tiers is not None
    assert gold.tiers.medium or gold.tiers.hard or gold.tiers.warnings


def test_the_same_commands_give_the_same_simulated_votes_and_another_seed_gives_others(
    tmp_path: Path,
) -> None:
    def votes(store: str, seed: int) -> list[tuple[object, ...]]:
        new_study(tmp_path / store, "dry", count=10, overlap=3, seats=4, simulated=True, seed=seed)
        with Store(tmp_path / store) as opened:
            simulate_votes(opened, "dry")
            given = study_votes(Studies(opened), "dry")
        return given.select("item", "question", "rater", "order", "label").rows()

    first = votes("one.db", 0)
    assert len(first) == 30
    assert votes("two.db", 0) == first
    assert votes("three.db", 1) != first


def test_pseudonyms_of_people_are_drawn_anew(tmp_path: Path) -> None:
    codes = set()
    for store in ("one.db", "two.db"):
        new_study(tmp_path / store, "pilot")
        with Store(tmp_path / store) as opened:
            codes |= {seat.code for seat in Studies(opened).seats("pilot")}
    assert len(codes) == 4


def test_the_folder_runs_and_people_and_models_stand_in_one_table(
    personafit: Command, voted: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "nine"
    with Store(voted) as opened:
        write_benchmark(opened, "nine", folder)
    assert check_folder(folder) == []
    card = (folder / "card.md").read_text()
    assert "All votes are simulated" in card
    votes = [json.loads(line) for line in (folder / "votes.jsonl").read_text().splitlines()]
    assert len(votes) == 540
    assert all(vote["rater"].startswith("simulated:r-") for vote in votes)
    done = personafit("run", "nine", "--rater", "rule:overlap", "--json")
    rows = [
        row for row in json.loads(done.out)["results"] if row["metric"] == "accuracy" and not row["slice"]
    ]
    overlap = next(row for row in rows if row["rater"] == "rule:overlap" and row["context"] == "profile")
    assert overlap["value"] > 0.6, "the simulated raters follow overlap, with a taste of their own"
    agreed = json.loads(personafit("agree", "nine", "--json").out)
    text = json.dumps(agreed)
    assert "simulated:r-" in text
    assert "rule:overlap" in text


def test_nothing_is_written_over_and_no_votes_is_said(voted: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with Store(voted) as opened, pytest.raises(UserError, match="not empty"):
        write_benchmark(opened, "nine", tmp_path / "there")
    new_study(tmp_path / "empty.db")
    with Store(tmp_path / "empty.db") as opened:
        with pytest.raises(UserError, match="no votes yet"):
            study_gold(Studies(opened), "pilot")
        with pytest.raises(UserError, match="study of people"):
            simulate_votes(opened, "pilot")


def test_a_decision_is_gold_whether_votes_were_tied_or_not(personafit: Command, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, "pair", count=4, overlap=3, seats=3)
    with Store(store) as opened:
        studies = Studies(opened)
        rejects = {item.id: item.slices.get("reject") for item in opened.items(studies.study("pair").dataset)}
        items = [page.id for page in studies.pages("pair")]
        items.sort(
            key=lambda item: rejects[item] in EASY_REJECTS
        )  # the tied one is in a tier by construction
        said = {"ana": "1111", "ben": "1100", "cleo": "1-0-"}
        rows = [
            {"item": item, "rater": rater, "label": label}
            for rater, labels in said.items()
            for item, label in zip(items, labels, strict=True)
            if label != "-"
        ]
        (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        import_votes(studies, "pair", tmp_path / "votes.jsonl")
        before = study_gold(studies, "pair")
        assert before.undecided == (items[3],)
        tiers = Counter(row.extra["tier"] for row in before.rows if row.extra and "tier" in row.extra)
        assert before.sizes == tiers, "an item without gold is in no tier"
        decided = {items[2]: "1", items[3]: "1"}  # against the majority, and where there is none
        for dispute in disputes(studies, "pair"):
            decide(studies, "pair", dispute.key, decided[dispute.field.item])
        gold = write_benchmark(opened, "pair", tmp_path / "folder")
    assert gold.undecided == ()
    rows = [json.loads(line) for line in (tmp_path / "folder" / "gold.jsonl").read_text().splitlines()]
    majority, adjudicated = (
        {row["item"]: row["label"] for row in rows if row["rater"] == rater}
        for rater in ("majority(pair)", "adjudicated")
    )
    assert majority == dict(zip(items[:3], "110", strict=True))
    assert adjudicated == dict.fromkeys(items, "1")
    done = personafit("run", "folder", "--rater", "rule:length", "--context", "profile", "--json")
    results = json.loads(done.out)["results"]
    assert {row["n"] for row in results if row["metric"] == "accuracy" and not row["slice"]} == {4}
    assert "but for what was adjudicated" in (tmp_path / "folder" / "card.md").read_text()


def test_a_form_that_is_no_benchmark_s_is_said(tmp_path: Path) -> None:
    new_study(tmp_path / "store.db", question="grade", count=2, simulated=True)
    with Store(tmp_path / "store.db") as opened:
        simulate_votes(opened, "pilot")
        with pytest.raises(
            UserError, match="pilot asks grade, and gold is made of fit, relevance, preference"
        ):
            write_benchmark(opened, "pilot", tmp_path / "folder")
