"""A chat server that plays every part: judge, matcher, assistant, user, profiler. A reply depends on nothing but the request.

Model specs name it by an address that never changes, for the address is part of every fingerprint; while the server runs,
that name leads to whatever port it has.
"""

import hashlib
import json
import math
import re
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pytest
from aiohttp import resolver, web

from tests.extract import speaking
from tests.stub_endpoint import Body, StubEndpoint, completion

HOST = "scripted.test"
URL = f"http://{HOST}/v1"
FIELDS = ("Food.Taste", "Habits.Morning", "Money.Limits", "Work.Hours")
WORDS = (
    "tea",
    "rye",
    "trains",
    "early",
    "quiet",
    "music",
    "plain",
    "garden",
    "maps",
    "honey",
    "stars",
    "bread",
)


def model(name: str, options: str = "") -> str:
    """A spec of one of the models here: `judge` shows the scores of its letters, `plain` does not."""
    return f"openai:{name}@{URL}{options}"


class ScriptedServer(StubEndpoint):
    """The server; `asked` counts its requests."""

    def __init__(self) -> None:
        super().__init__()
        self._patched = pytest.MonkeyPatch()

    @property
    def asked(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def __enter__(self) -> "ScriptedServer":
        super().__enter__()
        port = self.port

        async def resolve(
            _self: Any, host: str, _port: int = 0, family: int = socket.AF_INET
        ) -> list[dict[str, Any]]:
            assert host == HOST, f"nothing but the scripted server is to be asked, not {host}"
            return [
                {
                    "hostname": host,
                    "host": "127.0.0.1",
                    "port": port,
                    "family": socket.AF_INET,
                    "proto": 0,
                    "flags": 0,
                }
            ]

        self._patched.setattr(resolver.DefaultResolver, "resolve", resolve)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._patched.undo()
        super().__exit__(kind, error, traceback)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        with self._lock:
            self.requests.append(body)
        return web.json_response(reply_to(body))


def reply_to(body: Body) -> Body:
    """The completion for a request: now and then a refusal, prose or no letter scores, else what was asked for."""
    if body["model"] == "stages":
        return completion(body, speaking.reply(_said(body)))
    drawn = _drawn(body)
    again = len(body["messages"]) > 2 and body["messages"][-1]["role"] == "user" and _judges(body)
    if _judges(body) and not again:
        if drawn % 41 == 7:
            return completion(body, None, refusal="I do not judge people.")
        if drawn % 17 == 3:
            return completion(body, "That depends on many things.")
    if again and drawn % 3 == 0:
        return completion(body, "As I said, it depends.")
    for pattern, part in PARTS:
        if re.search(pattern, _said(body)):
            return part(body, drawn)
    raise AssertionError(f"the scripted server does not know what to say to: {_said(body)[:300]}")


def _judges(body: Body) -> bool:
    return body["model"] in ("judge", "plain")


def _said(body: Body) -> str:
    return "\n\n".join(str(message["content"]) for message in body["messages"])


def _drawn(body: Body) -> int:
    text = json.dumps([body["model"], body["messages"], body.get("seed")], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def _scored(body: Body, words: list[str], drawn: int) -> Body:
    """One of the words; with their log-probabilities where they are asked for and the model shows them."""
    weights = [1 + int(digit, 16) for digit in hashlib.sha256(str(drawn).encode()).hexdigest()[: len(words)]]
    shares = [weight / sum(weights) for weight in weights]
    best = max(range(len(words)), key=lambda place: shares[place])
    reply = completion(body, words[best])
    if body["model"] == "judge" and body.get("logprobs"):
        top = [
            {"token": word, "logprob": round(math.log(share), 6)}
            for word, share in zip(words, shares, strict=True)
        ]
        reply["choices"][0]["logprobs"] = {"content": [{**top[best], "top_logprobs": top}]}
    return reply


def _letter(body: Body, drawn: int) -> Body:
    letters = re.findall(r"\((A(?: or [A-Z])+)\)", _said(body))[-1]
    return _scored(body, letters.split(" or "), drawn)


def _list(body: Body, drawn: int) -> Body:
    count = len(re.findall(r"^\d+\. ", _said(body), re.MULTILINE))
    return completion(body, json.dumps([n for n in range(1, count + 1) if (drawn >> n % 24) % 4 == 0]))


def _marks(body: Body, drawn: int) -> Body:
    listed = _said(body).split("<attributes>")[1].split("</attributes>")[0]
    count = len(re.findall(r"^\d+\. ", listed, re.MULTILINE))
    missing = 1 if drawn % 5 == 0 else 0  # a reply that forgets one is asked for again
    marks = {str(n): 1 + (drawn >> 2 * n) % 5 for n in range(1, count + 1 - missing)}
    return completion(body, json.dumps(marks))


def _aspects(body: Body, drawn: int) -> Body:
    names = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
    return completion(body, "\n".join(f"{name}: {(drawn >> 3 * n) % 5}" for n, name in enumerate(names)))


def _rubric(body: Body, drawn: int) -> Body:
    said = _said(body)
    marks: dict[str, Any] = {"reason": "It is so."}
    if match := re.search(r'"scores", a list of (\d+) marks', said):
        marks["scores"] = [1 + (drawn >> n) % 4 for n in range(int(match[1]))]
    elif '"complete" (true or false)' in said:
        marks["complete"] = drawn % 3 != 0
    else:
        marks["score"] = 1 + drawn % 4
    return completion(body, json.dumps(marks))


def _kept_memories(body: Body, drawn: int) -> Body:
    count = len(re.findall(r"^\d+\. ", _said(body).split("<memories>")[1], re.MULTILINE))
    verdicts = {str(n): ("keep", "drop", "conflict")[(drawn >> n) % 3] for n in range(1, count + 1)}
    return completion(body, json.dumps(verdicts))


def _edits(body: Body, drawn: int) -> Body:
    edit = {"do": "add", "field": FIELDS[drawn % 4], "value": f"likes {_words(drawn, 2)}", "evidence": [1]}
    return completion(body, json.dumps({"edits": [edit] if drawn % 6 else []}))


def _user(body: Body, drawn: int) -> Body:
    spoken = sum(message["role"] == "assistant" for message in body["messages"])
    if spoken == 0:
        return completion(body, f"I would like help with {_words(drawn, 2)}.")
    ends = {0: "[SATISFIED]", 1: "[GIVE UP]"}.get(drawn % 8, "[SATISFIED]" if spoken > 2 else "[CONTINUE]")
    return completion(body, f"And what about {_words(drawn, 2)}?\n{ends}")


def _assistant(body: Body, drawn: int) -> Body:
    return completion(
        body, f"I have thought of you: {_words(drawn, 4 + drawn % 6)}. {'You will like it. ' * (drawn % 3)}"
    )


def _words(drawn: int, count: int) -> str:
    return " ".join(WORDS[(drawn >> 2 * n) % len(WORDS)] for n in range(count))


PARTS: list[tuple[str, Callable[[Body, int], Body]]] = [
    (r"You judge a dialogue between", _rubric),
    (r"You play a person who writes to the assistant", _user),
    (r"You keep a short profile of a person|你为助手维护一个人的简短档案", _edits),
    (r"Go over the numbered memories|请逐条看这些编了号的记忆", _kept_memories),
    (r"Give one answer five marks", _aspects),
    (r"Two assistants answered the same question", _marks),
    (r"Which answer fits best\?", _letter),
    (r"Should knowing this change the reply\?", lambda body, drawn: _scored(body, ["yes", "no"], drawn)),
    (r"Answer with one digit, 3, 2, 1 or 0", lambda body, drawn: _scored(body, ["3", "2", "1", "0"], drawn)),
    (
        r"a numbered list says what is known|which of these things the answer names|Say which of these things",
        _list,
    ),
    (r"You are a (?:helpful|personal) assistant|writes? (?:as|like)", _assistant),
]
"""What is looked for in a request, and who then answers; the first that is found."""
