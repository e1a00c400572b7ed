"""Keys come from the environment or the keyring, and are found nowhere else: a canary is looked for in every byte."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from unittest import mock

import pytest

from personafit import UserError
from personafit._secrets import masked
from personafit.models import make_model, parse_spec
from tests.faults import wire, world  # noqa: F401  (the behaviours of `wire` are used by name)
from tests.faults.world import Command, personafit, write_benchmark
from tests.stub_endpoint import StubEndpoint

CANARY = "sk-canary-4f1c9a7be2d84650"
PASSWORD = "canary-password/with@signs"


def _run(folder: Path, *line: str, key: str | None = CANARY) -> "subprocess.CompletedProcess[str]":
    with mock.patch.dict(os.environ, {"OPENAI_API_KEY": key, "OTHER_KEY": key} if key else {}):
        return personafit(*line, cwd=folder)


def _find(folder: Path, secret: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if secret.encode() in path.read_bytes()]


@pytest.mark.slow
def test_a_canary_is_found_nowhere(tmp_path: Path, endpoint: StubEndpoint) -> None:
    """Good replies, replies and errors that repeat the key, refusals, and every command that writes."""
    write_benchmark(tmp_path / "village", 6)
    said = []
    for number, fault in enumerate(
        ("echo_reply", "echo_escaped", "echo", "redirect", "unauthorized", "letters")
    ):
        endpoint.behave(fault)
        judge = ("run", "village", "--rater", endpoint.spec(",key_env=OTHER_KEY"), "--context", "profile")
        done = _run(tmp_path, *judge, "--seed", str(number), "--junit", f"{fault}.xml", "--out", fault)
        said += [done.stdout, done.stderr]
    assert f"Bearer {CANARY}" in endpoint.keys, "the key was sent"
    for line in (
        ("report", "last"),
        ("data", "convert", "last", "--out", "judgments.jsonl"),
        ("run", "village", "--rater", f"openai:m@http://me:{CANARY}@127.0.0.1:1/v1"),
        ("run", "village", "--rater", "rule:length", "--store", f"postgresql://me:{CANARY}@127.0.0.1:1/x"),
    ):
        done = _run(tmp_path, *line)
        said += [done.stdout, done.stderr]
    assert [text for text in said if CANARY in text] == []
    assert _find(tmp_path, CANARY) == []
    assert _find(tmp_path, "***"), "what was repeated was masked"


@pytest.mark.parametrize(
    "line",
    [
        ("run", "village", "--rater", f"openai:m@http://{CANARY}@127.0.0.1:1/v1"),
        ("run", "village", "--rater", f"openai:m@http://me:{CANARY}@127.0.0.1:1/v1"),
        ("run", "village", "--rater", f"openai:m@http://127.0.0.1:1/v1?api_key={CANARY}"),
        ("run", "village", "--rater", f"openai:m@http://127.0.0.1:1/v1?x={CANARY}"),
        ("run", "village", "--rater", f"openai:m@http://127.0.0.1:1/v1,key={CANARY}"),
        ("run", "village", "--rater", f"openai:m@{CANARY}"),
        ("run", "village", "--rater", f"opnai:m@http://me:{CANARY}@127.0.0.1:1/v1"),
        ("run", "answers", "--system", f"openai:m,api_key={CANARY}"),
        ("run", "village", "--rater", "rule:length", "--store", f"postgresql://me:{CANARY}@127.0.0.1:1/x"),
        ("run", "village", "--rater", "rule:length", "--store", f"nosuch://h/x?password={CANARY}"),
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    tmp_path: Path, command: Command, line: tuple[str, ...]
) -> None:
    write_benchmark(tmp_path / "village", 3)
    (said,) = command(*line, code=2)
    assert CANARY not in said
    assert _find(tmp_path, CANARY) == []


def test_another_origin_gets_neither_the_key_nor_what_is_asked(
    tmp_path: Path, endpoint: StubEndpoint
) -> None:
    write_benchmark(tmp_path / "village", 3)
    endpoint.behave("redirect")
    done = _run(tmp_path, "run", "village", "--rater", endpoint.spec(), "--context", "profile")
    assert done.returncode == 2
    target = f"http://localhost:{endpoint.port}/v1/chat/completions"
    assert f"redirects to {target}; name that address in the spec if it is yours." in done.stderr
    assert None not in endpoint.keys, "nothing was sent on"


def test_the_recorded_command_is_masked(tmp_path: Path) -> None:
    """A store by URL, with what SQLAlchemy takes for a password in its query."""
    write_benchmark(tmp_path / "village", 3)
    url = f"sqlite:///{tmp_path}/store.db?timeout=5"
    assert _run(tmp_path, "run", "village", "--rater", "rule:length", "--store", url).returncode == 0
    assert masked(f"personafit run x --store postgresql://me:{PASSWORD}@host/db") == (
        "personafit run x --store postgresql://me:***@host/db"
    )
    assert masked("--store 'postgresql://h/d?user=me&password=geheim&sslmode=require'") == (
        "--store 'postgresql://h/d?user=me&password=***&sslmode=require'"
    )


@pytest.mark.parametrize(
    "text",
    [
        "personafit run starter --rater openai:gpt-4.1@http://host:8000/v1,price=0.4/1.6,key_env=MY_KEY",
        "personafit run a.jsonl --rater openai:org/model-1.5 --fail-under lift=0.05",
        "postgresql://me@/db?host=/tmp/socket",
        "aspects:embedded,max_tokens=5",
    ],
)
def test_what_holds_no_key_stays_as_it_is(text: str) -> None:
    assert masked(text) == text


def test_an_address_from_the_environment_may_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{CANARY}@host/v1")
    with pytest.raises(UserError) as caught:
        make_model("openai:m")
    assert str(caught.value).startswith("OPENAI_BASE_URL: ")
    assert CANARY not in str(caught.value)


def test_the_keyring_is_asked_where_the_environment_has_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, endpoint: StubEndpoint
) -> None:
    asked = []

    def get_password(service: str, name: str) -> str | None:
        asked.append((service, name))
        return CANARY

    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=get_password))
    model = make_model(endpoint.spec())
    assert model._headers["Authorization"] == f"Bearer {CANARY}"  # type: ignore[attr-defined]
    assert asked == [("personafit", "OPENAI_API_KEY")]
    assert CANARY not in json.dumps(model.settings) + model.name
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    assert make_model(endpoint.spec())._headers["Authorization"] == "Bearer from-the-environment"  # type: ignore[attr-defined]
    assert len(asked) == 1


def test_a_keyring_that_is_locked_or_missing_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(_service: str, _name: str) -> str | None:
        raise RuntimeError("locked")

    for module in (types.SimpleNamespace(get_password=locked), None):
        monkeypatch.setitem(sys.modules, "keyring", module)
        assert "Authorization" not in make_model("openai:m@http://h/v1")._headers  # type: ignore[attr-defined]


def test_files_may_have_question_marks_in_their_names() -> None:
    assert parse_spec("replay:/a?b#c.jsonl").name == "/a?b#c.jsonl"
