"""A small world to break: a benchmark folder of any size, commands on it, and what a store holds afterwards."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import chdir, closing, nullcontext, redirect_stderr, redirect_stdout
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest import mock

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.cli import main
from personafit.engine import RetryPolicy, Runner, Silence, Summary
from personafit.run import execute

Answer = tuple[Any, ...]
Command = Callable[..., list[str]]

ANSWERS = """
SELECT a.item, r.name, a.context, a."order", a.sample, a.status, j.status, j.label, j.value
FROM asks a JOIN raters r ON r.fingerprint = a.rater LEFT JOIN judgments j ON j.ask = a.id
WHERE a.status <> 'failed' ORDER BY a.item, r.name, a.context, a."order", a.sample
"""


def write_benchmark(folder: Path, items: int = 12, people: int = 4) -> Path:
    """A valid benchmark folder: people in turn, two unequal answers each, gold in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.toml").write_text('name = "village"\nversion = "1"\n', encoding="utf-8")
    write_lines(
        folder / "people.jsonl",
        [
            {"id": f"p{n}", "language": "en", "facets": {"Job": f"job {n}", "Likes": "tea and rain"}}
            for n in range(people)
        ],
    )
    products, rows, gold = [], [], []
    for n in range(items):
        products += [
            {
                "id": f"i{n}-{side}",
                "kind": "answer",
                "text": f"Answer {side} to {n}: " + "so " * (n % (3 + side)),
            }
            for side in range(2)
        ]
        pair = [f"i{n}-0", f"i{n}-1"]
        rows.append(
            {"id": f"village/{n}", "person": f"p{n % people}", "prompt": f"What {n}?", "products": pair}
        )
        gold.append(
            {"item": f"village/{n}", "rater": "author", "label": str(n % 2), "extra": {"tier": "easy"}}
        )
    write_lines(folder / "products.jsonl", products)
    write_lines(folder / "items.jsonl", rows)
    write_lines(folder / "gold.jsonl", gold)
    return folder


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def command(*arguments: str | Path) -> list[str]:
    """The command line of `personafit` with these arguments."""
    return [sys.executable, "-m", "personafit", *map(str, arguments)]


def personafit(*arguments: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run `personafit` to its end, in this process: what has to be killed or doubled is started with `command`.

    Threads start processes: the working folder and the streams belong to the whole process.
    """
    if threading.current_thread() is not threading.main_thread():
        return subprocess.run(
            command(*arguments),
            cwd=cwd,
            env=quiet(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
    line = list(map(str, arguments))
    code: int | str | None = 0
    with (
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch("sys.argv", ["personafit", *line]),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    said = []
    for stream in (out, err):
        stream.seek(0)
        said.append(stream.read())
    return subprocess.CompletedProcess(line, int(code or 0), *said)


def quiet() -> dict[str, str]:
    """The environment without keys and addresses of the machine the tests run on."""
    unwanted = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PERSONAFIT_STORE")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def sentences(stderr: str) -> list[str]:
    """What the program said on standard error, progress lines aside; a traceback is never among it."""
    assert "Traceback" not in stderr, stderr
    lines = [line for line in stderr.splitlines() if line.strip() and not _is_progress(line)]
    assert all(line.startswith(("personafit: ", "  ")) for line in lines), stderr  # several faults are listed
    return [line.removeprefix("personafit: ").strip() for line in lines]


def answers(store: Path) -> list[Answer]:
    """Every final ask in a SQLite store with its judgment; times and costs left out."""
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return list(connection.execute(ANSWERS))


def asks(store: Path, status: str) -> dict[str, float]:
    """Ids of the asks that ended so, with the time they ended."""
    with closing(sqlite3.connect(store)) as connection:
        return dict(connection.execute("SELECT id, at FROM asks WHERE status = ?", (status,)))


def texts(store: Path, column: str) -> set[str | None]:
    """The distinct values of a column of all asks that cost tokens."""
    with closing(sqlite3.connect(store)) as connection:
        query = f"SELECT DISTINCT {column} FROM asks WHERE tokens_in > 0"
        return {row[0] for row in connection.execute(query)}


def carry_out(store: Path, config: RunConfig, policy: RetryPolicy | None = None) -> Summary:
    """Take a run up in this process, with less patience if need be."""
    runner = mock.patch("personafit.run.Runner", partial(Runner, policy=policy))
    with Store(store) as opened, runner if policy else nullcontext():
        return asyncio.run(execute(opened, config, Silence())).summary


def _is_progress(line: str) -> bool:
    clock, _, rest = line.partition("  ")
    return len(clock) == 8 and clock.count(":") == 2 and "/" in rest
