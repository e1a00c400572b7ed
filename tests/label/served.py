"""A labelling server as a process of its own, on a free port, and raters who talk to it over HTTP."""

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from personafit import Store
from personafit.api.places import find_run
from personafit.benchmarks import FolderBenchmark, ingest
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.label import Access, StudyConfig, make_study
from personafit.label.making import StudySetup
from personafit.label.web.app import create_app

TOKEN = re.compile(r'name="csrf" (?:content|value)="([^"]+)"')


@cache
def _starter() -> tempfile.TemporaryDirectory[str]:
    """A folder with a store that holds the starter set and nothing else."""
    folder = tempfile.TemporaryDirectory(prefix="personafit-starter-")
    with Store(Path(folder.name) / "store.db") as opened:
        ingest(opened, FolderBenchmark(STARTER, None))
    return folder


def starter_store(path: Path) -> Path:
    """A store of one's own with the starter set in it: reading that in takes longer than most tests."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(_starter().name) / "store.db", path)
    return path


def new_study(
    store: str | Path, name: str = "pilot", count: int | None = 6, question: str = "fit", **config: Any
) -> StudySetup:
    """A study of the starter set; a store that is not there yet is made."""
    settings = {"overlap": 2, "seats": 2} | config
    if isinstance(store, Path) and not store.exists():
        starter_store(store)
    with Store(store) as opened:
        return make_study(opened, name, "starter", question, StudyConfig(**settings), find_run, count=count)


def invitation(store: str | Path, name: str = "pilot", seat: int | None = 0) -> str:
    """The path of a signed link."""
    with Store(store) as opened:
        return f"/join/{Access(opened.engine).invite(name, seat)}"


def free_port() -> int:
    """A port that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """The server: started, killed, and started again on the same store."""

    store: str
    port: int = field(default_factory=free_port)
    options: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def address(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "personafit", "label", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--store", self.store, *self.options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(600):
            with suppress(httpx.TransportError):
                httpx.get(f"{self.address}/openapi.json", timeout=2)
                return
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> bytes:
        """End it without a word; returns what it had to complain of."""
        said = b""
        if self.process is not None:
            self.process.kill()
            said = self.process.communicate()[1]
            self.process = None
        return said


@contextmanager
def serving(store: str | Path, *options: str) -> Iterator[Server]:
    """A server for as long as it is needed."""
    server = Server(str(store), options=options)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def serving_here(store: str | Path, *models: str) -> Iterator[Server]:
    """The app in a thread of this process, which starts at once; for tests in which the process is not the point."""
    at = Server(str(store))
    app = create_app(store, models)
    how: dict[str, Any] = {"log_level": "error", "proxy_headers": False, "timeout_graceful_shutdown": 1}
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=at.port, **how))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield at
    finally:
        running.should_exit = True
        thread.join()


class RaterClient:
    """A rater without a browser."""

    def __init__(self, address: str, invitation: str) -> None:
        self.http = httpx.Client(
            base_url=address, follow_redirects=True, headers={"accept": "text/html"}, timeout=30
        )
        shown = self.http.get(invitation)
        if "/join/" in str(shown.url):
            shown = self.http.post(invitation, data={"csrf": _token(shown.text), "agree": "yes"})
        self.page = shown.text
        self.csrf = _token(shown.text) if TOKEN.search(shown.text) else ""

    def __enter__(self) -> "RaterClient":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.http.close()

    def answer(self, page: int, value: str | None, field: str = "fit", **more: Any) -> httpx.Response:
        """Send one answer."""
        body = {
            "id": str(uuid.uuid4()),
            "page": page,
            "field": field,
            "value": value,
            "client_time": time.time(),
        }
        return self.http.post("/api/answers", json=body | more, headers={"x-csrf-token": self.csrf})


def _token(html: str) -> str:
    found = TOKEN.search(html)
    assert found is not None, html
    return found[1]
