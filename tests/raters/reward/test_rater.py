"""`reward:PATH` on tiny models: the model's own scores, whatever the batch, the view and the folder."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import Shown, Status, UserError
from personafit.contexts import Context
from personafit.models import Unanswerable, Unusable
from personafit.raters import Rater, Verdict, make_rater
from tests.raters.reward.tiny import (
    CHAT,
    NO_SYSTEM,
    config,
    direct,
    save_chat,
    save_reward,
    say_trained,
    torch,
    transformers,
)
from tests.scripted import shown

ITS_CODE = """
import torch
from transformers import PreTrainedModel, Qwen2Config, Qwen2Model

class Settings(Qwen2Config):
    model_type = "its_own"

class Model(PreTrainedModel):
    config_class = Settings
    base_model_prefix = "model"

    def __init__(self, config):
        super().__init__(config)
        self.model = Qwen2Model(config)
        self.score = torch.nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()

    def forward(self, input_ids, attention_mask):
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return (self.score(hidden[:, -1]),)
"""
KNOWN = "This is what is known about the person who asks.\n\n"


def about(one: Shown, **facets: Any) -> Shown:
    """The same with these facets of the person."""
    text = "\n".join(f"{name}: {value}" for name, value in facets.items())
    return replace(one, context=Context("profile", text, tuple(map(str, facets.values())), "ann", facets))


def rate(rater: Rater, *asked: Shown) -> list[Verdict]:
    async def all_at_once() -> list[Verdict]:
        try:
            return list(await asyncio.gather(*(rater.rate(one) for one in asked)))
        finally:
            await rater.close()

    return asyncio.run(all_at_once())


def scores(verdict: Verdict) -> list[float]:
    assert verdict.status == Status.OK
    found: list[float] = json.loads(verdict.reply or "")
    return found


def test_scores_are_those_of_the_model_itself(tmp_path: Path) -> None:
    folder = save_reward(tmp_path)
    one = about(shown(), Likes="tea")
    (verdict,) = rate(make_rater(f"reward:{folder}"), one)
    expected = [
        direct(
            folder,
            f"<|system|> {KNOWN}Likes: tea <|end|> <|user|> What shall I drink? <|end|> <|assistant|> {answer} <|end|> ",
        )
        for answer in ("tea", "coffee")
    ]
    assert scores(verdict) == pytest.approx(expected, abs=1e-4)
    assert verdict.answers[0].label == ("0" if expected[0] > expected[1] else "1")
    assert verdict.answers[0].value == pytest.approx(expected[0] - expected[1], abs=1e-4)


@pytest.mark.parametrize(
    ("chat", "text"),
    [
        (None, f"<s>{KNOWN}Likes: tea\n\nWhat shall I drink?\n\ntea<|end|>"),
        (NO_SYSTEM, f"<|user|> {KNOWN}Likes: tea\n\nWhat shall I drink? <|end|> <|assistant|> tea <|end|> "),
    ],
)
def test_other_templates(tmp_path: Path, chat: str | None, text: str) -> None:
    folder = save_reward(tmp_path, chat=chat)
    (verdict,) = rate(make_rater(f"reward:{folder}"), about(shown(), Likes="tea"))
    assert scores(verdict)[0] == pytest.approx(direct(folder, text), abs=1e-4)


def test_a_model_that_pads_with_its_end_is_read_before_it(tmp_path: Path) -> None:
    """Plain transformers reads such a model at the last token that is no padding, and so was it trained."""
    folder = save_reward(tmp_path, chat=None, pad="<|end|>")
    (verdict,) = rate(make_rater(f"reward:{folder}"), about(shown(), Likes="tea"))
    text = f"<s>{KNOWN}Likes: tea\n\nWhat shall I drink?\n\ntea"
    assert scores(verdict)[0] == pytest.approx(direct(folder, f"{text}<|end|>"), abs=1e-4)
    assert scores(verdict)[0] == pytest.approx(direct(folder, text), abs=1e-4)


def test_together_as_alone(tmp_path: Path) -> None:
    folder = save_reward(tmp_path)
    asked = [
        about(
            shown(texts=(f"tea {number}", "coffee " * number)),
            Likes="tea" * (number % 3),
            Job=str(number % 5),
        )
        for number in range(40)
    ]
    together = rate(make_rater(f"reward:{folder}"), *asked)
    alone = [rate(make_rater(f"reward:{folder}"), one)[0] for one in asked[::8]]
    for one, other in zip(together[::8], alone, strict=True):
        assert scores(one) == pytest.approx(scores(other), abs=1e-4)
    assert len({tuple(scores(verdict)) for verdict in together}) == len(asked)


def test_what_waits_is_scored_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from personafit.raters.reward.local import Engine

    sizes = []
    scored = Engine.scores

    def counting(self: Engine, sequences: Any) -> list[float]:
        sizes.append(len(sequences))
        return scored(self, sequences)

    monkeypatch.setattr(Engine, "scores", counting)
    rate(make_rater(f"reward:{save_reward(tmp_path)}"), *[about(shown(), Job=str(n)) for n in range(60)])
    assert sum(sizes) == 120
    assert len(sizes) < 20
    assert max(sizes) <= 64


def test_the_context_reaches_the_model(tmp_path: Path) -> None:
    folder = save_reward(tmp_path)
    plain = shown(person="")
    told = Context("attributes:all", "- likes tea\n- has no job", ("likes tea", "has no job"), "ann")
    contexts = [plain, about(plain, Likes="tea"), about(plain, Likes="coffee"), replace(plain, context=told)]
    found = [tuple(scores(verdict)) for verdict in rate(make_rater(f"reward:{folder}"), *contexts)]
    assert len(set(found)) == len(contexts)
    text = "<|user|> What shall I drink? <|end|> <|assistant|> tea <|end|> "
    assert found[0][0] == pytest.approx(direct(folder, text), abs=1e-4)


def test_facets_that_do_not_fit_are_left_out_for_both_and_said(tmp_path: Path) -> None:
    folder = save_reward(tmp_path)
    one = about(shown(texts=("tea", "coffee " * 20)), Likes="tea", Job="x" * 30, Home="y" * 300)
    (verdict,) = rate(make_rater(f"reward:{folder},max_tokens=330"), one)
    assert verdict.detail == "1 of 3 facets left out to keep to 330 tokens"
    kept = about(one, Likes="tea", Job="x" * 30)
    (same,) = rate(make_rater(f"reward:{folder},max_tokens=330"), kept)
    assert scores(verdict) == pytest.approx(scores(same), abs=1e-4)
    assert same.detail is None


def test_an_answer_that_is_too_long_fails(tmp_path: Path) -> None:
    rater = make_rater(f"reward:{save_reward(tmp_path)},max_tokens=64")
    with pytest.raises(Unanswerable, match="more than the 64 allowed"):
        rate(rater, shown(texts=("tea", "x" * 100)))


def test_no_finite_score_is_no_score(tmp_path: Path) -> None:
    model = transformers.AutoModelForSequenceClassification.from_pretrained(save_reward(tmp_path))
    with torch.no_grad():
        model.score.weight.fill_(float("nan"))
    model.save_pretrained(tmp_path)
    (verdict,) = rate(make_rater(f"reward:{tmp_path}"), shown())
    assert verdict.status == Status.UNPARSED
    assert (verdict.answers[0].label, verdict.answers[0].value, verdict.reply) == (None, None, None)
    assert "no finite score" in (verdict.detail or "")


def test_another_rendering_is_refused(tmp_path: Path) -> None:
    folder = save_reward(tmp_path)
    say_trained(folder, "0" * 32)
    with pytest.raises(UserError, match="trained with another rendering of people"):
        make_rater(f"reward:{folder}")


def test_the_rendering_it_was_trained_on_is_used(tmp_path: Path) -> None:
    from personafit.models.reward.rendering import PromptRenderer

    folder = save_reward(tmp_path)
    rendering = PromptRenderer(transformers.AutoTokenizer.from_pretrained(folder), 512).fingerprint
    say_trained(folder, rendering, max_tokens=512)
    assert make_rater(f"reward:{folder}").record.settings["rendering"] == rendering
    with pytest.raises(UserError, match="another rendering of people"):
        make_rater(f"reward:{folder},max_tokens=500")


def test_padding_among_what_is_tried_does_not_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from personafit.models.reward.rendering import PromptRenderer
    from tests.raters.reward.tiny import SIZE

    folder = save_reward(tmp_path)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings["pad_token_id"] = int(np.random.default_rng(0).integers(0, SIZE, (3, 12))[1, -1])
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    words = transformers.AutoTokenizer.from_pretrained(folder)
    say_trained(folder, PromptRenderer(words, 512).fingerprint)
    assert scores(rate(make_rater(f"reward:{folder}"), shown())[0])
    assert "one by one" not in capsys.readouterr().err


def test_fingerprints_tell_weights_apart(tmp_path: Path) -> None:
    first, again = (make_rater(f"reward:{save_reward(tmp_path / name)}").record for name in ("a", "b"))
    other = make_rater(f"reward:{save_reward(tmp_path / 'c', seed=1)}").record
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.kind == "reward"


def test_an_encoder_is_scored_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model whose tokens all see each other cannot share beginnings."""
    from tests.raters.reward.tiny import SIZE, tokenizer

    words = tokenizer(CHAT)
    torch.manual_seed(0)
    transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=SIZE, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=512, num_labels=1, pad_token_id=words.pad_token_id, initializer_range=0.3,
        )
    ).save_pretrained(tmp_path)  # fmt: skip
    words.save_pretrained(tmp_path)
    (verdict,) = rate(make_rater(f"reward:{tmp_path}"), about(shown(), Likes="tea"))
    text = f"<|system|> {KNOWN}Likes: tea <|end|> <|user|> What shall I drink? <|end|> <|assistant|> tea <|end|> "
    assert scores(verdict)[0] == pytest.approx(direct(tmp_path, text), abs=1e-4)
    assert "one by one" in capsys.readouterr().err


def test_an_adapter_is_merged(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    base = save_reward(tmp_path / "base")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base)
    settings = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["q_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(model, settings).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    (verdict,) = rate(make_rater(f"reward:{tmp_path / 'adapter'}"), shown(person=""))
    words = transformers.AutoTokenizer.from_pretrained(base)
    text = "<|user|> What shall I drink? <|end|> <|assistant|> tea <|end|> "
    with torch.inference_mode():
        given = words(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        expected = float(adapted(input_ids=given).logits[0, 0])
    assert scores(verdict)[0] == pytest.approx(expected, abs=1e-4)
    assert expected != pytest.approx(direct(base, text), abs=1e-3)


def test_bad_folders_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such folder"):
        make_rater(f"reward:{tmp_path / 'nowhere'}")
    with pytest.raises(UserError, match=r"holds no config\.json"):
        make_rater(f"reward:{tmp_path}")
    with pytest.raises(UserError, match="name a folder"):
        make_rater("reward:")
    with pytest.raises(UserError, match="to use it as a judge, write hf:"):
        make_rater(f"reward:{save_chat(tmp_path / 'chat')}")
    folder = save_reward(tmp_path / "broken")
    (folder / "personafit.json").write_text("[", encoding="utf-8")
    with pytest.raises(UserError, match=r"personafit\.json cannot be read"):
        make_rater(f"reward:{folder}")
    (folder / "personafit.json").unlink()
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="the model cannot be read"):
        make_rater(f"reward:{folder}")
    two = transformers.AutoConfig.from_pretrained(save_reward(tmp_path / "two"))
    two.num_labels = 2
    two.save_pretrained(tmp_path / "two")
    with pytest.raises(UserError, match="gives 2 numbers per text"):
        make_rater(f"reward:{tmp_path / 'two'}")


def test_code_of_others_runs_only_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "cache"))
    folder, ran = save_reward(tmp_path / "model"), tmp_path / "ran"
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings |= {
        "model_type": "its_own",
        "auto_map": {"AutoConfig": "its_code.Settings", "AutoModel": "its_code.Model"},
    }
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "its_code.py").write_text(
        f"open({str(ran)!r}, 'w').close()\n{ITS_CODE}",
        encoding="utf-8",
    )
    with pytest.raises(UserError, match=r"code of its own; if you trust it, add ,trust=yes"):
        make_rater(f"reward:{folder}")
    assert not ran.exists()
    (verdict,) = rate(make_rater(f"reward:{folder},trust=yes"), shown(person=""))
    assert ran.exists()
    text = "<|user|> What shall I drink? <|end|> <|assistant|> tea <|end|> "
    assert scores(verdict)[0] == pytest.approx(direct(save_reward(tmp_path / "plain"), text), abs=1e-4)


def test_weights_that_are_not_there_or_have_no_head(tmp_path: Path) -> None:
    folder = save_reward(tmp_path / "empty")
    (folder / "model.safetensors").unlink()
    with pytest.raises(Unusable, match="the weights cannot be loaded"):
        rate(make_rater(f"reward:{folder}"), shown())
    headless = save_chat(tmp_path / "headless")
    settings = transformers.AutoConfig.from_pretrained(headless)
    settings.num_labels, settings.architectures = 1, ["Qwen2ForSequenceClassification"]
    settings.save_pretrained(headless)
    with pytest.raises(Unusable, match=r"no trained score\.weight, so it is no reward model"):
        rate(make_rater(f"reward:{headless}"), shown())


def test_words_that_the_weights_do_not_know_are_said(tmp_path: Path) -> None:
    folder = save_reward(tmp_path)
    settings = config(num_labels=1, pad_token_id=0)
    settings.vocab_size = 20
    transformers.Qwen2ForSequenceClassification(settings).save_pretrained(folder)
    with pytest.raises(Unanswerable, match="cannot score"):
        rate(make_rater(f"reward:{folder}"), shown())


def no_device_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def no_memory() -> None:
    torch.empty(10**14)


@pytest.mark.parametrize("fail", [no_device_memory, no_memory])
def test_running_out_of_memory_shortens_the_rows(
    fail: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from personafit.models.reward.scoring import RewardScorer

    folder = save_reward(tmp_path)
    asked = [about(shown(), Job=str(number) * 20) for number in range(30)]
    expected = [scores(verdict) for verdict in rate(make_rater(f"reward:{folder}"), *asked)]
    scored = RewardScorer.score_row

    def short_of_memory(self: RewardScorer, row: Any) -> Any:
        if len(row) > 1000:
            fail()
        return scored(self, row)

    monkeypatch.setattr(RewardScorer, "score_row", short_of_memory)
    found = rate(make_rater(f"reward:{folder}"), *asked)
    assert [scores(verdict) for verdict in found] == [pytest.approx(one, abs=1e-4) for one in expected]
    assert "going on with rows of" in capsys.readouterr().err

    def none_left(self: RewardScorer, row: Any) -> Any:
        if len(row) > 100:
            fail()
        return scored(self, row)

    monkeypatch.setattr(RewardScorer, "score_row", none_left)
    with pytest.raises(
        Unusable, match=r"does not fit the memory of this machine; allow fewer with ,max_tokens=N"
    ):
        rate(make_rater(f"reward:{folder}"), *asked)
