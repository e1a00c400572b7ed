"""`personafit data get` against a hub that is a real server on this machine."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from huggingface_hub import constants

from personafit import UserError
from personafit.benchmarks.hub import data_folder
from tests.benchmarks.hub_world import (
    FEEDBACK,
    add_feedback,
    add_lens,
    contents,
    everything,
    get,
    hub,
    refused,
)
from tests.benchmarks.stub_hub import Repo, StubHub
from tests.conftest import Command

__all__ = ["hub"]

COPY = Path(".personafit") / "data" / "personafeedback"
EASY = "data/general/easy.jsonl"
HARD = "data/general/hard.jsonl"
TAKEN = {"README.md", EASY, HARD, "data/spedific/medium.jsonl", "persona/all_personas.jsonl"}
SECRET = "hf_" + "s" * 30


def test_a_run_without_data_uses_what_was_fetched(hub: StubHub, tmp_path: Path, personafit: Command) -> None:
    repo = add_feedback(hub)
    said = personafit("data", "get", "personafeedback").out
    assert "Licence: apache-2.0." in said
    assert repo.commit in said
    assert contents(COPY) == {name: repo.files[name] for name in TAKEN}
    assert {path.name for path in COPY.iterdir() if path.name.startswith(".")} == {".hub.json"}
    assert {name for name in everything(tmp_path) if not name.startswith(COPY.as_posix())} == {
        ".personafit",
        ".personafit/data",
    }
    assert everything(Path(os.environ["HF_HOME"])) == set()
    personafit("run", "personafeedback", "--rater", "rule:length")

    asked = len(hub.requests)
    assert not get("personafeedback").fresh
    assert len(hub.requests) == asked


def test_personalens_is_fetched_and_read(hub: StubHub, tmp_path: Path) -> None:
    repo = add_lens(hub, tmp_path / "world")
    repo.files["res/benchmark.png"] = b"a picture"
    fetched = get("personalens", out="lens")
    assert fetched.licence == "cc-by-nc-4.0"
    assert contents(tmp_path / "lens") == contents(tmp_path / "world")
    assert not any(request.token for request in hub.requests)
    with pytest.raises(UserError, match="personalens needs --data FOLDER"):
        data_folder("personalens", None)
    get("personalens")
    assert data_folder("personalens", None) == Path(".personafit/data/personalens")
    assert data_folder("personalens", tmp_path / "lens") == tmp_path / "lens"
    with pytest.raises(UserError, match="recentering needs --data FOLDER"):
        data_folder("recentering", None)


def test_a_broken_connection_goes_on_where_it_broke(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        constants, "DOWNLOAD_CHUNK_SIZE", 1_000
    )  # what arrives is written in pieces of this size
    repo = add_feedback(hub)
    hub.large = 10_000
    hub.cut[EASY] = 7_000
    get("personafeedback")
    assert [request.range for request in hub.requests if request.range] == ["bytes=7000-"]
    assert contents(COPY)[EASY] == repo.files[EASY]


def test_a_killed_download_is_no_copy_and_is_taken_up_again(hub: StubHub, tmp_path: Path) -> None:
    repo = add_feedback(hub)
    hub.hold = EASY
    command = [sys.executable, "-m", "personafit", "data", "get", "personafeedback"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(list(COPY.rglob("*.metadata"))) < len(TAKEN) - 1:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    hub.hold = None
    hub.held.set()
    with pytest.raises(UserError, match="personafeedback needs --data FOLDER"):
        data_folder("personafeedback", None)

    hub.requests.clear()
    get("personafeedback")
    assert hub.fetched() == [EASY]
    assert contents(COPY) == {name: repo.files[name] for name in TAKEN}
    assert not (COPY / ".partial").exists()
    assert data_folder("personafeedback", None) == COPY


def test_bytes_other_than_listed_are_thrown_away(hub: StubHub) -> None:
    add_feedback(hub)
    hub.spoilt.add(HARD)
    assert f"{HARD} is not what the hub lists" in refused("personafeedback")
    hub.spoilt.clear()
    hub.requests.clear()
    get("personafeedback")
    assert hub.fetched() == [HARD]


def test_a_half_fetched_older_revision_leaves_nothing_behind(hub: StubHub) -> None:
    repo = add_feedback(hub)
    repo.files["data/general/medium.jsonl"] = repo.files[HARD]
    hub.spoilt.add(HARD)
    refused("personafeedback")
    hub.spoilt.clear()
    del repo.files["data/general/medium.jsonl"]
    get("personafeedback")
    assert set(contents(COPY)) == TAKEN


def test_a_revision_is_pinned(hub: StubHub) -> None:
    repo = add_feedback(hub)
    assert get(FEEDBACK, "copy", repo.commit).fresh
    assert not get(FEEDBACK, "copy", repo.commit[:8]).fresh
    assert f"copy holds revision {repo.commit[:12]}" in refused(FEEDBACK, "copy", "v2")
    assert f"{FEEDBACK} has no such revision" in refused(FEEDBACK, "new", "v2")
    assert not Path("new").exists()
    assert f"copy holds {FEEDBACK}" in refused("org/other", "copy")


def test_private_and_missing_ones_look_the_same(hub: StubHub) -> None:
    hub.token = SECRET
    add_feedback(hub).private = True
    for name in (FEEDBACK, "nobody/nothing"):
        said = refused(name)
        assert (
            said
            == f"There is no data set {name} on the hub, or it is private; for a private one set HF_TOKEN."
        )


def test_the_token_comes_from_the_environment_only_and_is_never_shown(
    hub: StubHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, personafit: Command
) -> None:
    hub.token = SECRET
    hub.large = 10_000
    add_feedback(hub).private = True
    Path(os.environ["HF_HOME"], "token").write_text(SECRET)
    said = personafit("data", "get", "personafeedback", code=2).err
    assert "for a private one set HF_TOKEN" in said
    assert {request.token for request in hub.requests} == {None}

    hub.requests.clear()
    monkeypatch.setenv("HF_TOKEN", SECRET)
    done = personafit("data", "get", "personafeedback")
    assert SECRET not in done.out + done.err
    assert {request.token for request in hub.requests if request.path.startswith("/lfs/")} == {None}
    assert {request.token for request in hub.requests if not request.path.startswith("/lfs/")} == {SECRET}
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


def test_no_hub_is_one_sentence(hub: StubHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        assert f"{FEEDBACK} cannot be fetched: the hub cannot be reached" in refused("personafeedback")
    monkeypatch.setenv("HF_ENDPOINT", "http://no such host")
    assert f"{FEEDBACK} cannot be fetched: " in refused("personafeedback")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert f"{FEEDBACK} cannot be fetched: HF_HUB_OFFLINE is set" in refused("personafeedback")
    assert everything(tmp_path) == set()


@pytest.mark.parametrize(
    ("refuses", "sentence"),
    [
        ((403, "GatedRepo"), f"{FEEDBACK} is gated: ask for access on its page"),
        ((500, ""), f"{FEEDBACK} cannot be fetched: the hub answered 500."),
    ],
)
def test_a_hub_that_does_not_give_it_out(
    hub: StubHub, tmp_path: Path, refuses: tuple[int, str], sentence: str
) -> None:
    add_feedback(hub).refuses = refuses
    assert refused("personafeedback").startswith(sentence)
    assert everything(tmp_path) == set()


@pytest.mark.parametrize(
    "name",
    [
        "../escaped.jsonl",
        "data/../../escaped.jsonl",
        "/tmp/escaped.jsonl",
        "..\\escaped.jsonl",
        "C:\\escaped.jsonl",
    ],
)
def test_a_listing_that_climbs_is_refused_whole(hub: StubHub, tmp_path: Path, name: str) -> None:
    add_feedback(hub).listed_extra.append(name)
    assert "would be written outside its folder; nothing was fetched" in refused("personafeedback")
    assert hub.fetched() == []
    assert everything(tmp_path) == set()


def test_a_commit_that_is_no_hash_is_not_believed(hub: StubHub, tmp_path: Path) -> None:
    add_feedback(hub).pretends = "../../escaped"
    assert "is not a hub" in refused("personafeedback")
    assert everything(tmp_path) == set()


def test_what_we_cannot_read_is_not_fetched(hub: StubHub) -> None:
    hub.repos["org/other"] = Repo()
    hub.repos["org/other"].files = {"README.md": b"# Other\n", "data/train.parquet": b"PAR1"}
    assert "org/other holds nothing that personafit reads, and nothing was fetched" in refused("org/other")
    assert hub.fetched() == []
    repo = add_feedback(hub)
    repo.files["persona/all_personas.jsonl"] = b"no JSON\n"
    said = refused("personafeedback")
    assert "was fetched but is not what it looks like" in said
    assert "all_personas.jsonl, line 1" in said
    with pytest.raises(UserError, match="personafeedback needs --data FOLDER"):
        data_folder("personafeedback", None)


def test_bad_usage(hub: StubHub, tmp_path: Path) -> None:
    Path("full").mkdir()
    Path("full", "mine.txt").write_text("mine")
    add_feedback(hub)
    assert "full is there already and not empty" in refused("personafeedback", "full")
    assert "mine.txt is a file" in refused("personafeedback", "full/mine.txt")
    for name in ("nothing", "../up", "org/..", "org/name/more"):
        assert f"'{name}' is not a data set on the hub" in refused(name)
    assert hub.requests == []
    assert everything(tmp_path) == {"full", "full/mine.txt"}


def test_without_the_extra_it_says_what_to_install(
    personafit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "pip install 'personafit[hub]'" in personafit("data", "get", "personafeedback", code=2).err
    said = personafit("run", "personafeedback", code=2).err
    assert "personafeedback needs --data FOLDER" in said
    assert "`personafit data get personafeedback`" in said
