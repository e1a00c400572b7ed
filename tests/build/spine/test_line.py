"""The line: done once, resumed after kill -9, done anew on purpose, stopped by budget, endpoint, disk or a dull model."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.benchmarks import check_folder
from personafit.build import Bench, Stopped
from tests.build.builds import calls, lines, own_writer, run_build, write_build
from tests.helpers import python_path
from tests.stub_endpoint import StubEndpoint

SMALL = "[people]\nquota = 6\nsimilarity = 1.0\n"
MEMORIES = "[memories]\nper_person = 4\nsampled = 3\nfeatures = 2\n"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six people with memories and features, built once."""
    folder = tmp_path_factory.mktemp("once")
    with own_writer(folder):
        built = run_build(write_build(folder, SMALL + MEMORIES), folder / "out")
    assert built.done == ["people", "memories", "features"]
    return folder


@pytest.fixture
def config(once: Path, tmp_path: Path) -> Path:
    """The config of such a build, whose copy is beside it in `out`."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "build.toml"


def test_a_build_is_done_once_and_its_folder_is_right(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "out"
    assert check_folder(out) == []
    people = lines(out / "people.jsonl")
    assert len(people) == 6
    assert all(len(one["memories"]) == 5 and len(one["attributes"]) == 2 for one in people)
    makers = {row["fingerprint"]: row for row in lines(out / "makers.jsonl")}
    for product in lines(out / "products.jsonl"):
        maker = makers[product["maker"]]
        assert (maker["prompt"], maker["step"], maker["seed"]) == ("people.profile-2", "people", 0)
        assert maker["model"] == "python:strong_writer:answer"
        assert product["parents"][0].startswith("seed-")
        assert len(product["parents"]) == 3  # the seed, the words, the screening
    asked = calls(tmp_path)
    again = run_build(config, out)
    assert again.kept == ["people", "memories", "features"]
    assert calls(tmp_path) == asked
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "| people | 6 people, 6 products |" in card
    assert "| memory | python:strong_writer:answer, memories.write-2 | 6 |" in card


def test_kill_9_loses_nothing(tmp_path: Path, config: Path) -> None:
    whole = calls(tmp_path)
    (tmp_path / "calls.txt").unlink()
    command = [sys.executable, "-m", "personafit", "build", "build.toml", "--out", "cut"]
    environment = {**os.environ, "DIE_AT": str(whole - 3), "PYTHONPATH": python_path(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == -9
    assert (tmp_path / "cut" / "steps" / "people" / "done.json").is_file()
    assert not (tmp_path / "cut" / "steps" / "features" / "done.json").exists()
    (tmp_path / "calls.txt").unlink()
    resumed = run_build(config, tmp_path / "cut")
    assert "people" in resumed.kept
    assert 0 < calls(tmp_path) < whole
    for name in ("people.jsonl", "products.jsonl", "rejected.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_step_done_anew_takes_what_depends_on_it_along(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "out"
    before, asked = (out / "people.jsonl").read_bytes(), calls(tmp_path)
    built = run_build(config, out, redo="memories")
    assert (built.kept, built.done) == (["people"], ["memories", "features"])
    assert calls(tmp_path) == asked + 12  # one ask a person and step
    assert (out / "people.jsonl").read_bytes() != before  # other products, so other sources
    assert run_build(config, out, redo="memories").kept == ["people", "memories", "features"]
    asked = calls(tmp_path)
    assert run_build(config, out).done == ["memories", "features"], "back to the first time"
    assert (calls(tmp_path), (out / "people.jsonl").read_bytes()) == (asked, before), (
        "which is not asked for again"
    )
    with pytest.raises(UserError, match="takes: there is no step 'memoris'; did you mean 'memories'"):
        run_build(config, out, redo="memoris")


def test_another_config_does_only_what_it_changes(tmp_path: Path, config: Path) -> None:
    write_build(tmp_path, SMALL + MEMORIES.replace("features = 2", "features = 1"))
    built = run_build(config, tmp_path / "out")
    assert "people" in built.kept
    assert "features" in built.done


def test_a_budget_ends_the_build_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with StubEndpoint("plain") as stub:
        sections = SMALL + "fields = []\n"
        config, out = write_build(tmp_path, sections), tmp_path / "out"
        text = config.read_text(encoding="utf-8")
        # 100 tokens in and 10 out a call: 0.11 USD
        spec = stub.spec(",price=1000/1000")
        config.write_text(text.replace("python:strong_writer:answer", spec), encoding="utf-8")
        with pytest.raises(Stopped, match=r"The budget of 0\.7 USD is too small") as caught:
            run_build(config, out, budget=0.7)
        assert caught.value.code == 1
        few = len(stub.requests)
        assert 0 < few <= 5
        built = run_build(config, out, budget=100.0)
        assert len(lines(out / "people.jsonl")) == 6
        prompts = [request["messages"][0]["content"] for request in stub.requests]
        assert len(set(prompts)) == len(prompts)  # nothing was paid for twice
        assert built.summary.cost == pytest.approx(0.11 * (len(prompts) - few))
        # The stub finds about half of them contradictory: rejected with the reason, and replaced.
        reasons = {row["reason"] for row in lines(out / "rejected.jsonl")}
        assert "contradicts itself" in reasons


def test_an_unpriced_model_cannot_keep_a_budget(tmp_path: Path) -> None:
    config = write_build(tmp_path, SMALL)
    text = config.read_text(encoding="utf-8").replace(
        "python:strong_writer:answer", "openai:x@http://127.0.0.1:9/v1"
    )
    config.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="--budget needs to know what openai:x@"):
        run_build(config, tmp_path / "out", budget=1.0)


def test_a_model_that_always_says_the_same_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERDICT", "E")
    config, out = write_build(tmp_path, SMALL + "fields = []\n"), tmp_path / "out"
    with pytest.raises(UserError, match="people: 0 of 6 could be made in") as caught:
        run_build(config, out)
    assert "dramatised or stereotyped" in str(caught.value)
    assert calls(tmp_path) < 150
    rejected = lines(out / "steps" / "people.part" / "rejected.jsonl")
    assert all(row["reason"] for row in rejected)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "Gladly.",
            r"people: none of the first 12 profiles by .* could be used \(such as: .*name a stronger model",
        ),
        (
            "1. Bought a lamp for the hall\n2. Sold the old bicycle at last",
            r"memories: .* says one and the same of everybody; name a stronger model",
        ),
    ],
)
def test_a_writer_that_always_says_the_same_is_found_out_before_it_is_paid_for(
    tmp_path: Path, said: str, sentence: str
) -> None:
    fields = 'fields = ["Social"]' if "Gladly" in said else "fields = []"
    sections = f"{SMALL}{fields}\n[memories]\nper_person = 2\nsampled = 1\nfeatures = 1\n".replace(
        "= 6", "= 40"
    )
    config, out = write_build(tmp_path, sections, 'languages = ["en"]'), tmp_path / "out"
    writer = tmp_path / "strong_writer.py"
    with writer.open("a", encoding="utf-8") as file:
        file.write(
            f"able = answer\nasync def answer(messages):\n    verdict = await able(messages)\n    return verdict if verdict == 'A' else {said!r}\n"
        )
    with pytest.raises(UserError, match=sentence) as caught:
        run_build(config, out)
    assert caught.value.code == 1
    assert calls(tmp_path) <= 24 if "Gladly" in said else calls(tmp_path) < 40 + 20 + 24


def test_a_profiler_that_always_says_the_same_is_found_out_too(tmp_path: Path) -> None:
    sections = SMALL.replace("= 6", "= 30") + "fields = []\n" + MEMORIES
    config, out = write_build(tmp_path, sections, 'languages = ["en"]'), tmp_path / "out"
    text = config.read_text(encoding="utf-8").replace(
        "[models]", '[models]\nprofiler = "python:strong_writer:dull"'
    )
    config.write_text(text, encoding="utf-8")
    with (tmp_path / "strong_writer.py").open("a", encoding="utf-8") as file:
        file.write(
            "def dull(messages):\n    return '1. Likes to be on time everywhere [1]\\n2. Likes to save money for later [2]'\n"
        )
    with pytest.raises(UserError, match="features: python:strong_writer:dull says one and the same"):
        run_build(config, out)
    assert (out / "steps" / "memories" / "done.json").is_file(), "what was made is kept"


def test_a_full_disk_is_a_sentence_and_the_build_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, out = write_build(tmp_path, SMALL), tmp_path / "out"

    def full(_self: Bench, _row: Any, stream: str | None = None) -> None:
        if stream == "rejected":
            return
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Bench, "write", full)
        with pytest.raises(UserError, match="the disk is full; what was made is kept") as caught:
            run_build(config, out)
    assert caught.value.code == 1
    run_build(config, out)
    asked = calls(tmp_path)
    (tmp_path / "calls.txt").unlink()
    run_build(config, tmp_path / "whole")
    assert calls(tmp_path) == asked, "every reply was kept, and nothing was asked twice"
