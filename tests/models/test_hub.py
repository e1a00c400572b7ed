"""Any GGUF on the hub by its address: the hub states size and hash, the user may insist on one, and broken downloads go on."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.models.embedded import find_weights
from personafit.models.hub import hub_source, is_address
from tests.scripted import invoke

BODY = bytes(range(256)) * 1024
SHA256 = hashlib.sha256(BODY).hexdigest()
ADDRESS = "someone/toy-GGUF/q4/toy-q4.gguf"
PLACE = f"/{ADDRESS.replace('GGUF/', 'GGUF/resolve/main/')}"


class Hub(ThreadingHTTPServer):
    """A stand-in that, like the hub, states size and hash and sends the reader on to its storage."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stated: dict[str, str] = {"X-Linked-Size": str(len(BODY)), "X-Linked-Etag": f'"{SHA256}"'}
        self.break_after: int | None = None
        self.asked: list[tuple[str, str, str | None]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append((self.command, self.path, wanted))
        if self.path == PLACE:
            self.send_response(302)
            self.send_header("Location", "/storage/blob")
            for name, value in self.server.stated.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/storage/blob":
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(BODY) - start))
            self.end_headers()
            self.wfile.write(BODY[start:][: self.server.break_after])
        else:
            self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("PERSONAFIT_MODELS", str(tmp_path / "models"))
    yield server
    server.shutdown()
    server.server_close()


def test_a_file_is_fetched_by_its_address_and_then_found_without_the_hub(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=rf"fetch it with personafit models get {ADDRESS}"):
        find_weights(ADDRESS)
    hub.break_after = 100_000
    invoke(monkeypatch, tmp_path, "models", "get", ADDRESS, code=2)
    assert f"{ADDRESS} cannot be fetched: the hub sent 100,000 of 262,144 bytes" in capsys.readouterr().err
    hub.break_after = None
    invoke(monkeypatch, tmp_path, "models", "get", ADDRESS, "--sha256", SHA256.upper())
    assert f"Use it as embedded:{ADDRESS}." in capsys.readouterr().out
    assert ("GET", "/storage/blob", "bytes=100000-") in hub.asked
    kept = tmp_path / "models" / ADDRESS
    assert kept.read_bytes() == BODY
    assert [path.name for path in kept.parent.iterdir()] == ["toy-q4.gguf"]
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert find_weights(ADDRESS) == kept
    invoke(monkeypatch, tmp_path, "models", "list")
    assert f"embedded:{ADDRESS}\n" in capsys.readouterr().out


def test_another_hash_than_expected_is_found_out_before_the_download(hub: Hub) -> None:
    with pytest.raises(UserError, match=r"the hub has a file with SHA-256 .* nothing was fetched"):
        hub_source(ADDRESS, "0" * 64)
    with pytest.raises(UserError, match=r"64 hexadecimal digits"):
        hub_source(ADDRESS, "abc")
    assert {command for command, _, _ in hub.asked} == {"HEAD"}


def test_a_hash_the_hub_does_not_state_must_be_given(hub: Hub) -> None:
    hub.stated["X-Linked-Etag"] = '"5d41402abc"'
    with pytest.raises(UserError, match=r"give the one you expect with --sha256"):
        hub_source(ADDRESS)
    assert hub_source(ADDRESS, SHA256).sha256 == SHA256


def test_a_file_that_is_not_there_and_a_hub_that_is_silent_are_one_sentence(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"the hub says 404 \(Not Found\)"):
        hub_source("someone/toy-GGUF/other.gguf")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"the hub did not answer \(.*refused"):
        hub_source(ADDRESS)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (ADDRESS, True),
        ("Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf", True),
        ("toy.gguf", False),
        ("folder/toy.gguf", False),
        ("a/../b/toy.gguf", False),
        ("../../b/toy.gguf", False),
        ("/a/b/toy.gguf", False),
        ("a/b/toy.bin", False),
    ],
)
def test_what_is_an_address(name: str, is_one: bool) -> None:
    assert is_address(name) is is_one
