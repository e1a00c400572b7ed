"""Pairs for other trainers: what they read, and that ours comes back whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit._errors import UserError
from personafit.benchmarks import open_benchmark
from personafit.train.pairs import PreferencePair, fingerprint, load_choices, read_pairs
from personafit.train.reward.exports import write_pairs
from tests.helpers import run_cli

PAIRS = [
    PreferencePair(
        "ann", {"Likes.Drinks": ["tea", "milk"], "Age": 30}, "What now?", "Tea.", "Coffee.", "hard", 0.5
    ),
    PreferencePair("bob", {"About": "Bob skis."}, "And now?", "Ski.", "Sleep.", "easy"),
]


def test_what_is_written_for_trl_is_read_here_again(tmp_path: Path) -> None:
    write_pairs(PAIRS, tmp_path / "pairs.jsonl", "trl")
    assert fingerprint(read_pairs(tmp_path / "pairs.jsonl")) == fingerprint(PAIRS)


def test_trl_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="trl is not installed: its reading of our pairs is NOT tested")
    from datasets import load_dataset
    from trl import RewardConfig, RewardTrainer

    from tests.tiny_models import tiny_model, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    write_pairs(PAIRS[1:] * 4, tmp_path / "pairs.jsonl", "trl")
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


def test_openrlhf_gets_whole_conversations(tmp_path: Path) -> None:
    write_pairs(PAIRS, tmp_path / "pairs.jsonl", "openrlhf")
    first = json.loads((tmp_path / "pairs.jsonl").read_text().splitlines()[0])
    assert [turn["role"] for turn in first["chosen"]] == ["system", "user", "assistant"]
    assert first["chosen"][:2] == first["rejected"][:2]
    assert (first["chosen"][2]["content"], first["rejected"][2]["content"]) == ("Tea.", "Coffee.")
    assert "tea; milk" in first["chosen"][0]["content"]
    assert first["margin"] == 0.5


def test_llamafactory_gets_its_entry_beside_others(tmp_path: Path) -> None:
    (tmp_path / "dataset_info.json").write_text('{"mine": {"file_name": "mine.json"}}')
    write_pairs(PAIRS, tmp_path / "pairs.json", "llamafactory")
    info: dict[str, Any] = json.loads((tmp_path / "dataset_info.json").read_text())
    assert set(info) == {"mine", "pairs"}
    assert info["pairs"]["ranking"] is True
    (tmp_path / "dataset_info.json").write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        write_pairs(PAIRS, tmp_path / "again.json", "llamafactory")
    rows = json.loads((tmp_path / info["pairs"]["file_name"]).read_text())
    for name in ("prompt", "query", "system", "chosen", "rejected"):
        assert info["pairs"]["columns"][name] in rows[0]
    assert rows[0][info["pairs"]["columns"]["prompt"]] == "What now?"


def test_a_benchmark_is_converted_by_the_command_line(tmp_path: Path) -> None:
    done = run_cli("data", "convert", "starter", "--to", "trl", "--out", "pairs.jsonl", cwd=tmp_path)
    found = read_pairs(tmp_path / "pairs.jsonl")
    assert f"Wrote {len(found):,} pairs" in done.stdout
    assert fingerprint(found) == fingerprint(load_choices(open_benchmark("starter", None)))
