"""What the tests about the hub share: a stand-in that the command line is pointed at, with small data sets on it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from huggingface_hub import constants

from personafit import UserError
from personafit.benchmarks.fetching import fetch_dataset
from personafit.benchmarks.hub import DatasetCopy
from tests.benchmarks.published_lens import write_lens
from tests.benchmarks.stub_hub import Repo, StubHub

FEEDBACK = "PersonalAILab/PersonaFeedback"
LENS = "AmazonScience/PersonaLens"


@pytest.fixture
def hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StubHub]:
    """A hub that the test and its commands talk to, with an empty cache and no token; the test works in its own folder."""
    for name in (
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_HUB_OFFLINE",
        "HF_HUB_CACHE",
        "HTTP_PROXY",
        "http_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("hf-home")
    monkeypatch.setenv("HF_HOME", str(home))
    # The same for this process, where huggingface_hub may have been imported long ago.
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for name in ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_IMPLICIT_TOKEN", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setattr(constants, name, True)
        monkeypatch.setenv(name, "1")
    monkeypatch.chdir(tmp_path)
    with StubHub() as stub:
        monkeypatch.setenv("HF_ENDPOINT", stub.url)
        yield stub


def get(name: str, out: str | None = None, revision: str | None = None) -> DatasetCopy:
    """`data get` without a process of its own."""
    return fetch_dataset(name, None if out is None else Path(out), revision, say=print)


def refused(name: str, out: str | None = None, revision: str | None = None) -> str:
    """What `data get` says when it does not fetch."""
    with pytest.raises(UserError) as caught:
        get(name, out, revision)
    return str(caught.value)


def lines(*rows: Mapping[str, object]) -> bytes:
    """Rows as JSONL."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def add_feedback(hub: StubHub) -> Repo:
    """PersonaFeedback in its hub layout, in words of our own; one file is large enough for LFS."""
    repo = hub.repos[FEEDBACK] = Repo()
    repo.licence = "apache-2.0"
    people = [
        {"Name": name, "Preference": {"Drink": drink}} for name, drink in (("Ada", "tea"), ("Bo", "milk"))
    ]
    pair = {"user_id": "1", "question": "A drink?", "chosen": "Tea for you.", "reject": "Some milk, perhaps."}
    other = {"user_id": "2", "question": "A drink?", "chosen": "Warm milk.", "reject": "Black tea then."}
    repo.files = {
        ".gitattributes": b"*.bin filter=lfs\n",
        "README.md": b"---\nlicense: apache-2.0\n---\n",
        "data/general/easy.jsonl": lines(*[pair, other] * 200),
        "data/general/hard.jsonl": lines(pair),
        "data/spedific/medium.jsonl": lines(other),
        "persona/all_personas.jsonl": lines(*people),
        "notes/slides.bin": b"not for us",
    }
    return repo


def add_lens(hub: StubHub, folder: Path) -> Repo:
    """PersonaLens in its published layout."""
    world = write_lens(folder)
    repo = hub.repos[LENS] = Repo()
    repo.licence = "cc-by-nc-4.0"
    repo.files = contents(world)
    return repo


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder that is not hidden."""
    names = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
    }
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(".")}


def content_hash(folder: Path) -> str:
    """One hash over names and bytes."""
    digest = hashlib.sha256()
    for name, content in contents(folder).items():
        digest.update(f"{name}\x00{len(content)}\x00".encode() + content)
    return digest.hexdigest()


def everything(folder: Path) -> set[str]:
    """Every path below a folder, hidden ones too."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
