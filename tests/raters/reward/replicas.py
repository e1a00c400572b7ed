"""Servers in the shapes of real ones, after their documentation and code: fields, defaults, errors, and who adds which tokens.

Each tokenizes as its original does and scores the tokens, so that a text put together otherwise gets another score. Without
being asked for the plain score, they squeeze it as their originals do.
"""

import math
from typing import Any

from aiohttp import web

from tests.raters.reward.scoring_server import Body, ScoringServer

LONGEST = 400


def score_of(tokens: list[int]) -> float:
    """A score that depends on every token and its place."""
    return sum((place + 1) * token for place, token in enumerate(tokens)) % 10_007 / 100 - 50


def squeezed(score: float) -> float:
    """What a server makes of a score when the plain one was not asked for."""
    return 1 / (1 + math.exp(-score))


def refusal(status: int, message: str, **more: Any) -> web.Response:
    """An error in the layout of OpenAI's."""
    return web.json_response({"error": {"message": message, **more}}, status=status)


class Replica(ScoringServer):
    """Shared by all: a tokenizer and a longest text."""

    paths: tuple[str, ...] = ()

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(*self.paths)
        self.tokenizer = tokenizer

    def read(self, *texts: str, marks: bool = True) -> list[int]:
        """The tokens of a text, or of two that are joined."""
        tokens: list[int] = self.tokenizer(*texts, add_special_tokens=marks)["input_ids"]
        return tokens


class Vllm(Replica):
    """vLLM 0.32: messages or tokens; `use_activation` is on unless it is turned off."""

    paths = ("classify", "pooling")

    def reply(self, name: str, body: Body) -> web.Response:
        if body.get("model") != "scorer":
            return refusal(404, f"The model `{body.get('model')}` does not exist.", type="NotFoundError")
        if "messages" in body:
            text = self.tokenizer.apply_chat_template(body["messages"], tokenize=False)
            tokens = self.read(text, marks=False)
        elif "input" in body:
            tokens = body["input"] if isinstance(body["input"], list) else self.read(body["input"])
        else:
            return refusal(400, "1 validation error: {'loc': 'body.input', 'msg': 'Field required'}")
        if len(tokens) > LONGEST:
            return refusal(400, f"This model's maximum context length is {LONGEST} tokens.")
        plain = body.get("use_activation") is False
        number = score_of(tokens) if plain else squeezed(score_of(tokens))
        data: dict[str, Body] = {
            "classify": {"label": "LABEL_0", "probs": [number], "num_classes": 1},
            "pooling": {"object": "pooling", "data": [number]},
        }
        return web.json_response(
            {"data": [{"index": 0, **data[name]}], "usage": {"prompt_tokens": len(tokens)}}
        )


class Sglang(Replica):
    """SGLang 0.5: text or tokens, no messages; `/v1/classify` would make every single score 1."""

    paths = ("classify", "v1/classify")

    def reply(self, name: str, body: Body) -> web.Response:
        if name == "v1/classify":
            return web.json_response({"data": [{"index": 0, "probs": [1.0], "num_classes": 1}]})
        if "input_ids" not in body and "text" not in body:
            return refusal(400, "At least one of text, input_ids, image, video, or audio should be provided")
        tokens = body["input_ids"] if "input_ids" in body else self.read(body["text"])
        if len(tokens) >= LONGEST:
            return refusal(
                400, f"The input ({len(tokens)} tokens) is longer than the model's context length."
            )
        meta = {"id": "1", "finish_reason": None, "prompt_tokens": len(tokens)}
        return web.json_response({"embedding": [score_of(tokens)], "meta_info": meta})


class Openrlhf(Replica):
    """OpenRLHF 0.11's serve_rm: texts as they are, cut at its longest without a word."""

    paths = ("get_reward",)

    def reply(self, name: str, body: Body) -> web.Response:
        rewards = [score_of(self.read(text, marks=False)[:LONGEST]) for text in body["query"]]
        return web.json_response({"rewards": rewards, "scores": rewards, "extra_logs": {}})
