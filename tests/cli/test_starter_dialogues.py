"""`run starter --system`: the system's few dialogues beside the choices."""

from pathlib import Path

import pytest

from tests.helpers import run_cli
from tests.scripted import invoke
from tests.stub_endpoint import StubEndpoint

TALKERS = """
def user(messages):
    said = "Thank you." if len(messages) > 3 else "Could you find me something for tonight?"
    return f"{said}\\n[SATISFIED]" if len(messages) > 3 else f"{said}\\n[CONTINUE]"

def judge(messages=None, **choice):
    if choice:
        return [len(answer) for answer in choice["answers"]]
    return '{"complete": true, "score": 3, "scores": [3]}'
"""


def test_a_named_system_holds_a_few_dialogues_too(tmp_path: Path) -> None:
    (tmp_path / "talkers.py").write_text(TALKERS)
    arguments = ("--rater", "rule:length", "--limit", "4", "--system", "canned")
    people = ("--user", "python:talkers:user", "--judge", "python:talkers:judge", "--out", "out")
    done = run_cli("run", "starter", *arguments, *people, cwd=tmp_path, path=tmp_path)
    assert (tmp_path / "out" / "report.html").is_file(), done.stderr
    assert "satisfied" in (tmp_path / "out" / "dialogues" / "results.json").read_text()
    assert "How dialogues ended" in done.stdout


def test_the_dialogues_have_what_the_choices_left_of_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StubEndpoint() as endpoint:
        spec = endpoint.spec(",price=100/100")
        line = ("--limit", "20", "--budget", "0.5", "--rater", spec, "--system", spec, "--user", spec)
        invoke(monkeypatch, tmp_path, "run", "starter", *line, code=1)
        assert 0.4 < len(endpoint.requests) * 110 * 100 / 1e6 <= 0.5
