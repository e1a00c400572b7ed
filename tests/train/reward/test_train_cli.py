"""`personafit train reward` as a process: what it writes, that it resumes exactly, and what it refuses."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit.cli import main
from personafit.models.reward.rendering import PromptRenderer
from personafit.train import RewardSettings, parse_mix, train_reward
from personafit.train.reward.settings import Mix
from personafit.train.reward.weights import load_base, pad_token
from tests.helpers import Later, needs
from tests.tiny_models import CHAT, save_tiny, save_tiny_gguf, tiny_model, tiny_tokenizer

pytestmark = needs("torch")
scoring: Any = Later("personafit.models.reward.scoring")
LIKES = ("tea", "skiing", "jazz", "chess")


def write_pairs(path: Path, people: int = 8, each: int = 4, **more: Any) -> Path:
    rows = [
        {
            "person": {"Name": f"P{person}", "Likes": [LIKES[person % 4]]},
            "person_id": f"p{person}",
            "prompt": f"What now, {number}?",
            "chosen": f"Go for {LIKES[person % 4]}, {number}",
            "rejected": f"As ever, {person * number}",
            "tier": ("easy", "hard")[number % 2],
            **more,
        }
        for person in range(people)
        for number in range(each)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_general(path: Path, prompts: int = 10) -> Path:
    rows = [
        {"prompt": f"Prompt {number}", "response": text, "helpfulness": points}
        for number in range(prompts)
        for text, points in ((f"Good {number}", 4), (f"Bad {number}", 1))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    save_tiny(folder / "base")
    write_pairs(folder / "pairs.jsonl")
    write_general(folder / "general.jsonl")
    return folder


def settings(world: Path, out: Path, **more: Any) -> RewardSettings:
    given = {"batch": 8, "rate": 1e-3, "epochs": 2.0, "held_out": 0.25, **more}
    return RewardSettings(str(world / "base"), world / "pairs.jsonl", out, **given)


def command(world: Path, out: Path, *more: str) -> list[str]:
    asked = f"train reward --model {world / 'base'} --data {world / 'pairs.jsonl'} --out {out}"
    fixed = "--per-device-batch-size 8 --learning-rate 1e-3"
    return [sys.executable, "-m", "personafit", *asked.split(), *fixed.split(), *more]


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_the_result_loads_in_plain_transformers_and_scores_alike(world: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    said: list[str] = []
    trained = train_reward(settings(world, tmp_path / "out"), said.append)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "personafit.json").read_text())
    renderer = PromptRenderer(tokenizer, facts["max_tokens"])
    assert facts["rendering"] == renderer.fingerprint
    assert facts == trained.facts
    assert facts["data"]["people"] == 6
    assert facts["data"]["people_held_out"] == 2
    assert len(facts["fitted_on"]) == 6
    assert set(facts["metrics"]["personal"]["accuracy"]) >= {"all", "easy", "hard"}
    sequences = [
        renderer.render({"Likes": "tea"}, "What now?", text).tokens for text in ("Tea.", "Coffee, no?")
    ]
    with torch.no_grad():
        alone = [model(torch.tensor([one])).logits.item() for one in sequences]
        longest = max(map(len, sequences))
        batch = tokenizer.pad(
            {"input_ids": sequences}, padding="max_length", max_length=longest, return_tensors="pt"
        )
        together = model(**batch).logits[:, 0].numpy()
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(scoring.RewardScorer(model, "tree").scores(sequences) - alone).max() < 1e-5
    table = (tmp_path / "out" / "curves.csv").read_text().splitlines()
    assert {"step", "loss", "eval_accuracy", "eval_accuracy_easy", "eval_accuracy_hard"} <= set(
        table[0].split(",")
    )
    assert any(line.startswith("Step 6 of 6") and "hard" in line for line in said)
    assert "| hard |" in (tmp_path / "out" / "card.md").read_text()
    assert not (tmp_path / "out" / "checkpoints").exists()
    before = digest(tmp_path / "out")
    assert (
        train_reward(settings(world, tmp_path / "out"), said.append).facts == facts
    )  # done: nothing happens
    assert digest(tmp_path / "out") == before
    assert said[-1] == f"{tmp_path / 'out'} holds the result of this command already."
    assert said[:2] == [
        f"Loading {world / 'base'}.",
        f"Training all weights on {'cuda' if torch.cuda.is_available() else 'cpu'}. Pairs: 24 personal (people: 6), 0 general, "
        "only measured on 8. Steps: 6, each of 8 pairs.",
    ]
    with pytest.raises(UserError, match="another rate; repeat its command"):
        train_reward(settings(world, tmp_path / "out", rate=1e-4), said.append)


def test_a_command_refused_before_it_trained_does_not_hold_the_folder(world: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no pair is left"):
        train_reward(settings(world, tmp_path / "out", max_tokens=18), lambda _: None)
    facts = train_reward(settings(world, tmp_path / "out", preset="base"), lambda _: None).facts
    assert facts["max_tokens"] == 4096


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--lora"]])
def test_interrupted_and_resumed_is_bit_for_bit_the_uninterrupted(
    world: Path, tmp_path: Path, more: list[str]
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    asked = ["--num-train-epochs", "10", *more]
    same = settings(world, whole, epochs=10.0, held_out=0.1, lora=bool(more))
    train_reward(same, lambda _: None)
    first = _start(command(world, parts, *asked))
    _await(lambda: (parts / "curves.csv").is_file() and "\n7," in (parts / "curves.csv").read_text(), first)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=120)
    assert first.returncode == 130, said
    assert "interrupt again to stop at once" in said
    assert "the same command goes on from there" in said
    if not more:
        second = _start(command(world, parts, *asked))
        _await(lambda: len((parts / "curves.csv").read_text().splitlines()) > 17, second)
        second.kill()  # no time to write anything: it goes on from the checkpoint before
        second.communicate()
    told: list[str] = []
    train_reward(RewardSettings(**{**vars(same), "out": parts}), told.append)
    assert any(line.startswith("Going on from") for line in told)
    assert digest(parts) == digest(whole)
    assert (parts / "curves.csv").read_bytes() == (whole / "curves.csv").read_bytes()
    assert (
        json.loads((parts / "personafit.json").read_text())["metrics"]
        == json.loads((whole / "personafit.json").read_text())["metrics"]
    )


def _start(words: list[str]) -> "subprocess.Popen[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)


def _await(met: Any, process: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + 240
    while not met():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_adapter_is_merged_and_one_can_be_gone_on_from(world: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    from personafit.train.reward.weights import with_adapter

    sequences = [[10, 20, 30, 40], [50, 60, 70]]
    train_reward(settings(world, tmp_path / "merged", lora=True), lambda _: None)
    merged = AutoModelForSequenceClassification.from_pretrained(tmp_path / "merged").eval()
    found = scoring.RewardScorer(merged, "tree").scores(sequences)
    assert np.abs(found - scoring.RewardScorer(tiny_model(), "tree").scores(sequences)).max() > 1e-3
    with_adapter(merged).save_pretrained(tmp_path / "apart")
    tiny_tokenizer().save_pretrained(tmp_path / "apart")
    gone_on, _ = load_base(str(tmp_path / "apart"), 0)
    assert all(weights.requires_grad for weights in gone_on.parameters())
    assert np.abs(scoring.RewardScorer(gone_on.eval(), "tree").scores(sequences) - found).max() < 1e-5


@pytest.mark.parametrize(
    ("preset", "mix", "personal", "general"),
    [("base", None, 0, 0), ("helpsteer", None, 0, 8), ("personal", 0.25, 24, 6), ("personal", 9.0, 24, 8)],
)
def test_presets_train_on_what_the_paper_did(
    world: Path, tmp_path: Path, preset: Any, mix: float | None, personal: int, general: int
) -> None:
    said: list[str] = []
    asked = settings(world, tmp_path / "out", preset=preset, mix=Mix(world / "general.jsonl", mix))
    facts = train_reward(asked, said.append).facts
    assert (facts["data"]["personal"], facts["data"]["general"]) == (personal, general)
    assert ("general" in facts["metrics"]) == (general > 0)
    assert bool(facts["steps"]) == (preset != "base")
    assert ("Nothing was trained" in (tmp_path / "out" / "card.md").read_text()) == (preset == "base")
    assert any("72 were asked for" in line or "216 were asked for" in line for line in said) == (mix == 9.0)


def test_a_benchmark_folder_and_a_limit(world: Path, tmp_path: Path) -> None:
    from personafit.benchmarks import open_benchmark, write_folder

    write_folder(tmp_path / "starter", open_benchmark("starter", None))
    asked = RewardSettings(
        str(world / "base"), tmp_path / "starter", tmp_path / "out", batch=4, limit=8, max_tokens=1500
    )
    facts = train_reward(asked, lambda _: None).facts
    assert facts["data"]["personal"] + facts["data"]["held_out"] == 8


def test_bad_input_is_one_sentence(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    tied = write_pairs(tmp_path / "tied.jsonl", chosen="same", rejected="same")
    nobody = write_pairs(tmp_path / "nobody.jsonl", person=None)
    full = tmp_path / "full"
    full.mkdir()
    strange, short = str(tmp_path / "strange"), str(tmp_path / "short")
    save_tiny(Path(short))
    configured = Path(short, "config.json")
    configured.write_text(json.dumps({**json.loads(configured.read_text()), "max_position_embeddings": 64}))
    tiny_model(vocabulary=100).save_pretrained(strange)
    tiny_tokenizer().save_pretrained(strange)
    (full / "thesis.txt").write_text("mine")
    base, pairs = str(world / "base"), str(world / "pairs.jsonl")
    for arguments, said in (
        (
            ["--model", base, "--data", str(tied)],
            "holds no pairs. Left out because both answers are one text: 32",
        ),
        (["--model", base, "--data", str(nobody)], "line 1, field 'person' must say who asks"),
        (["--model", base, "--data", pairs, "--out", str(full)], "is not empty and holds no training run"),
        (["--model", "no/such/model", "--data", pairs], "--model no/such/model: there is no such folder"),
        (["--model", str(full), "--data", pairs], "holds no config.json"),
        (["--model", strange, "--data", pairs], "its weights know 100 tokens; they do not belong together"),
        (["--model", short, "--data", pairs], "was made for 64 tokens and the longest text has"),
        (["--model", base, "--data", pairs, "--mix", "x=0"], "ratio must be a number above 0"),
        (["--model", base, "--data", pairs, "--preset", "helpsteer"], "name their file with --mix"),
        (["--model", base, "--data", pairs, "--report-to", "nobody"], "--report-to nobody cannot be used"),
        (["--model", base, "--data", pairs, "--max-length", "18"], "no pair is left to train on"),
    ):
        out = [] if "--out" in arguments else ["--out", str(tmp_path / f"out{len(said)}")]
        monkeypatch.setattr(sys, "argv", ["personafit", "train", "reward", *arguments, *out])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        told = capsys.readouterr().err
        assert said in told
        assert "Traceback" not in told


def test_without_the_libraries_it_says_what_to_install(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("personafit.cli.train.FOR_REWARD", ("no_such_library",))
    asked = ["--model", str(world / "base"), "--data", str(world / "pairs.jsonl"), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["personafit", "train", "reward", *asked])
    with pytest.raises(SystemExit):
        main()
    assert "pip install 'personafit[train]'. (There is no no_such_library.)" in capsys.readouterr().err


def test_without_a_template_it_says_so_and_pads_with_what_ends_no_answer(world: Path, tmp_path: Path) -> None:
    save_tiny(tmp_path / "plain", chat=None, pad=None)
    said: list[str] = []
    asked = RewardSettings(
        str(tmp_path / "plain"), world / "pairs.jsonl", tmp_path / "out", batch=16, rate=1e-3
    )
    train_reward(asked, said.append)
    assert any("has no chat template" in line for line in said)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["pad_token_id"] != config["eos_token_id"]
    assert pad_token(tiny_tokenizer(CHAT, pad="<eos>"), "x") == 1  # the template ends otherwise
    assert pad_token(tiny_tokenizer(None, pad="<eos>"), "x") != 1


def test_it_starts_from_a_gguf_file(world: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    base = save_tiny_gguf(tmp_path / "tiny.gguf")
    asked = RewardSettings(str(base), world / "pairs.jsonl", tmp_path / "out", batch=8, rate=1e-3, epochs=4.0)
    facts = train_reward(asked, lambda _: None).facts
    assert facts["metrics"]["personal"]["accuracy"]["all"]["value"] > 0.5
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out")
    assert PromptRenderer(AutoTokenizer.from_pretrained(tmp_path / "out")).fingerprint == facts["rendering"]
    assert np.isfinite(scoring.RewardScorer(model.eval(), "tree").scores([[10, 20, 30]])).all()


def test_a_mix_is_a_file_and_a_ratio() -> None:
    assert parse_mix("a=b.jsonl=0.36") == Mix(Path("a=b.jsonl"), 0.36)
    assert parse_mix("a.jsonl") == Mix(Path("a.jsonl"), None)
