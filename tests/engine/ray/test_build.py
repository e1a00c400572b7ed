"""`personafit build --backend ray`, carried through as a command: the same benchmark as locally, whatever happens on the way."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.engine.ray.commands import PATIENCE, at_work
from tests.helpers import run_cli
from tests.tiny_models import save_tiny_gguf

# Templates write and a function checks. The tiny model answers in no language, so most of its answers are asked for again and few pass;
# a function answers too, so that there are questions with three answers by one model.
CONFIG = """
[build]
languages = ["en", "zh"]
[models]
writer = "template"
checker = "python:checker:content"
answerers = ["embedded:tiny.gguf,cache=off,threads=1", "python:checker:answer"]
[people]
quota = 2
[questions]
specific = 4
general = 0
shares = {recommendations = 0.5, leisure = 0.5}
similarity = 1.0
[answers]
words = 10
[studies]
voters = "simulated"
raters = 3
pairs = 2
balanced = false
"""
FUNCTIONS = """
from hashlib import sha256

def content(messages):
    return "A"

def answer(messages):
    said = messages[-1]["content"]
    chinese = sum(letter > "\u3400" for letter in said) > len(said) / 5
    first, gap = ("\u4e00", "") if chinese else ("a", " ")
    digits = sha256(str(messages).encode()).hexdigest()[:10]
    return gap.join(chr(ord(first) + int(digit, 16)) * (1 if chinese else 2) for digit in digits)
"""
STORED = (
    "SELECT id, job, generation, item, question, status, reply, attempts, tokens_in, tokens_out FROM asks ORDER BY id",
    "SELECT id, kind, text, maker, about, parents FROM products ORDER BY id",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config, its models, and what the command makes of them without a cluster."""
    folder = tmp_path_factory.mktemp("factory")
    save_tiny_gguf(folder / "tiny.gguf")
    (folder / "checker.py").write_text(FUNCTIONS, encoding="utf-8")
    (folder / "build.toml").write_text(CONFIG, encoding="utf-8")
    run_cli("build", "build.toml", "--out", "local", cwd=folder)
    return folder


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """What a build's store has; nothing before its tables are made."""
    if not (folder / "build.db").exists():
        return []
    with closing(sqlite3.connect(folder / "build.db")) as connection:
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []


def answered(folder: Path) -> int:
    """Return how many answers the tiny model has given."""
    its = "SELECT fingerprint FROM raters WHERE name LIKE 'embedded%'"
    return len(rows(folder, f"SELECT id FROM asks WHERE question LIKE 'answers.%' AND rater IN ({its})"))


def files(folder: Path) -> dict[str, bytes]:
    """All that a build has made, its store aside."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("build.db"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.slow
def test_a_build_that_is_interrupted_and_loses_a_worker_and_a_node_is_the_same_as_locally(
    world: Path, cluster: Any, second_node: Any, workers_of: Callable[[Any], list[int]]
) -> None:
    made = world / "ray"
    command = ("build", "build.toml", "--out", "ray", "--backend", f"ray://{cluster.address}")
    nodes = [*cluster.worker_nodes]
    half = answered(world / "local") // 2

    def pipeline_workers() -> list[int]:
        return [pid for node in nodes for pid in workers_of(node)]

    with at_work(*command, cwd=world) as build:
        build.wait_until(lambda: answered(made) > 0)
        assert pipeline_workers()
        build.signalled(signal.SIGINT)
        said = build.end(130)
    assert said == ["interrupted; what was done is kept and the same command goes on from there."]
    before, begun = rows(made, STORED[0]), answered(made)
    assert 0 < answered(made) < half, "it was not in the middle of a pipeline"
    deadline = time.monotonic() + PATIENCE
    while left := pipeline_workers():
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)

    with at_work(*command, cwd=world) as build:
        build.wait_until(lambda: answered(made) > begun)
        killed = workers_of(second_node)
        for worker in killed:
            os.kill(worker, signal.SIGKILL)
        assert killed
        assert answered(made) < half, "the worker was lost too late"
        build.wait_until(lambda: answered(made) > half)
        cluster.remove_node(second_node, allow_graceful=False)
        assert answered(made) < 2 * half, "the node was lost too late"
        assert build.end() == []

    assert set(before) <= set(rows(made, STORED[0])), "what was made before is kept"
    for query in STORED:
        assert rows(made, query) == rows(world / "local", query)
    assert files(made) == files(world / "local")
