"""A model endpoint that speaks for the stages, and an embedder that needs no weights."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit._hashing import hash_text
from personafit.extract import running
from personafit.models.embeddings import Vectors, unit_rows
from tests.extract.speaking import speak
from tests.extract.world import small_log
from tests.scripted import invoke
from tests.stub_endpoint import BEHAVIOURS, StubEndpoint, saying

BEHAVIOURS["stages"] = saying(speak)


class Bags:
    """Texts as bags of words, or of Chinese characters: near enough to tell what says the same."""

    fingerprint = "bags"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        rows = np.zeros((len(texts), 512), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"[a-z0-9']+|[\u4e00-\u9fff]", text.lower()):
                row[int(hash_text(word)[:8], 16) % 512] += 1.0
        return unit_rows(rows)


@pytest.fixture
def endpoint() -> Iterator[StubEndpoint]:
    """A real server that answers by rules."""
    with StubEndpoint("stages") as stub:
        yield stub


@pytest.fixture
def bags(monkeypatch: pytest.MonkeyPatch) -> Bags:
    """Runs in this process embed without weights."""
    embedder = Bags()
    monkeypatch.setattr(running, "make_embedder", lambda _name: embedder)
    return embedder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A small log."""
    return small_log(tmp_path / "log.jsonl")


Stages = Callable[..., Any]


@pytest.fixture
def stages(
    tmp_path: Path,
    endpoint: StubEndpoint,
    bags: Bags,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Stages:
    """`extract run` of log.jsonl into `out`, with more options and another exit code where given; returns what it said."""

    def run(*more: str, code: int = 0) -> Any:
        capsys.readouterr()
        command = ("extract", "run", "log.jsonl", "--model", endpoint.spec(), "--out", "out", *more)
        invoke(monkeypatch, tmp_path, *command, code=code)
        return capsys.readouterr()

    return run
