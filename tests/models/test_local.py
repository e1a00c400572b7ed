"""`hf:PATH` on a tiny language model in a folder."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from personafit import ChatReply, UserError
from personafit.models import ChatRequest, Unanswerable, Unusable, make_model
from personafit.raters import make_rater
from tests.raters.reward.tiny import CHAT, save_chat, save_reward, torch, transformers
from tests.scripted import shown

ASKED = ({"role": "user", "content": "Tea or coffee?"},)
PROMPT = "<|user|> Tea or coffee? <|end|> <|assistant|>"


def chat(spec: str, *requests: ChatRequest) -> list[ChatReply]:
    async def all_in_turn() -> list[ChatReply]:
        model = make_model(spec)
        try:
            return [await model.chat(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(all_in_turn())


def test_letters_are_read_off_the_next_token(tmp_path: Path) -> None:
    folder = save_chat(tmp_path)
    (reply,) = chat(f"hf:{folder}", ChatRequest(ASKED, letters=("A", "B")))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits = model(**words(PROMPT, add_special_tokens=False, return_tensors="pt")).logits[0, -1]
    expected = torch.log_softmax(logits, dim=-1)
    assert reply.letter_scores is not None
    for letter in "AB":
        token = words.convert_tokens_to_ids(letter)
        assert reply.letter_scores[letter] == pytest.approx(float(expected[token]), abs=1e-4)
    assert reply.tokens_out == 1


def test_it_writes_as_transformers_does(tmp_path: Path) -> None:
    folder = save_chat(tmp_path)
    (reply,) = chat(f"hf:{folder}", ChatRequest(ASKED, max_tokens=8))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    given = words(PROMPT, add_special_tokens=False, return_tensors="pt")
    with torch.inference_mode():
        out = model.generate(**given, max_new_tokens=8, do_sample=False)[0, given["input_ids"].shape[1] :]
    assert reply.text == words.decode(out, skip_special_tokens=True).strip()
    assert (reply.tokens_in, reply.tokens_out) == (given["input_ids"].shape[1], len(out))
    assert reply.cut == (len(out) == 8 and int(out[-1]) != words.eos_token_id)


def test_samples_differ_and_repeat(tmp_path: Path) -> None:
    requests = [ChatRequest(ASKED, max_tokens=12, temperature=1.0, seed=seed) for seed in (1, 2, 1)]
    first, second, again = chat(f"hf:{save_chat(tmp_path)}", *requests)
    assert first.text == again.text != second.text


def test_thoughts_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model about to think is let think: the letters come after the thoughts."""
    folder = save_chat(tmp_path)
    words = transformers.AutoTokenizer.from_pretrained(folder)
    words.add_tokens(["<think>", "</think>"])
    words.save_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    model.resize_token_embeddings(len(words))
    model.save_pretrained(folder)
    planned = words("<think>tea is known</think> B", add_special_tokens=False)["input_ids"] + [
        words.eos_token_id
    ]

    start = len(words(PROMPT, add_special_tokens=False)["input_ids"])

    written = 0

    def step(self: Any, input_ids: Any = None, **_: Any) -> Any:
        nonlocal written
        written = 0 if input_ids.shape[1] == start else written + 1  # the prompt, and then a token at a time
        logits = torch.full((1, input_ids.shape[1], len(words)), -50.0)
        logits[0, -1, planned[min(written, len(planned) - 1)]] = 0.0
        return transformers.modeling_outputs.CausalLMOutputWithPast(logits=logits)

    monkeypatch.setattr(transformers.Qwen2ForCausalLM, "forward", step)
    (reply,) = chat(f"hf:{folder}", ChatRequest(ASKED, max_tokens=64, letters=("A", "B")))
    assert (reply.text, reply.reasoning, reply.letter_scores) == ("B", "tea is known", None)
    assert reply.tokens_reasoning > 0


def test_it_judges(tmp_path: Path) -> None:
    rater = make_rater(f"hf:{save_chat(tmp_path)}")

    async def judge() -> Any:
        try:
            return await rater.rate(shown())
        finally:
            await rater.close()

    verdict = asyncio.run(judge())
    assert verdict.answers[0].letters is not None
    assert verdict.answers[0].value == pytest.approx(
        verdict.answers[0].letters["A"] - verdict.answers[0].letters["B"]
    )
    assert math.isfinite(verdict.answers[0].value)
    assert rater.order_matters


def test_too_long_a_prompt_is_its_own_fault(tmp_path: Path) -> None:
    long = ({"role": "user", "content": "x" * 3000},)
    with pytest.raises(Unanswerable, match="reads at most 2,048 tokens"):
        chat(f"hf:{save_chat(tmp_path)}", ChatRequest(long))


def test_weights_are_told_apart(tmp_path: Path) -> None:
    first, again, other = (
        make_model(f"hf:{save_chat(tmp_path / name, seed)}").settings
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other


def test_bad_folders_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such folder"):
        make_model(f"hf:{tmp_path / 'nowhere'}")
    with pytest.raises(UserError, match=r"holds no config\.json"):
        make_model(f"hf:{tmp_path}")
    with pytest.raises(UserError, match="has no chat template"):
        make_model(f"hf:{save_reward(tmp_path / 'plain', chat=None)}")
    with pytest.raises(UserError, match="think is yes or no"):
        make_model(f"hf:{save_chat(tmp_path / 'chat')},think=maybe")
    folder = save_chat(tmp_path / "empty")
    (folder / "model.safetensors").unlink()
    with pytest.raises(Unusable, match="the weights cannot be loaded"):
        chat(f"hf:{folder}", ChatRequest(ASKED))
    broken = save_chat(tmp_path / "template")
    words = transformers.AutoTokenizer.from_pretrained(broken)
    words.chat_template = "{{ raise_exception('not today') }}" + CHAT
    words.save_pretrained(broken)
    with pytest.raises(Unusable, match="chat template cannot be used"):
        chat(f"hf:{broken}", ChatRequest(ASKED))


def test_a_given_reply_is_weighed(tmp_path: Path) -> None:
    """By the mean log-probability of its tokens, as the model itself gives them."""
    folder = save_chat(tmp_path)
    (reply,) = chat(f"hf:{folder}", ChatRequest(ASKED, weighed="Tea please"))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    prompt, answer = (words(text, add_special_tokens=False)["input_ids"] for text in (PROMPT, "Tea please"))
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt, *answer]])).logits[0]
    scores = torch.log_softmax(logits, dim=-1)
    each = [float(scores[len(prompt) - 1 + place, token]) for place, token in enumerate(answer)]
    assert reply.letter_scores is not None
    assert reply.letter_scores["likelihood"] == pytest.approx(sum(each) / len(each), abs=1e-5)
    with pytest.raises(Unanswerable, match="tokens are more than"):
        chat(f"hf:{folder}", ChatRequest(ASKED, weighed="tea " * 5000))


def test_requests_that_wait_together_share_a_pass_and_change_nothing(tmp_path: Path) -> None:
    folder = save_chat(tmp_path)
    questions = ["Tea?", "Tea or coffee, and at what time of the day?", "Coffee or tea?"]
    requests = [
        request
        for text in questions
        for request in (
            ChatRequest(({"role": "user", "content": text},), max_tokens=8),
            ChatRequest(({"role": "user", "content": text},), letters=("A", "B")),
            ChatRequest(({"role": "user", "content": text},), weighed="Coffee or tea"),
            ChatRequest(({"role": "user", "content": text},), max_tokens=6, temperature=1.0, seed=3),
        )
    ]
    too_long = ChatRequest(({"role": "user", "content": "tea " * 5000},), letters=("A", "B"))

    async def all_at_once() -> list[ChatReply | BaseException]:
        model = make_model(f"hf:{folder},batch=8")
        passes = 0
        inner = model._batches._work  # type: ignore[attr-defined]

        def counted(batch: Any) -> Any:
            nonlocal passes
            passes += 1
            return inner(batch)

        model._batches._work = counted  # type: ignore[attr-defined]
        try:
            found = await asyncio.gather(
                *(model.chat(request) for request in [*requests, too_long]), return_exceptions=True
            )
        finally:
            await model.close()
        assert passes == 3 + len(questions)  # what is drawn at random goes by itself
        return found

    alone = chat(f"hf:{folder}", *requests)
    *together, last = asyncio.run(all_at_once())
    assert isinstance(last, Unanswerable)  # and the others of its batch were answered
    for one, other in zip(alone, together, strict=True):
        assert isinstance(other, ChatReply)
        assert other.text == one.text
        assert other.letter_scores == (one.letter_scores and pytest.approx(one.letter_scores, abs=1e-4))
    with pytest.raises(UserError, match="batch is a number"):
        make_model(f"hf:{folder},batch=0")
