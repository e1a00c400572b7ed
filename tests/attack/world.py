"""What an attacker ships and listens on: a benchmark folder that names what it should not, and a server that notes who called."""

import json
import shutil
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from personafit.benchmarks.starter import FOLDER as STARTER

RAN = "somebody-elses-code-ran"
HELPER = f"""from pathlib import Path

Path("{RAN}").touch()


def rate(*_):
    return 0
"""
MODEL_CODE = f"""from pathlib import Path

from transformers import PretrainedConfig

Path("{RAN}").touch()


class Config(PretrainedConfig):
    model_type = "theirs"
"""


class Listener:
    """A server of the attacker's: notes every request with its key, and answers none of them well."""

    def __init__(self) -> None:
        self.called: list[tuple[str, str | None]] = []
        """Path and Authorization header of each request."""
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.called.append((self.path, self.headers.get("Authorization")))
                self.send_error(404)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "Listener":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def hostile_folder(place: Path, changes: Mapping[str, object]) -> Path:
    """The starter set with other values in its benchmark.toml, and with code and a model of the attacker's beside its data."""
    shutil.copytree(STARTER, place)
    said: dict[str, object] = {"name": "mine", "context": "profile", "controls.contexts": []}
    said["controls.raters"] = ["rule:length"]
    said |= changes
    lines = [
        f"name = {json.dumps(said['name'])}",
        'version = "1"',
        'layout = [["tier"]]',
        f"context = {json.dumps(said['context'])}",
        "[controls]",
        f"contexts = {json.dumps(said['controls.contexts'])}",
        f"raters = {json.dumps(said['controls.raters'])}",
    ]
    (place / "benchmark.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (place / "helper.py").write_text(HELPER, encoding="utf-8")
    model = place / "model"
    model.mkdir()
    config = {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Config"}}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (model / "theirs.py").write_text(MODEL_CODE, encoding="utf-8")
    return place
