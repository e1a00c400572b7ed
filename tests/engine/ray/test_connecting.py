"""`--backend`: what it takes, and one sentence when there is no cluster to be had; and Ctrl-C."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from personafit import UserError
from personafit.engine.ray import working_on
from tests.engine.ray.commands import PATIENCE, at_work
from tests.engine.ray.conftest import processes
from tests.faults.world import answers, write_benchmark
from tests.helpers import run_cli
from tests.stub_endpoint import StubEndpoint
from tests.tiny_models import save_tiny_gguf

ITEMS = 120  # enough for a hand to come in between


def refused(where: str) -> str:
    """The sentence with which --backend is refused."""
    with pytest.raises(UserError) as caught, working_on(where):
        pass
    return str(caught.value)


def test_what_there_is() -> None:
    assert refused("spark") == "--backend spark: there are local, ray, and ray://HOST:PORT."
    assert refused("ray://") == "--backend ray://: there are local, ray, and ray://HOST:PORT."
    assert (
        refused("ray://here:there")
        == "--backend ray://here:there: 'there' is no port; write ray://HOST:PORT."
    )
    with working_on("local"):
        pass


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert (
        refused("ray") == "--backend ray: Ray is not installed; it comes with pip install 'personafit[ray]'."
    )


def test_an_address_where_nothing_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets it, nothing answers
        port = taken.getsockname()[1]
        said = refused(f"ray://127.0.0.1:{port}")
    assert said.startswith(f"--backend ray://127.0.0.1:{port}: no Ray cluster answers there (")
    assert said.endswith(f"start one with ray start --head --port {port}.")


def test_an_address_where_something_else_answers(endpoint: StubEndpoint) -> None:
    where = f"ray://{urlsplit(endpoint.url).netloc}"
    assert (
        refused(where)
        == f"--backend {where}: the server there is no Ray cluster; give the port of its head, usually 6379."
    )


@pytest.mark.slow
def test_a_cluster_with_a_token(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    token = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a token of the team's"}
    start = (
        f"ray start --head --node-ip-address 127.0.0.1 --port {where.partition(':')[2]} --num-cpus 0 --object-store-memory 100000000 "
        "--include-dashboard false --disable-usage-stats --block"
    )
    join = f"from personafit.engine.ray import working_on\nwith working_on('ray://{where}'): print('joined')"
    with (tmp_path / "log").open("wb") as log:
        head = subprocess.Popen(
            [Path(sys.executable).parent / "ray", *start.split()[1:]], env=token, stdout=log
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while b"runtime started" not in (tmp_path / "log").read_bytes():
            assert head.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        said = refused(f"ray://{where}")
        joined = subprocess.run(
            [sys.executable, "-c", join], env=token, capture_output=True, text=True, check=True
        )
    finally:
        head.send_signal(signal.SIGTERM)
        head.wait()
    assert said.endswith("if the cluster has a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too.")
    assert joined.stdout == "joined\n"


def session_of(process: int) -> int | None:
    """The session a process belongs to; None when it is gone."""
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return None


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_running_and_nothing_to_do_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    write_benchmark(tmp_path / "village", ITEMS, 10)
    save_tiny_gguf(tmp_path / "tiny.gguf")
    model = "embedded:tiny.gguf,cache=off,threads=1"
    command = ("run", "village", "--rater", model, "--context", "profile")
    with at_work(*command, "--backend", "ray", cwd=tmp_path) as run:
        run.wait_until(lambda: bool(answers_of_models(tmp_path)))
        before = len(answers_of_models(tmp_path))
        run.signalled(signal.SIGINT)
        said = run.end(130)
    assert said == ["interrupted; what was done is kept and the same command goes on from there."]
    deadline = time.monotonic() + 60
    while left := [title for pid, _, title in processes() if session_of(pid) == run.pid and title]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.1)
    after = answers_of_models(tmp_path)
    assert before <= len(after) < 2 * ITEMS
    run_cli(*command, "--store", "local.db", cwd=tmp_path)
    run_cli(*command, cwd=tmp_path)
    assert answers(tmp_path / ".personafit" / "store.db") == answers(tmp_path / "local.db")
    assert set(after) <= set(answers_of_models(tmp_path))


def answers_of_models(folder: Path) -> list[tuple[Any, ...]]:
    """What models have answered so far, with the time at which they did."""
    path = folder / ".personafit" / "store.db"
    if not path.exists():
        return []
    query = "SELECT a.id, a.at FROM asks a JOIN raters r ON r.fingerprint = a.rater WHERE r.kind = 'llm'"
    with closing(sqlite3.connect(path)) as connection:
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError:  # its tables are being made
            return []
