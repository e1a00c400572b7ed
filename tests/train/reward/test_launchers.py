"""The same command under torchrun: two processes, replicated or sharded, learn what one learns."""

import csv
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from personafit.train import RewardSettings, train_reward
from tests.helpers import needs, python_path
from tests.tiny_models import save_tiny, trees
from tests.train.reward.test_train_cli import write_pairs

pytestmark = needs("torch")
SHARDED = {
    "ACCELERATE_USE_CPU": "true",
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
}


def launch(module: list[str], arguments: list[str], environment: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--master-addr", "127.0.0.1", "--master-port", str(port)),
            *module,
            *arguments,
        ],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": python_path(Path(__file__).parents[3]),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def losses(folder: Path) -> list[float]:
    with (folder / "curves.csv").open() as file:
        return [float(row["loss"]) for row in csv.DictReader(file) if row["loss"]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["replicated", "sharded adapter"])
def test_two_processes_learn_what_one_learns(kind: str, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    from personafit.models.reward.scoring import RewardScorer

    base = save_tiny(tmp_path / "base")
    pairs = write_pairs(tmp_path / "pairs.jsonl", people=9, each=4)  # people fill a process's half of a batch
    lora = "adapter" in kind
    alone = RewardSettings(str(base), pairs, tmp_path / "one", batch=8, rate=1e-3, epochs=2.0, lora=lora)
    train_reward(alone, lambda _: None)
    asked = (
        f"train reward --model {base} --data {pairs} --out {tmp_path / 'two'} --num-train-epochs 2".split()
    )
    asked += "--per-device-batch-size 4 --learning-rate 1e-3".split()  # of each process: eight in all
    asked += ["--lora"] if lora else []
    if kind == "replicated":
        launch(["-m", "personafit"], asked, {})
    else:
        launch([str(Path(__file__).parent / "sharded.py")], asked, SHARDED)
    assert np.abs(np.subtract(losses(tmp_path / "one"), losses(tmp_path / "two"))).max() < 1e-4
    one, two = (
        RewardScorer(
            AutoModelForSequenceClassification.from_pretrained(tmp_path / name).eval(), "tree"
        ).scores(trees())
        for name in ("one", "two")
    )
    assert np.abs(one - two).max() < 1e-3


SHORT_ROWS = """
import os, sys
import torch
from torch.distributed.fsdp import fully_shard
from transformers import TrainingArguments
from personafit.models.reward.scoring import RewardScorer
from personafit.train.reward.trainer import PairTrainer
from tests.tiny_models import tiny_model, trees

def pairs(people):
    sequences = trees(people, 2)
    return [{"chosen_ids": a, "rejected_ids": b} for a, b in zip(sequences[0::2], sequences[1::2])]

rank = int(os.environ["RANK"])
whole = tiny_model()
scorer = RewardScorer(whole, "tree", 4000)
for own in (pairs(1), pairs(4)):  # what both processes do, in one
    for row in scorer.rows([pair[side] for pair in own for side in ("chosen_ids", "rejected_ids")], 2):
        from personafit.train.reward.trainer import pair_loss
        (pair_loss(scorer.score_row(row), row) / len(own) / 2).backward()
model = tiny_model()
scorer = RewardScorer(model, "tree", 100)
trainer = PairTrainer(scorer, args=TrainingArguments(output_dir=sys.argv[1], report_to="none", use_cpu=True))
trainer.is_fsdp_enabled = True
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
batch = trainer._lay_out(pairs(1) if rank == 0 else pairs(4))["rows"]
assert len(batch.rows) == (1 if rank == 0 else 4), len(batch.rows)
trainer._rows_backward(model, batch)
for (name, parameter), (_, expected) in zip(model.named_parameters(), whole.named_parameters()):
    difference = (parameter.grad.full_tensor() - expected.grad).abs().max()
    assert difference < 1e-4, (name, difference)
torch.distributed.barrier()
os._exit(0)  # about one interpreter in 27 was aborted by a thread of torch's while it shut down
"""


@pytest.mark.slow
def test_sharded_processes_with_unlike_numbers_of_rows_wait_for_each_other(tmp_path: Path) -> None:
    script = tmp_path / "rows.py"
    script.write_text(SHORT_ROWS)
    launch([str(script)], [str(tmp_path / "out")], {"ACCELERATE_USE_CPU": "true"})
