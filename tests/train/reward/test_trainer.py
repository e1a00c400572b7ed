"""The trainer: the same loss curve as TRL's and for every layout; a person that matters; faults that lose nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit.models.reward import Layout
from personafit.models.reward.rendering import PromptRenderer
from personafit.train import PreferencePair
from personafit.train.reward.tokens import tokenise
from tests.helpers import Later, needs
from tests.tiny_models import tiny_model, tiny_tokenizer, trees

pytestmark = needs("torch")
torch: Any = Later("torch")
scoring: Any = Later("personafit.models.reward.scoring")
training: Any = Later("personafit.train.reward.trainer")
STEPS = 5  # the last one sees the first batch again


def token_pairs(people: int = 4, questions: int = 4) -> list[dict[str, Any]]:
    sequences = trees(people, questions)
    return [
        {"chosen_ids": chosen, "rejected_ids": rejected}
        for chosen, rejected in zip(sequences[0::2], sequences[1::2], strict=True)
    ]


def common_settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": 4,
        "max_steps": STEPS,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "seed": 0,
        "disable_tqdm": True,
        **more,
    }


def trained(scorer: Any, data: Sequence[Any], folder: Path, **more: Any) -> Any:
    from transformers import TrainingArguments

    own = {name: more.pop(name) for name in ("largest", "shrunk") if name in more}
    arguments = TrainingArguments(**common_settings(folder, **more), remove_unused_columns=False)
    trainer = training.PairTrainer(scorer, args=arguments, train_dataset=data, **own)
    trainer.train()
    return trainer


def losses(trainer: Any) -> list[float]:
    return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The loss curve that the others are compared with."""
    folder = tmp_path_factory.mktemp("tree")
    return losses(trained(scoring.RewardScorer(tiny_model(), "tree", 4000), token_pairs(), folder))


@pytest.mark.parametrize(("layout", "capacity"), [("tree", 120), ("sequence", 4000), ("none", 4000)])
def test_every_layout_has_the_same_loss_curve(
    layout: Layout, capacity: int, tree: list[float], tmp_path: Path
) -> None:
    other = losses(trained(scoring.RewardScorer(tiny_model(), layout, capacity), token_pairs(), tmp_path))
    assert np.abs(np.subtract(tree, other)).max() < 1e-4
    assert tree[-1] < tree[0]


def test_the_loss_curve_is_that_of_trl(tree: list[float], tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="trl is not installed: the loss curve is NOT compared with its own")
    from datasets import Dataset
    from trl import RewardConfig, RewardTrainer

    class InOrder(RewardTrainer):
        def _get_train_sampler(self, *_: Any) -> Any:
            return torch.utils.data.SequentialSampler(self.train_dataset)

    settings = common_settings(tmp_path, bf16=False, gradient_checkpointing=False, max_length=None)
    theirs = InOrder(
        model=tiny_model(),
        args=RewardConfig(**settings),
        train_dataset=Dataset.from_list(token_pairs()),
        processing_class=tiny_tokenizer(),
    )
    theirs.train()
    assert len(tree) == STEPS
    assert np.abs(np.subtract(tree, losses(theirs))).max() < 1e-4


def test_the_peer_of_machines_without_trl_has_the_same_loss_curve(tree: list[float], tmp_path: Path) -> None:
    from speed.gpu.training import PaddedTrainer, in_order
    from transformers import TrainingArguments

    arguments = TrainingArguments(**common_settings(tmp_path), remove_unused_columns=False)
    peer = in_order(PaddedTrainer)(model=tiny_model(), args=arguments, train_dataset=token_pairs())
    peer.train()
    assert np.abs(np.subtract(tree, losses(peer))).max() < 1e-4


def test_checkpointed_gradients_are_the_same(tree: list[float], tmp_path: Path) -> None:
    settings = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
    saved = losses(
        trained(scoring.RewardScorer(tiny_model(), "tree", 4000), token_pairs(), tmp_path, **settings)
    )
    assert np.abs(np.subtract(tree, saved)).max() < 1e-6


def test_an_overfitted_model_flips_when_the_person_is_swapped(tmp_path: Path) -> None:
    renderer = PromptRenderer(tiny_tokenizer())
    likes = {"a": ("tea", "ski"), "b": ("ski", "tea")}
    pairs = [
        PreferencePair(name, {"Likes": liked}, f"What {question}?", f"Go for {liked}", f"Go for {other}")
        for name, (liked, other) in likes.items()
        for question in ("now", "next", "then", "first")
    ]
    swapped = [
        PreferencePair(p.person, {"Likes": likes[p.person][1]}, p.question, p.chosen, p.rejected)
        for p in pairs
    ]
    data = tokenise(pairs, renderer, []).tokens
    trainer = trained(
        scoring.RewardScorer(tiny_model(), "tree"),
        data,
        tmp_path,
        max_steps=40,
        per_device_train_batch_size=8,
    )
    assert (trainer.margins(data) > 0).all()
    assert (trainer.margins(tokenise(swapped, renderer, []).tokens) < 0).all()


def test_margins_ask_for_a_larger_lead(tmp_path: Path) -> None:
    data = token_pairs()
    wider = [{**pair, "margin": 2.0} for pair in data]
    plain, wide = (
        losses(trained(scoring.RewardScorer(tiny_model(), "tree"), given, tmp_path, max_steps=1))
        for given in (data, wider)
    )
    scores = scoring.RewardScorer(tiny_model(), "tree").scores(
        [pair[side] for pair in data[:4] for side in ("chosen_ids", "rejected_ids")]
    )
    leads = scores[0::2] - scores[1::2]
    assert plain[0] == pytest.approx(np.logaddexp(0, -leads).mean(), abs=1e-4)
    assert wide[0] == pytest.approx(np.logaddexp(0, 2 - leads).mean(), abs=1e-4)


def no_device_memory() -> None:
    raise torch.OutOfMemoryError("no memory left")


def no_memory() -> None:
    torch.empty(10**14)


@pytest.mark.parametrize("fail", [no_device_memory, no_memory])
def test_memory_that_runs_out_halves_the_rows_and_the_curve_stays(
    tmp_path: Path, tree: list[float], fail: Callable[[], None]
) -> None:
    class Cramped(scoring.RewardScorer):
        """A device on which longer rows do not fit."""

        def inputs(self, row: Any) -> Any:
            if len(row) > 110:
                fail()
            return super().inputs(row)

    scorer = Cramped(tiny_model(), "tree", 400)
    said: list[str] = []
    kept: list[int] = []
    scorer.say = said.append
    found = losses(trained(scorer, token_pairs(), tmp_path, largest=70, shrunk=kept.append))
    assert kept == [200, 100]
    assert said[0] == "Memory ran out; going on with rows of 200 tokens instead of 400."
    assert np.abs(np.subtract(found, tree)).max() < 1e-4
    with pytest.raises(UserError, match="the longest needs 300"):
        trained(Cramped(tiny_model(), "tree", 400), token_pairs(), tmp_path, largest=300)


def test_a_loss_that_is_no_number_stops_with_a_sentence(tmp_path: Path) -> None:
    model = tiny_model()
    with torch.no_grad():
        model.score.weight.fill_(float("nan"))
    with pytest.raises(UserError, match="The loss of step 1 is not a finite number"):
        trained(scoring.RewardScorer(model, "tree"), token_pairs(), tmp_path)
    model = tiny_model()
    model.score.weight.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(UserError, match="The gradient of step 1 is not a finite number"):
        trained(scoring.RewardScorer(model, "tree"), token_pairs(), tmp_path)
    assert torch.isfinite(model.score.weight).all()


def test_pairs_that_cannot_be_used_are_said() -> None:
    facets = {f"Likes.{number}": "something or other" for number in range(20)}
    pairs = [
        PreferencePair("a", facets, "What now?", "Tea.", "Coffee.", place="line 1"),
        PreferencePair("a", facets, "What now?", "Tea. " * 100, "Coffee.", place="line 2"),
        PreferencePair("a", facets, "What now?", "Tea.", "Tea.", place="line 3"),
        PreferencePair("b", {"About": "words " * 100}, "What now?", "Tea.", "Coffee.", place="line 4"),
    ]
    notes: list[str] = []
    found = tokenise(pairs, PromptRenderer(tiny_tokenizer(), 300), notes)
    assert [pair.place for pair in found.pairs] == ["line 1", "line 4"]
    assert "the first at line 2: question and answer alone are longer than 300 tokens" in notes[0]
    assert "the first at line 3: to this tokenizer both answers are the same" in notes[1]
    assert "were left out of them, the last ones first (the first such pair: line 1)" in notes[2]
    assert (
        "no answer was shortened. Nothing of the person is left in 1 of them, the first at line 4" in notes[2]
    )


def test_two_beginnings_stop_with_a_sentence() -> None:
    twice = tiny_tokenizer("{{ bos_token }}{{ bos_token }}{{ messages[0]['content'] }}", bos="<bos>")
    with pytest.raises(UserError, match=r"line 1: .*two beginnings of sequence"):
        tokenise([PreferencePair("a", {"A": "b"}, "q", "c", "d", place="line 1")], PromptRenderer(twice), [])
