"""The example as it is written, on the embedded default: from people to tiers and a run, with everything that stands in marked."""

from pathlib import Path

import pytest

from personafit.factory.answers.texts import TEMPLATE
from tests.factory.answers.building import rows
from tests.factory.builds import lines
from tests.helpers import results_of, run_cli


@pytest.mark.slow
def test_the_example_builds_through_simulated_votes_to_tiers_and_a_run(tmp_path: Path) -> None:
    run_cli("build", "--example", cwd=tmp_path)
    run_cli("build", "build.toml", "--out", "made", cwd=tmp_path)
    out = tmp_path / "made"
    assert all(one["memories"] and one["attributes"] for one in lines(out / "people.jsonl"))
    gold = lines(out / "gold.jsonl")
    tiers = {row["extra"]["tier"] for row in gold}
    assert "easy" in tiers
    assert tiers & {"medium", "hard"}
    assert {row["rater"] for row in gold} == {"majority(simulated raters)"}
    assert all(row["rater"].startswith("simulated:") for row in lines(out / "votes.jsonl"))
    assert any(row["maker"] == TEMPLATE for row in rows(out, "answers")), "a small model cannot do it alone"
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "**All votes are simulated.**" in card
    assert f"({TEMPLATE}), which stands in" in card
    assert "nothing wrong" in run_cli("data", "check", "made", cwd=tmp_path).stdout
    run_cli("run", "made", "--rater", "rule:overlap", cwd=tmp_path)
    found = [
        row for row in results_of(tmp_path) if row["rater"] == "rule:overlap" and row["metric"] == "accuracy"
    ]
    assert {row["slice"].get("tier") for row in found} >= tiers
