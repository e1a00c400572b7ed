"""Checkpoints are spared where writing them would eat the run, and only there."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers import Later, needs

pytestmark = needs("torch")
callbacks: Any = Later("personafit.train.reward.callbacks")


class Run:
    """A training run by a clock that the test sets: its steps, and writing that takes as long as it is told to."""

    def __init__(self, weights: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.kept = 1000.0, 0
        monkeypatch.setattr(
            "personafit.train.reward.callbacks.time", SimpleNamespace(monotonic=lambda: self.now)
        )
        self.callback = callbacks.SparingCheckpoints()
        self.args = SimpleNamespace(world_size=1)
        trained: Any = SimpleNamespace(numel=lambda: weights, requires_grad=True)
        frozen: Any = SimpleNamespace(numel=lambda: 10**12, requires_grad=False)
        model = SimpleNamespace(parameters=lambda: [trained, frozen])
        self.callback.on_train_begin(self.args, None, None, model=model)

    def step(self, seconds: float, evaluating: float = 0.0, writing: float = 0.0) -> bool:
        """Whether the step was kept, which is asked for at its end."""
        self.now += seconds
        control = SimpleNamespace(should_save=True)
        self.callback.on_step_end(self.args, None, control)
        self.now += evaluating
        if evaluating:
            self.callback.on_evaluate(self.args, None, control)
        if control.should_save:
            self.now += writing
            self.callback.on_save(self.args, None, control)
        kept: bool = control.should_save
        return kept


def test_a_small_model_is_kept_whenever_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(10**6, monkeypatch)
    assert [run.step(0.1, writing=0.5) for _ in range(4)] == [True] * 4


def test_a_large_one_is_kept_when_it_was_trained_for_ten_times_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(1_500_000_000, monkeypatch)  # 18 seconds by its size
    assert not run.step(100)
    assert run.step(80, writing=30)
    assert not run.step(290)
    assert run.step(10, writing=30)


def test_measuring_on_people_held_out_is_not_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(1_500_000_000, monkeypatch)
    assert run.step(200, evaluating=60, writing=5)
    assert run.step(50, writing=5)
