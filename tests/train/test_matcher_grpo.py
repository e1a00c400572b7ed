"""GRPO on a tiny model on a CPU: what replies earn, prompts held out whole, and a folder that is a rater."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit.benchmarks.recentering import open_relevance
from personafit.items.relevance import NO_WORDS, YES_WORDS
from personafit.train.grpo import AgreementReward, split_prompts
from personafit.train.matcher import JudgedPairs, load_judged_pairs
from tests.conftest import Command
from tests.helpers import needs, results_of, run_cli
from tests.scripted import invoke, write_lines
from tests.tiny_models import tiny_tokenizer

pytestmark = needs("torch", "transformers", "peft", "datasets", "trl")
PROMPTS, PEOPLE = 6, 2
LABELS = np.array([True, *[False] * 4])


def write_labels(folder: Path) -> Path:
    """For every prompt and person one attribute that matters and two that do not."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "user": f"u{person}",
            "prompt_index": prompt,
            "prompt": f"What about topic {prompt}?",
            "attribute": f"Person {person} cares about topic {topic}.",
            "relevant": topic == prompt,
        }
        for prompt in range(PROMPTS)
        for person in range(PEOPLE)
        for topic in (prompt, (prompt + 1) % PROMPTS, (prompt + 2) % PROMPTS)
    ]
    write_lines(folder / "relevance.jsonl", rows)
    return folder


def save_undecided(folder: Path) -> Path:
    """A tiny random model whose likeliest tokens are yes, no and the end, so that replies differ and some can be read."""
    import torch
    from transformers import PhiConfig, PhiForCausalLM

    tokenizer = tiny_tokenizer()
    words = [word for word in (*YES_WORDS, *NO_WORDS) if len(word) > 1]
    tokenizer.add_tokens(words)
    config = PhiConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    torch.manual_seed(0)
    model = PhiForCausalLM(config)
    likely = tokenizer.convert_tokens_to_ids(["yes", "no", tokenizer.eos_token])
    with torch.no_grad():
        model.lm_head.bias[likely] = 9.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def judged(folder: Path) -> JudgedPairs:
    return load_judged_pairs(open_relevance(folder), lambda _: None)


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    found: dict[str, Any] = load_file(folder / "model.safetensors")
    return found


@pytest.mark.parametrize(
    ("reply", "mean"), [("yes", 0.0), ("No.", 0.0), ("**yes**", 0.0), ("perhaps", -2.0), ("yes no", -2.0)]
)
def test_no_constant_answer_earns_anything(reply: str, mean: float) -> None:
    reward = AgreementReward(LABELS)
    earned = reward([[{"role": "assistant", "content": reply}]] * len(LABELS), LABELS.tolist(), other=None)
    assert np.mean(earned) == pytest.approx(mean)


def test_the_majority_earns_one_and_the_rarer_label_weighs_more() -> None:
    reward = AgreementReward(LABELS)
    said = [[{"role": "assistant", "content": "yes" if label else "no"}] for label in LABELS]
    assert np.mean(reward(said, LABELS.tolist())) == pytest.approx(1.0)
    assert reward.of("yes", True) == pytest.approx(4 * reward.of("no", False))
    assert reward.of("perhaps", True) < reward.of("no", True) < 0 < reward.of("yes", True)


def test_prompts_are_held_out_whole(tmp_path: Path) -> None:
    pairs = judged(write_labels(tmp_path))
    splits = [split_prompts(pairs, seed) for seed in range(4)]
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(pairs)))
        assert not {pairs.prompts[row] for row in train} & {pairs.prompts[row] for row in test}
    assert len({tuple(test) for _, test in splits}) > 1, "the seed draws them"


def test_what_is_missing_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, plain = str(write_labels(tmp_path / "data")), ("--method", "grpo", "--out", "model")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def said(*options: str) -> str:
        invoke(monkeypatch, tmp_path, "train", "matcher", "--data", data, *options, code=2)
        text = " ".join(capsys.readouterr().err.split())
        assert "Traceback" not in text
        return text

    assert "name it with --model" in said(*plain)
    assert "--model is for --method grpo" in said("--out", "model", "--model", "some/model")
    assert "greater than or equal to 1" in said(*plain, "--model", "nowhere", "--max-steps", "0")
    assert "should be greater" in said(*plain, "--model", "nowhere", "--num-generations", "1")
    assert "nowhere: there is no such folder" in said(*plain, "--model", "nowhere")
    monkeypatch.setattr("personafit.cli.train.FOR_GRPO", ("json", "no_such_package"))
    assert "--method grpo needs no_such_package, which pip install" in said(*plain, "--model", "some/model")


@pytest.mark.slow
def test_a_model_is_trained_measured_and_is_a_rater(tmp_path: Path, personafit: Command) -> None:
    data, base = write_labels(tmp_path / "data"), save_undecided(tmp_path / "base")
    command = f"train matcher --method grpo --model {base} --data {data} --out model --max-steps 3".split()
    command += "--per-device-batch-size 2 --num-generations 4 --learning-rate 0.01".split()
    done = run_cli(*command, "--json", cwd=tmp_path)
    assert "Step 3 of 3: reward" in done.stderr
    figures = {(row["control"], row["metric"]): row for row in json.loads(done.stdout)["results"]}
    assert figures[None, "coverage"]["value"] == 1.0, "by the scores of the words every reply can be read"
    assert figures["base", "accuracy"]["n"] == PEOPLE * 3
    before, after = weights(base), weights(tmp_path / "model")
    assert any(not np.array_equal(before[name], after[name]) for name in before), "something was learnt"
    facts = json.loads((tmp_path / "model" / "personafit.json").read_text(encoding="utf-8"))
    assert facts["weights"] == {"yes": pytest.approx(1.5), "no": pytest.approx(0.75)}
    assert facts["pairs"] == 5 * PEOPLE * 3
    assert not (tmp_path / "model" / "checkpoints").exists()

    again = personafit(*command)
    assert "Step" not in again.err, "what is done is not done again"
    assert (tmp_path / "model" / "card.md").read_text(encoding="utf-8") in again.out
    assert "Rater: hf:model" in again.out

    other = personafit(*command, "--seed", "1", code=2)
    assert "holds a run with another seed" in " ".join(other.err.split())
    personafit(*f"run recentering --data {data} --rater hf:model --context none".split())
    rated = {row["rater"] for row in results_of(tmp_path) if row["metric"] == "f1"}
    assert "hf:model" in rated
