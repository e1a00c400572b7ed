"""`reward:NAME@URL` against servers in the shapes of real ones: the tokens that are scored are those that `reward:PATH` reads."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.models import Unanswerable, Unusable
from personafit.models.reward.rendering import PromptRenderer
from personafit.raters import make_rater
from personafit.raters.reward.reading import known
from tests.raters.reward.replicas import Openrlhf, Replica, Sglang, Vllm, score_of
from tests.raters.reward.test_rater import about
from tests.raters.reward.test_served import rate
from tests.raters.reward.tiny import CHAT, config, tokenizer, transformers
from tests.scripted import shown

TURNS = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
ONE = about(shown(texts=("tea, of course 茶", "coffee")), Likes="tea", Job="x" * 30)
LONG = about(ONE, Likes="tea", Job="x" * 30, Home="y" * 400)


def save(folder: Path, kind: str) -> Path:
    """Configuration and tokenizer of a model: `bare`, `marked` (template and tokenizer both begin the text), `spaced`."""
    from tokenizers.processors import TemplateProcessing

    words = tokenizer({"bare": TURNS, "marked": "{{ bos_token }}" + TURNS, "spaced": CHAT}[kind])
    if kind == "marked":
        words.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", words.bos_token_id)]
        )
    config(num_labels=1).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def expected(folder: Path, max_tokens: int = 2048) -> list[float]:
    """The scores of the tokens that our own models read."""
    renderer = PromptRenderer(transformers.AutoTokenizer.from_pretrained(folder), max_tokens)
    texts = renderer.render_together(known(ONE.context), ONE.prompt, ONE.texts)
    return [score_of(text.tokens) for text in texts]


@pytest.mark.parametrize(
    ("kind", "server", "options"),
    [
        ("bare", Vllm, ""),
        ("marked", Vllm, ",api=pooling"),
        ("marked", Vllm, ",tokenizer={folder}"),
        ("spaced", Vllm, ",api=pooling,tokenizer={folder}"),
        ("marked", Sglang, ",api=sglang,tokenizer={folder}"),
        ("marked", Openrlhf, ",api=openrlhf,tokenizer={folder}"),
        ("spaced", Openrlhf, ",api=openrlhf,tokenizer={folder}"),
    ],
)
def test_the_tokens_that_are_scored(
    tmp_path: Path, kind: str, server: Callable[..., Replica], options: str
) -> None:
    folder = save(tmp_path, kind)
    with server(transformers.AutoTokenizer.from_pretrained(folder)) as running:
        (verdict,) = rate(make_rater(running.spec(options.format(folder=folder))), ONE)
    assert json.loads(verdict.reply or "") == pytest.approx(expected(folder))
    assert verdict.tokens_in > 100


def test_too_long_loses_facets_as_at_home(tmp_path: Path) -> None:
    folder = save(tmp_path, "bare")
    with Openrlhf(transformers.AutoTokenizer.from_pretrained(folder)) as server:
        spec = server.spec(f",api=openrlhf,tokenizer={folder},max_tokens=390")
        (verdict,) = rate(make_rater(spec), LONG)
        with pytest.raises(Unanswerable, match="more than the 390 allowed"):
            rate(make_rater(spec), replace(ONE, texts=("tea", "x" * 400)))
    assert verdict.detail == "1 of 3 facets left out to keep to 390 tokens"
    assert json.loads(verdict.reply or "") == pytest.approx(expected(folder, 390))


@pytest.mark.parametrize(
    ("server", "options", "said"),
    [
        (Vllm, "", "HTTP 400.*maximum context length"),
        (Sglang, ",api=sglang,tokenizer={folder}", "HTTP 400.*longer than the model's context"),
    ],
)
def test_too_long_for_the_server_fails(
    tmp_path: Path, server: Callable[..., Replica], options: str, said: str
) -> None:
    folder = save(tmp_path, "bare")
    with (
        server(transformers.AutoTokenizer.from_pretrained(folder)) as running,
        pytest.raises(Unanswerable, match=said),
    ):
        rate(make_rater(running.spec(options.format(folder=folder))), LONG)


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    folder = save(tmp_path, "bare")
    with Vllm(transformers.AutoTokenizer.from_pretrained(folder)) as running:
        with pytest.raises(Unusable, match=r"other` does not exist") as raised:
            rate(make_rater(f"reward:other@{running.url},tokenizer={folder}"), ONE)
        assert "in no form" not in str(raised.value)


def test_a_server_of_another_kind_is_told_apart(tmp_path: Path) -> None:
    words = transformers.AutoTokenizer.from_pretrained(save(tmp_path, "bare"))
    named = pytest.raises(Unusable, match=r"name one with ,api=.*sglang\|openrlhf")
    with Sglang(words) as running, named as raised:
        rate(make_rater(running.spec()), ONE)
    assert len(running.requests) == 2
    assert "tea" not in str(raised.value)  # some repeat what was sent


def test_people_it_was_trained_on_are_known(tmp_path: Path) -> None:
    folder = save(tmp_path, "bare")
    (folder / "personafit.json").write_text(json.dumps({"fitted_on": ["ann"]}), encoding="utf-8")
    rater = make_rater(f"reward:x@http://localhost:1,tokenizer={folder}")
    assert getattr(rater, "fitted_on", None) == {"ann"}


def test_fingerprints_tell_tokenizers_apart(tmp_path: Path) -> None:
    made = [save(tmp_path / str(number), kind) for number, kind in enumerate(("bare", "bare", "marked"))]
    first, again, other = (make_rater(f"reward:x@http://h,tokenizer={folder}").record for folder in made)
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_bad_specs(tmp_path: Path) -> None:
    folder = save(tmp_path, "bare")
    for options, said in (
        (",api=sglang", "such a server takes text as the model reads it"),
        (",max_tokens=100", "max_tokens is for texts that are made here"),
        (f",tokenizer={folder},system=no", "leave out it or tokenizer"),
        (",tokenizer=/no/such", "there is no such folder"),
    ):
        with pytest.raises(UserError, match=said):
            make_rater(f"reward:x@http://localhost:1{options}")
