"""The example as it is written, with the embedded model as its checker: from people to tiers and a run, what templates wrote marked."""

from pathlib import Path

import pytest

from tests.build.answers.building import rows
from tests.build.builds import lines
from tests.conftest import Command
from tests.helpers import results_of, run_cli

TEMPLATE = "template:answers-1"


@pytest.mark.slow
def test_the_example_builds_through_simulated_votes_to_tiers_and_a_run(
    tmp_path: Path, personafit: Command
) -> None:
    personafit("build", "--example")
    run_cli("build", "build.toml", "--out", "made", cwd=tmp_path)
    out = tmp_path / "made"
    assert all(one["memories"] and one["attributes"] for one in lines(out / "people.jsonl"))
    gold = lines(out / "gold.jsonl")
    tiers = {row["extra"]["tier"] for row in gold}
    assert "easy" in tiers
    assert tiers & {"medium", "hard"}
    assert {row["rater"] for row in gold} == {"majority(simulated raters)"}
    assert all(row["rater"].startswith("simulated:") for row in lines(out / "votes.jsonl"))
    assert {row["maker"] for row in rows(out, "answers")} == {TEMPLATE}
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "**All votes are simulated.**" in card
    assert f"| answer | {TEMPLATE} |" in card
    assert "nothing wrong" in personafit("data", "check", "made").out
    personafit("run", "made", "--rater", "rule:overlap")
    found = [
        row for row in results_of(tmp_path) if row["rater"] == "rule:overlap" and row["metric"] == "accuracy"
    ]
    assert {row["slice"].get("tier") for row in found} >= tiers
