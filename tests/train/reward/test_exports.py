"""Pairs in TRL's layout: TRL reads them, and ours come back whole."""

from pathlib import Path

import pytest

from personafit.benchmarks import open_benchmark
from personafit.train import PreferencePair, load_choices, write_trl
from personafit.train.pairs import fingerprint, read_pairs
from tests.scripted import invoke

PAIRS = [
    PreferencePair(
        "ann", {"Likes.Drinks": ["tea", "milk"], "Age": 30}, "What now?", "Tea.", "Coffee.", "hard", 0.5
    ),
    PreferencePair("bob", {"About": "Bob skis."}, "And now?", "Ski.", "Sleep.", "easy"),
]


def test_what_is_written_for_trl_is_read_here_again(tmp_path: Path) -> None:
    write_trl(PAIRS, tmp_path / "pairs.jsonl")
    assert fingerprint(read_pairs(tmp_path / "pairs.jsonl")) == fingerprint(PAIRS)


def test_trl_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="trl is not installed: its reading of our pairs is NOT tested")
    from datasets import load_dataset
    from trl import RewardConfig, RewardTrainer

    from tests.tiny_models import tiny_model, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    write_trl(PAIRS[1:] * 4, tmp_path / "pairs.jsonl")
    data = load_dataset(
        "json", data_files=str(tmp_path / "pairs.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
    )
    trainer = RewardTrainer(
        model=tiny_model(),
        args=RewardConfig(output_dir=str(tmp_path), max_steps=1, report_to="none", use_cpu=True, bf16=False),
        train_dataset=data,
        processing_class=tokenizer,
    )
    text = tokenizer.decode(trainer.train_dataset[0]["chosen_ids"])
    assert text.index("Bob skis.") < text.index("And now?") < text.index("Ski.")
    assert trainer.train().training_loss > 0


def test_a_benchmark_is_converted_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, tmp_path, "data", "convert", "starter", "--to", "trl", "--out", "pairs.jsonl")
    found = read_pairs(tmp_path / "pairs.jsonl")
    assert f"Wrote {len(found):,} pairs" in capsys.readouterr().out
    assert fingerprint(found) == fingerprint(load_choices(open_benchmark("starter", None)))
