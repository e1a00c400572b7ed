"""Training with trees against TRL's RewardTrainer: the same pairs in the same batches of whole people, the same settings.

Where TRL is not installed, its step on transformers' own trainer stands in for it: both answers of all pairs of a batch, padded.
"""

import time
from importlib.util import find_spec
from typing import Any

import torch
from torch.nn.functional import logsigmoid
from torch.nn.utils.rnn import pad_sequence
from transformers import Trainer

from personafit.models.reward.scoring import RewardScorer
from personafit.train.reward.trainer import PairTrainer
from speed.gpu.workload import reward_model, work

STEPS = 100
WARM = 10


class Clock:
    """Takes the time at each step, after waiting for the GPU."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.losses: list[float] = []

    def callback(self) -> Any:
        from transformers import TrainerCallback

        clock = self

        class Callback(TrainerCallback):
            def on_step_end(self, *_: Any, **__: Any) -> None:
                torch.cuda.synchronize()
                clock.at.append(time.perf_counter())

            def on_log(self, _args: Any, _state: Any, _control: Any, logs: Any = None, **__: Any) -> None:
                if logs and "loss" in logs:
                    clock.losses.append(float(logs["loss"]))

        return Callback()

    def seconds_per_step(self) -> float:
        gaps = sorted(b - a for a, b in zip(self.at[WARM:-1], self.at[WARM + 1 :], strict=True))
        return gaps[len(gaps) // 2]


def in_order(trainer: Any) -> Any:
    """The trainer with its batches in the order of the data, so that both see the same ones."""

    class InOrder(trainer):
        def _get_train_sampler(self, *_: Any) -> Any:
            return torch.utils.data.SequentialSampler(self.train_dataset)

    return InOrder


class PaddedTrainer(Trainer):
    """What TRL's RewardTrainer computes in a step: chosen answers, then rejected ones, in one padded batch."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(data_collator=self._padded, **settings)

    def _padded(self, pairs: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        sequences = [torch.tensor(pair[side]) for side in ("chosen_ids", "rejected_ids") for pair in pairs]
        masks = [torch.ones_like(sequence) for sequence in sequences]
        return {
            "input_ids": pad_sequence(sequences, batch_first=True),
            "attention_mask": pad_sequence(masks, batch_first=True),
        }

    def compute_loss(self, model: Any, inputs: Any, *_: Any, **__: Any) -> torch.Tensor:
        """Bradley–Terry loss, the mean over the pairs."""
        chosen, rejected = model(**inputs, use_cache=False).logits.squeeze(-1).chunk(2)
        return -logsigmoid(chosen - rejected).mean()


def _settings(batch: int, checkpointing: bool, steps: int) -> dict[str, Any]:
    return {
        "output_dir": "/tmp/personafit-speed",
        "per_device_train_batch_size": batch,
        "max_steps": steps,
        "learning_rate": 1e-5,
        "lr_scheduler_type": "constant",
        "bf16": True,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "gradient_checkpointing": checkpointing,
        "dataloader_num_workers": 0,
        "seed": 0,
    }


def _pairs(pairs: int, batch: int, steps: int) -> list[dict[str, list[int]]]:
    sequences = work(people=batch * steps // pairs + 1, pairs=pairs).sequences
    return [
        {"chosen_ids": sequences[start], "rejected_ids": sequences[start + 1]}
        for start in range(0, len(sequences), 2)
    ]


def _train_ours(
    data: list[dict[str, list[int]]], batch: int, checkpointing: bool, steps: int, capacity: int = 32_768
) -> dict[str, Any]:
    from transformers import TrainingArguments

    clock = Clock()
    model = reward_model("0.5b")
    scorer = RewardScorer(model, "tree", capacity)
    settings = TrainingArguments(**_settings(batch, checkpointing, steps), remove_unused_columns=False)
    trainer = in_order(PairTrainer)(scorer, args=settings, train_dataset=data, callbacks=[clock.callback()])
    torch.cuda.reset_peak_memory_stats()
    trainer.train()
    return _found(clock)


def _train_padded(
    data: list[dict[str, list[int]]], batch: int, checkpointing: bool, steps: int
) -> dict[str, Any]:
    clock = Clock()
    settings = _settings(batch, checkpointing, steps)
    trainer = _trl_trainer(data, settings) if find_spec("trl") else _stand_in(data, settings)
    trainer.add_callback(clock.callback())
    torch.cuda.reset_peak_memory_stats()
    trainer.train()
    return _found(clock)


def _stand_in(data: list[dict[str, list[int]]], settings: dict[str, Any]) -> Any:
    from transformers import TrainingArguments

    arguments = TrainingArguments(**settings, remove_unused_columns=False)
    return in_order(PaddedTrainer)(model=reward_model("0.5b"), args=arguments, train_dataset=data)


def _trl_trainer(data: list[dict[str, list[int]]], settings: dict[str, Any]) -> Any:
    from datasets import Dataset
    from datasets.table import InMemoryTable
    from trl import RewardConfig, RewardTrainer

    return in_order(RewardTrainer)(
        model=reward_model("0.5b"),
        args=RewardConfig(**settings, max_length=None, disable_dropout=False),
        train_dataset=Dataset(InMemoryTable.from_pylist(data), fingerprint="speed"),
        processing_class=_tokenizer(),
    )


def _tokenizer() -> Any:
    """A tokenizer that is never asked anything, since the pairs are tokens already; the trainer wants its special tokens."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def _found(clock: Clock) -> dict[str, Any]:
    return {
        "seconds_per_step": clock.seconds_per_step(),
        "memory": torch.cuda.max_memory_allocated(),
        "losses": clock.losses,
    }


def training(steps: int = STEPS) -> dict[str, Any]:
    """Both trainers at 26 pairs a person and at 7 (four people a batch)."""
    found: dict[str, Any] = {
        "training_peer": "trl" if find_spec("trl") else "its step on transformers' trainer"
    }
    for pairs, batch in ((26, 26), (7, 28)):
        data = _pairs(pairs, batch, steps)
        theirs = _train_padded(data, batch, True, steps)
        torch.cuda.empty_cache()
        for name, checkpointing in (("", True), ("_no_checkpointing", False)):
            ours = _train_ours(data, batch, checkpointing, steps)
            torch.cuda.empty_cache()
            found[f"training_0.5b_tree_{pairs}{name}"] = ours
            found[f"training_0.5b_vs_trl_{pairs}{name}"] = (
                theirs["seconds_per_step"] / ours["seconds_per_step"]
            )
            apart = [abs(one - two) for one, two in zip(ours["losses"], theirs["losses"], strict=True)]
            found[f"training_0.5b_losses_apart_{pairs}{name}"] = max(apart)
        found[f"training_0.5b_trl_{pairs}"] = theirs
    return found
