"""A person, a question and an answer as tokens: nothing of the answer is ever lost, and nothing begins twice."""

from typing import Any

import pytest

from personafit.models.reward.rendering import PromptRenderer, TooLongError
from tests.helpers import needs
from tests.tiny_models import CHAT, tiny_tokenizer

pytestmark = needs("transformers")
FACETS: dict[str, Any] = {f"Likes.{number}": f"thing number {number}" for number in range(20)}


def text_of(renderer: PromptRenderer, tokenizer: Any, answer: str, facets: dict[str, Any] = FACETS) -> str:
    text: str = tokenizer.decode(renderer.render(facets, "What now?", answer).tokens)
    return text


def test_the_person_comes_first_then_the_question_then_the_answer() -> None:
    tokenizer = tiny_tokenizer()
    text = text_of(PromptRenderer(tokenizer), tokenizer, "Go skiing.")
    assert text.index("thing number 0") < text.index("What now?") < text.index("Go skiing.")


def test_answers_of_one_question_share_their_beginning() -> None:
    renderer = PromptRenderer(tiny_tokenizer())
    one, two = (renderer.render(FACETS, "What now?", answer).tokens for answer in ("Tea.", "Coffee."))
    shared = next(place for place, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    assert len(one) - shared < 10


@pytest.mark.parametrize("limit", [200, 300, 400])
@pytest.mark.parametrize("chat", [CHAT, None])
def test_whole_facets_go_the_last_first_and_the_answer_stays(limit: int, chat: str | None) -> None:
    tokenizer = tiny_tokenizer(chat=chat)
    renderer = PromptRenderer(tokenizer, limit)
    answer = "An answer of some length that must stay."
    rendered = renderer.render(FACETS, "What now?", answer)
    text = tokenizer.decode(rendered.tokens)
    assert 0 < rendered.dropped <= len(FACETS)
    assert len(rendered.tokens) <= limit
    assert answer in text
    assert "What now?" in text
    kept = [
        f"thing number {number}\n" in f"{text}\n" or f"thing number {number}<" in text for number in range(20)
    ]
    assert kept == [number < 20 - rendered.dropped for number in range(20)]
    one_more = dict(list(FACETS.items())[: 20 - rendered.dropped + 1])
    assert len(PromptRenderer(tokenizer).render(one_more, "What now?", answer).tokens) > limit


def test_answers_that_are_compared_lose_the_same_facets() -> None:
    renderer = PromptRenderer(tiny_tokenizer(), 300)
    short, long = renderer.render_together(FACETS, "What now?", ["Tea.", "Tea, " * 20])
    assert short.dropped == long.dropped > renderer.render(FACETS, "What now?", "Tea.").dropped


def test_what_does_not_fit_without_a_person_is_refused() -> None:
    with pytest.raises(TooLongError, match="more than the 50 allowed"):
        PromptRenderer(tiny_tokenizer(), 50).render(FACETS, "What now?", "long " * 20)


def test_two_beginnings_are_refused() -> None:
    twice = "{{ bos_token }}{{ bos_token }}" + CHAT
    with pytest.raises(ValueError, match="two beginnings"):
        PromptRenderer(tiny_tokenizer(twice, bos="<bos>")).render(FACETS, "What now?", "Tea.")
    for chat in ("{{ bos_token }}" + CHAT, None):
        tokenizer = tiny_tokenizer(chat, bos="<bos>")
        assert (
            PromptRenderer(tokenizer).render(FACETS, "What now?", "Tea.").tokens.count(tokenizer.bos_token_id)
            == 1
        )


def test_without_a_system_turn_the_person_stands_before_the_question() -> None:
    without = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turn') }}{% endif %}" + CHAT
    )
    tokenizer = tiny_tokenizer(without)
    text = text_of(PromptRenderer(tokenizer), tokenizer, "Tea.")
    assert "<|system|>" not in text
    assert text.index("thing number 0") < text.index("What now?") < text.index("Tea.")


def test_the_fingerprint_knows_template_and_length() -> None:
    marks = {
        PromptRenderer(tiny_tokenizer(chat), length).fingerprint
        for chat in (CHAT, CHAT + " ", None)
        for length in (128, 4096)
    }
    assert len(marks) == 6
    assert PromptRenderer(tiny_tokenizer()).fingerprint == PromptRenderer(tiny_tokenizer()).fingerprint
