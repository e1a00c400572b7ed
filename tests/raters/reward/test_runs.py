"""Whole runs with a tiny reward model: views, controls, resuming."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from personafit import Status, Store
from personafit.benchmarks import RunConfig
from personafit.raters.reward import local
from personafit.reports.run_report import open_report
from personafit.store import run_answers
from personafit.store import tables as t
from tests.raters.reward.tiny import save_reward
from tests.scripted import run


def test_a_run_and_its_resumption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"reward:{save_reward(tmp_path / 'model')}"
    scored = []
    scores = local.Engine.scores

    def counting(self: Any, sequences: Any) -> list[float]:
        scored.append(len(sequences))
        return scores(self, sequences)

    monkeypatch.setattr(local.Engine, "scores", counting)
    with Store(tmp_path / "store.db") as store:
        few = run(store, RunConfig("starter", raters=[spec], limit=8))
        assert sum(scored) == 8 * 3 * 2
        answers = run_answers(store, few.run.id).filter(pl_rater(store, few.run.id, spec))
        assert len(answers) == 24
        assert set(answers["status"]) == {Status.OK}
        contexts = answers.pivot("context", index="item", values="value").drop("item")
        assert all(len(set(row)) == 3 for row in contexts.iter_rows())
        again = run(store, RunConfig("starter", raters=[spec], limit=8))
        assert again.run.name == few.run.name
        assert sum(scored) == 8 * 3 * 2
        results = [r for r in open_report(store, again.run).results if r.rater == spec and not r.slice]
        assert {r.coverage for r in results if r.metric == "accuracy"} == {1.0}


def test_a_broken_model_stops_its_lane_alone(tmp_path: Path) -> None:
    folder = save_reward(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    with Store(tmp_path / "store.db") as store:
        finished = run(store, RunConfig("starter", raters=[f"reward:{folder}"], limit=4))
    lanes = {lane.name: lane for lane in finished.summary.lanes}
    assert lanes[f"reward:{folder}"].unusable
    assert "the weights cannot be loaded" in (lanes[f"reward:{folder}"].stopped or "")
    assert lanes["rule:length"].finished == 12


def pl_rater(store: Store, run_id: int, name: str) -> Any:
    """The rows of one rater."""
    import polars as pl

    query = select(t.raters.c.fingerprint).where(t.raters.c.name == name)
    (fingerprint,) = store.frame(query)["fingerprint"]
    return pl.col("rater") == fingerprint
