"""The same seed on fresh stores stores the same values: only times differ."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.faults.world import answers, personafit, write_benchmark
from tests.stub_endpoint import StubEndpoint

KEYS = ("item", "rater", "context", "order", "sample")


@pytest.mark.slow
def test_two_runs_of_one_command_store_the_same(tmp_path: Path, endpoint: StubEndpoint) -> None:
    write_benchmark(tmp_path / "village", 20)
    tables, printed = [], []
    for number in range(2):
        store, out = f"{number}.db", f"{number}.jsonl"
        line = (
            "run",
            "village",
            "--rater",
            endpoint.spec(",temperature=0.7"),
            "--seed",
            "7",
            "--samples",
            "2",
        )
        done = personafit(*line, "--limit", "12", "--store", store, "--out", "out", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
        assert (
            personafit("data", "convert", "last", "--out", out, "--store", store, cwd=tmp_path).returncode
            == 0
        )
        rows = [json.loads(row) for row in (tmp_path / out).read_text(encoding="utf-8").splitlines()]
        tables.append(pl.DataFrame(rows).drop("seconds").sort(KEYS))
    assert printed[0] == printed[1]
    assert len(tables[0]) == 12 * 3 * (2 * 2 + 2 * 2)  # three contexts; two orders twice, and two rules twice
    assert tables[0].equals(tables[1])
    assert answers(tmp_path / "0.db") == answers(tmp_path / "1.db")
    seeds = [body.get("seed") for body in endpoint.requests]
    assert sorted(seeds[: len(seeds) // 2], key=str) == sorted(seeds[len(seeds) // 2 :], key=str)


def test_another_seed_draws_another_sample(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "village", 40)
    found = []
    for seed in ("7", "8"):
        line = (
            "run",
            "village",
            "--rater",
            "rule:length",
            "--limit",
            "10",
            "--seed",
            seed,
            "--store",
            f"{seed}.db",
        )
        assert personafit(*line, cwd=tmp_path).returncode == 0
        found.append({row[0] for row in answers(tmp_path / f"{seed}.db")})
    assert [len(items) for items in found] == [10, 10]
    assert found[0] != found[1]
