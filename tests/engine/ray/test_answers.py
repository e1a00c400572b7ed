"""What a system under test answers, made by a Ray Data pipeline: the same as locally."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.engine.ray import place, working_on
from personafit.engine.ray.pipeline import pipeline
from tests.engine.ray.test_dialogues import said
from tests.faults.world import write_benchmark
from tests.raters.reward.tiny import save_chat
from tests.scripted import run
from tests.tiny_models import save_tiny_gguf

QUESTIONS = 8
ANSWERS = 3 * QUESTIONS  # told of the person, of nobody, of somebody else


@pytest.mark.slow
def test_the_same_answers_as_locally(
    cluster: Any, second_node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_benchmark(tmp_path / "world", QUESTIONS)
    config = RunConfig(
        "answers",
        data=tmp_path / "world",
        systems=[f"embedded:{save_tiny_gguf(tmp_path / 'tiny.gguf')},cache=off,threads=1"],
        raters=["rule:length"],
        contexts=["profile"],
    )
    with Store(tmp_path / "local.db") as store:
        run(store, config)
        expected = said(store)
    handed: list[int] = []

    def counted(jobs: Sequence[Any], *more: Any) -> Any:
        handed.append(len(jobs))
        return pipeline(jobs, *more)

    monkeypatch.setattr(place, "pipeline", counted)
    with Store(tmp_path / "ray.db") as store, working_on(f"ray://{cluster.address}"):
        run(store, config)
        found = said(store)
    assert handed == [ANSWERS]
    assert found == expected
    assert len([row for row in found if row[2] == "answer" and row[4]]) == ANSWERS


@pytest.mark.slow
def test_a_model_whose_weights_are_gone_stops_its_lane(
    cluster: Any, second_node: Any, tmp_path: Path
) -> None:
    write_benchmark(tmp_path / "world", QUESTIONS)
    chat = save_chat(tmp_path / "chat")
    config = RunConfig(
        "answers",
        data=tmp_path / "world",
        systems=[f"hf:{chat}"],
        raters=["rule:length"],
        contexts=["profile"],
    )
    (chat / "model.safetensors").unlink()
    with Store(tmp_path / "ray.db") as store, working_on(f"ray://{cluster.address}"):
        lane = run(store, config).summary.lanes[0]
        assert lane.unusable
        assert "the weights cannot be loaded" in str(lane.stopped)
        assert not [row for row in said(store) if row[2] == "answer"]
