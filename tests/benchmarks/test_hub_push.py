"""`personafit data push` against a hub that is a real server on this machine, and back again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks.publishing import (
    Publication,
    find_private,
    open_licence,
    publishable,
    push_folder,
)
from personafit.benchmarks.starter import FOLDER
from tests.benchmarks.hub_world import content_hash, contents, get, hub
from tests.benchmarks.stub_hub import Repo, StubHub
from tests.conftest import Command

__all__ = ["hub"]

TOKEN = "hf_" + "t" * 30
NAME = "team/fit"


@pytest.fixture
def folder(hub: StubHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the starter benchmark, and a token to push it with."""
    hub.token = TOKEN
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    shutil.copytree(FOLDER, tmp_path / "fit")
    return tmp_path / "fit"


def push(private: bool = False, licence: str | None = None, anyway: bool = False) -> Publication:
    """`data push` without a process of its own."""
    return push_folder(Path("fit"), NAME, private, licence, anyway)


def refused(private: bool = False, licence: str | None = None, anyway: bool = False) -> str:
    """What `data push` says when it does not."""
    with pytest.raises(UserError) as caught:
        push(private, licence, anyway)
    return str(caught.value)


def write_line(path: Path, line: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")


def test_what_is_pushed_comes_back_the_same(
    hub: StubHub, folder: Path, tmp_path: Path, personafit: Command
) -> None:
    (folder / "notes.txt").write_text("ours")
    done = personafit("data", "push", "fit", NAME, "--private")
    (folder / "notes.txt").unlink()
    assert "Not published, as no part of a benchmark folder: notes.txt." in done.out
    assert f"/datasets/{NAME} holds fit" in done.out
    assert TOKEN not in done.out + done.err
    repo = hub.repos[NAME]
    assert repo.private
    assert {request.token for request in hub.requests if not request.path.startswith("/lfs/")} == {TOKEN}
    assert any(request.method == "PUT" for request in hub.requests), "nothing was large enough for LFS"

    assert "Licence: apache-2.0." in personafit("data", "get", NAME, "--out", "back").out
    assert content_hash(tmp_path / "back") == content_hash(folder)
    personafit("data", "check", "back")


def test_the_card_loads_with_datasets(hub: StubHub, folder: Path, tmp_path: Path) -> None:
    """The configurations of the front matter are what `datasets.load_dataset` goes by; here on a copy of the repository."""
    pytest.importorskip("datasets")
    push()
    for name, content in hub.repos[NAME].files.items():
        (tmp_path / "repo" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "repo" / name).write_bytes(content)
    program = (
        "import datasets\n"
        "for name in datasets.get_dataset_config_names('repo'):\n"
        "    print(name, len(datasets.load_dataset('repo', name, split='test')))\n"
        "print(datasets.load_dataset('repo', split='test')[0]['id'])\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = {
        path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.jsonl")
    }
    *loaded, first = done.stdout.splitlines()
    assert {name: int(count) for name, count in (line.split() for line in loaded)} == counts
    assert first == "starter/nadia/leaving-do"


def test_the_front_matter(hub: StubHub, folder: Path, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    push()
    card = hub.repos[NAME].files["README.md"].decode()
    assert hub.yaml == [card]
    _, front, body = card.split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["license"] == "apache-2.0"
    assert data["language"] == ["en", "zh"]
    assert data["configs"][0] == {
        "config_name": "items",
        "default": True,
        "data_files": [{"split": "test", "path": "items.jsonl"}],
    }
    assert {config["config_name"] for config in data["configs"]} == {
        path.stem for path in folder.glob("*.jsonl")
    }
    assert body.strip().startswith((folder / "card.md").read_text(encoding="utf-8").strip())


def test_pushing_again_replaces_and_removes(hub: StubHub, folder: Path, tmp_path: Path) -> None:
    push()
    assert "conversations.jsonl" in hub.repos[NAME].files
    (folder / "conversations.jsonl").unlink()
    (folder / "card.md").write_text("# Another\n")
    push()
    get(NAME)
    assert contents(tmp_path / ".personafit" / "data" / NAME) == contents(folder)


def test_nothing_is_sent_when_a_check_fails(hub: StubHub, folder: Path, tmp_path: Path) -> None:
    toml = (folder / "benchmark.toml").read_text(encoding="utf-8")
    (folder / "benchmark.toml").write_text(toml.replace('"Apache-2.0"', '"unknown"'), encoding="utf-8")
    said = refused()
    assert "field 'licence' says 'unknown'" in said
    write_line(folder / "people.jsonl", '{"id": "x", "language": "en", "facets": {"Mail": "x@example.org"}}')
    said = refused(licence="CC-BY-4.0")
    assert "field 'facets.Mail': an e-mail address seems to be there (1 such places in all)" in said
    assert "x@example.org" not in said
    assert hub.requests == []
    assert push(licence="CC-BY-4.0", anyway=True).licence == "cc-by-4.0"
    write_line(folder / "gold.jsonl", '{"item": "nowhere", "rater": "author", "label": "0"}')
    said = refused(licence="CC-BY-4.0", anyway=True)
    assert "'nowhere' is not in items.jsonl" in said


def test_a_repository_that_is_not_ours_to_fill(hub: StubHub, folder: Path, tmp_path: Path) -> None:
    hub.repos[NAME] = Repo()
    said = refused(private=True)
    assert f"{NAME} already exists and is public" in said
    hub.repos[NAME].files = {"train.csv": b"a,b\n"}
    said = refused()
    assert f"{NAME} holds other data (train.csv)" in said
    assert hub.repos[NAME].files == {"train.csv": b"a,b\n"}


def test_a_token_is_needed_and_a_wrong_one_is_not_repeated(
    hub: StubHub, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "hf_" + "w" * 30
    monkeypatch.setenv("HF_TOKEN", wrong)
    said = refused()
    assert (
        f"{NAME} cannot be pushed: the hub answered 403; HF_TOKEN must hold a token that may do this." in said
    )
    assert wrong not in said
    monkeypatch.delenv("HF_TOKEN")
    Path(os.environ["HF_HOME"], "token").write_text(TOKEN)
    hub.requests.clear()
    said = refused()
    assert "in the environment variable HF_TOKEN" in said
    assert hub.requests == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Apache-2.0", "apache-2.0"),
        ("Apache-2.0 (c) 2025 OPPO, for the General half", "apache-2.0"),
        ("CC BY-NC-SA 4.0", "cc-by-nc-sa-4.0"),
        ("cc-by-4.0", "cc-by-4.0"),
        ("MIT", "mit"),
        ("CC-BY-NC-ND-4.0", None),
        ("CC-BY-4.01", None),
        ("mitigated", None),
        ("All rights reserved; not MIT", None),
        ("unknown", None),
        ("", None),
    ],
)
def test_licences_are_known_by_how_they_begin(text: str, name: str | None) -> None:
    assert open_licence(text) == name


def test_a_licence_of_ones_own_is_called_other() -> None:
    assert publishable("unknown", "Team licence 1", "x") == {
        "license": "other",
        "license_name": "Team licence 1",
    }
    assert publishable("unknown", "CC-BY-4.0", "x") == {"license": "cc-by-4.0"}
    with pytest.raises(UserError, match="empty"):
        publishable("MIT", " ", "x")


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("Write to ada.l+x@mail.example.com please", True),
        ("Ring +44 20 7946 0958 after six", True),
        ("call (212) 555-0142", True),
        ("手机 13812345678", True),
        ("020 7946 0958", True),
        ("sk-abcdefghijklmnop1234", True),
        ("password=hunter22", True),
        ("born 1990-04-12, moved 2015-2020", False),
        ("earns 120 000 a year, saved 1,234,567", False),
        ("plays @ noon; 10 000 steps; 3.14159265358", False),
        ("ISBN 978-3-16-148410-0", False),
    ],
)
def test_what_looks_private(tmp_path: Path, text: str, private: bool) -> None:
    (tmp_path / "people.jsonl").write_text(
        f'{{"id": "x", "memories": [{{"text": "{text}"}}]}}\n', encoding="utf-8"
    )
    assert bool(find_private(tmp_path)) is private


def test_a_help_line_in_an_answer_is_not_private(tmp_path: Path) -> None:
    (tmp_path / "products.jsonl").write_text('{"id": "x", "text": "Call 020 7946 0958."}\n')
    assert find_private(tmp_path) == []
    assert find_private(FOLDER) == []
