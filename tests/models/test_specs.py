"""Specs and functions: what is named is found, and what is wrong is one sentence."""

import linecache
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.items.dialogue import DIALOGUES
from personafit.items.preference import PREFERENCES
from personafit.items.relevance import ATTRIBUTES
from personafit.models import make_model, parse_spec
from personafit.models.functions import _unknown
from personafit.raters import make_rater

MODULE = """
class Broken:
    def __init__(self): raise RuntimeError("no licence\\nhere")
    def __call__(self): ...
def fine(messages): return messages[0]["content"].upper()
number = 7
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules, importable only in this test."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "spec_fine.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "spec_syntax.py").write_text("def (:\n", encoding="utf-8")
    (tmp_path / "spec_raises.py").write_text("raise AttributeError('inside')\n", encoding="utf-8")
    (tmp_path / "spec_exits.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    return tmp_path


def test_the_grammar() -> None:
    spec = parse_spec("openai:org/model-1.5@http://host:8000/v1/,timeout=0.5,price=1/2")
    assert (spec.kind, spec.name, spec.url) == ("openai", "org/model-1.5", "http://host:8000/v1")
    assert spec.options == {"timeout": "0.5", "price": "1/2"}
    assert parse_spec("rule:length").name == "length"
    assert parse_spec("python:pkg.mod:Class.method").name == "pkg.mod:Class.method"
    assert parse_spec("embedded").kind == "embedded"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "'' is not a spec"),
        (":x", "':x' is not a spec"),
        ("openai:m\udcff", "is not a spec: it is not UTF-8"),
        (
            "nonsense:x",
            "'nonsense:x' names no model; kinds are embedded, hf, inspect, openai, python, replay",
        ),
        ("openai:", "name a model"),
        ("openai:m@", "the address must start with http://"),
        ("openai:m@host/v1", "the address must start with http://"),
        ("openai:m@http://h/v1,colour=red", "unknown option 'colour'; openai knows concurrency, effort"),
        ("openai:m@http://h/v1,timeout=soon", "timeout must be a number of at least 0.001, not 'soon'"),
        ("openai:m@http://h/v1,timeout=0", "timeout must be a number of at least 0.001, not '0'"),
        ("openai:m@http://h/v1,timeout=inf", "timeout must be a number"),
        ("openai:m@http://h/v1,concurrency=nan", "concurrency must be a number of at least 1, not 'nan'"),
        ("openai:m@http://h/v1,concurrency=0", "concurrency must be a number of at least 1"),
        ("openai:m@http://h/v1,temperature=hot", "temperature must be a number of at least 0, not 'hot'"),
        ("openai:m@http://h/v1,price=cheap", "price is IN/OUT in USD per million tokens"),
        ("openai:m@http://h/v1,price=-1", "price is IN/OUT in USD per million tokens"),
        ("python:spec_fine", "write python:MODULE:OBJECT"),
        ("python::fine", "write python:MODULE:OBJECT"),
        ("python:spec_nowhere:f", "cannot import spec_nowhere (No module named 'spec_nowhere')"),
        ("python:spec_fine:missing", "spec_fine has no 'missing'"),
        ("python:spec_fine:number", "spec_fine:number is not callable"),
        ("python:spec_syntax:f", "cannot import spec_syntax (SyntaxError: invalid syntax"),
        ("python:spec_raises:f", "cannot import spec_raises (AttributeError: inside)"),
        ("python:spec_exits:f", "cannot import spec_exits (SystemExit: 0)"),
        ("replay:nowhere.jsonl", "cannot read nowhere.jsonl (No such file or directory)"),
    ],
)
def test_a_wrong_spec_is_one_sentence(modules: Path, spec: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        make_model(spec)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nonsense", "'nonsense' names no rater of choice items; kinds are embedded, hf, inspect, openai, "),
        ("rule:", "there is no such rule; rules that can say which answer fits: rule:length, rule:overlap"),
        ("rule:length,x=1", "unknown option 'x'; rule knows none"),
        ("python:spec_fine:Broken", "spec_fine:Broken() raised RuntimeError: no licence here."),
    ],
)
def test_a_wrong_rater_is_one_sentence(modules: Path, spec: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        make_rater(spec)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        make_rater,
        *(partial(make_rater, asks=asks) for asks in (ATTRIBUTES, PREFERENCES, DIALOGUES)),
        make_model,
    ],
)
def test_a_stated_version_is_what_a_function_is_known_by(
    modules: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[str], Any]
) -> None:
    def known(version: str) -> Any:
        made = make(f"python:spec_fine:fine,version={version}")
        return made.settings if make is make_model else made.record.fingerprint

    before = known("1")
    assert before != known("2")
    monkeypatch.delitem(sys.modules, "spec_fine")
    (modules / "spec_fine.py").write_text(MODULE.replace("upper", "lower"), encoding="utf-8")
    linecache.clearcache()
    assert known("1") == before


def test_a_function_without_source_or_version_is_asked_anew(capsys: pytest.CaptureFixture[str]) -> None:
    _unknown.cache_clear()
    first = make_rater("python:math:dist").record.fingerprint
    said = capsys.readouterr().err
    assert "python:math:dist has no source to know it by" in said
    assert "python:math:dist,version=1" in said
    assert make_rater("python:math:dist").record.fingerprint == first, "one command knows it again"
    _unknown.cache_clear()  # as another process would find it
    assert make_rater("python:math:dist").record.fingerprint != first
    capsys.readouterr()
    versioned = make_rater("python:math:dist,version=1").record.fingerprint
    assert versioned == make_rater("python:math:dist,version=1").record.fingerprint
    assert not capsys.readouterr().err
