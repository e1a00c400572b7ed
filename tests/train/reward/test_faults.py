"""What ends a run from outside: a disk that is full and memory that runs out, on which nothing is lost."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.train import RewardSettings, train_reward
from personafit.train.reward.folder import STATE, explained
from personafit.train.reward.weights import save_weights
from tests.helpers import Later, needs
from tests.tiny_models import save_tiny
from tests.train.reward.test_train_cli import digest, write_pairs

pytestmark = needs("torch")
torch: Any = Later("torch")


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to write longer files, as a full disk would."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def settings(folder: Path, out: Path) -> RewardSettings:
    return RewardSettings(
        str(folder / "base"), folder / "pairs.jsonl", out, batch=8, rate=1e-3, epochs=1.0, held_out=0.25
    )


@pytest.fixture
def world(tmp_path: Path) -> Path:
    save_tiny(tmp_path / "base")
    write_pairs(tmp_path / "pairs.jsonl")
    return tmp_path


@pytest.mark.parametrize("size", [120_000, 200_000])  # too little for the weights, and for the optimiser's
@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_the_same_command_goes_on(world: Path, size: int) -> None:
    out = world / "out"
    with files_of_at_most(size), pytest.raises(UserError, match="make room, and the same command") as full:
        train_reward(settings(world, out), lambda _: None)
    assert full.value.code == 1
    assert str(out) in str(full.value)
    assert list(out.glob("checkpoints/checkpoint-*")) == []  # what was cut short gives its room back
    train_reward(settings(world, out), lambda _: None)
    train_reward(settings(world, world / "whole"), lambda _: None)
    assert digest(out) == digest(world / "whole")


def test_a_result_that_does_not_fit_is_written_by_the_same_command(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = world / "out"

    def on_a_full_disk(*asked: Any) -> None:
        with files_of_at_most(100_000):
            save_weights(*asked)

    monkeypatch.setattr("personafit.train.reward.training.save_weights", on_a_full_disk)
    with pytest.raises(UserError, match="the same command goes on from the last whole checkpoint"):
        train_reward(settings(world, out), lambda _: None)
    monkeypatch.undo()
    said: list[str] = []
    trained = train_reward(settings(world, out), said.append)
    assert any(line.startswith("Going on from") for line in said)
    assert trained.facts["steps"] == 3


def test_memory_for_the_optimiser_is_a_sentence(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_, **__: torch.empty(10**14))
    with pytest.raises(UserError, match="Memory ran out for the weights") as ended:
        train_reward(settings(world, world / "out"), lambda _: None)
    assert ended.value.code == 1


def test_what_is_neither_stays_what_it_is(tmp_path: Path) -> None:
    half = tmp_path / "checkpoint-1"
    half.mkdir()
    for error in (RuntimeError("a bug"), OSError(2, "no such file")):
        with pytest.raises(type(error), match=str(error.args[-1])), explained(tmp_path, tmp_path):
            raise error
    assert half.exists()
    whole = tmp_path / "checkpoint-2"
    whole.mkdir()
    (whole / STATE).write_text("{}")
    with pytest.raises(UserError), explained(tmp_path, tmp_path):
        raise OSError(28, "No space left on device")
    assert [half.exists(), whole.exists()] == [False, True]
