"""Embeddings from a real local server: batches, order, repeated tries, and replies that are no vectors."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from personafit._errors import UserError
from personafit.models import embedding_endpoint
from personafit.models.embeddings import make_embedder

Replies = list[tuple[int, Any]]


def vectors(texts: list[str]) -> Any:
    """One vector for each text, told apart by its length; given back in the wrong order, as a server may."""
    data = [{"index": n, "embedding": [float(len(text)), 1.0]} for n, text in enumerate(texts)]
    return {"data": data[::-1]}


@contextmanager
def server(replies: Replies) -> Iterator[tuple[str, list[Any]]]:
    """A server that gives the replies in turn, then vectors; and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers.get("Authorization"), body))
            status, reply = replies.pop(0) if replies else (200, vectors(body["input"]))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", reply)
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization"), None))
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"openai:small@http://127.0.0.1:{listening.server_port}/v1", asked
        listening.shutdown()
        thread.join(10)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_endpoint, "PAUSE", 0.0)
    monkeypatch.setattr(embedding_endpoint, "BATCH", 2)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one() -> None:
    with server([]) as (spec, asked):
        found = make_embedder(spec).embed(["a", "bbb", "cc"])
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0)
    assert np.allclose(found[:, 0] / found[:, 1], [1.0, 3.0, 2.0])
    assert [(path, key, body["input"]) for path, key, body in asked] == [
        ("/v1/embeddings", "Bearer sk-secret-0123456789", ["a", "bbb"]),
        ("/v1/embeddings", "Bearer sk-secret-0123456789", ["cc"]),
    ]


def test_a_busy_server_is_tried_again() -> None:
    with server([(503, {}), (429, {})]) as (spec, asked):
        assert make_embedder(spec).embed(["a"]).shape == (1, 2)
        assert len(asked) == 3


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        ([(401, {"error": "bad key sk-secret-0123456789"})], "answers 401"),
        ([(200, {"data": []})], "did not answer with one vector for each text"),
        ([(200, {"data": [{"index": 0, "embedding": []}]})], "empty or not finite"),
        ([(500, {})] * 4, "tried 4 times"),
    ],
)
def test_what_is_no_answer_is_one_sentence(replies: Replies, says: str) -> None:
    with server(list(replies)) as (spec, _), pytest.raises(UserError, match=says) as caught:
        make_embedder(spec).embed(["a"])
    assert "sk-secret-0123456789" not in str(caught.value)


def test_the_key_does_not_go_along_to_another_server() -> None:
    with server([]) as (other, asked_there), server([(302, other.partition("@")[2])]) as (spec, asked):
        with pytest.raises(UserError, match="answers 404"):
            make_embedder(spec).embed(["a"])
        assert [key for _, key, _ in asked] == ["Bearer sk-secret-0123456789"]
        assert [key for _, key, _ in asked_there] == [None]


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(UserError, match="does not answer"):
        make_embedder("openai:m@http://127.0.0.1:9/v1").embed(["a"])
    with pytest.raises(UserError, match="name a model"):
        make_embedder("openai:")
