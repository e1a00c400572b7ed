"""Data never chooses code, hosts, keys or paths: every field of data that reached a maker, through the commands that read it."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from sqlalchemy import update

from personafit import Store, UserError
from personafit._hashing import content_hash
from personafit.benchmarks import BENCHMARKS, FolderBenchmark, check_folder, open_benchmark, write_folder
from personafit.benchmarks.folder import read_info
from personafit.models import ModelError, parse_spec
from personafit.models.local import LocalModel
from personafit.raters import RATERS
from personafit.raters.fitted import open_fitted, save_fitted
from personafit.raters.reward.reading import find_weights
from personafit.store import tables as t
from tests.attack.world import RAN, Listener, hostile_folder
from tests.benchmarks.hub_world import hub, refused  # noqa: F401 # a fixture
from tests.benchmarks.stub_hub import Repo, StubHub
from tests.conftest import Command
from tests.helpers import run_cli
from tests.label.served import free_port
from tests.raters.fitted.earlier_models import EARLIER_MODELS, FILES, use_eight_letters
from tests.tiny_models import save_tiny

KEY, SECRET = "sk-the-users-own-key", "the-users-database-password"

# What the folder names, in which field; {url} is the attacker's.
ATTACKS = {
    "python": ("controls.raters", "python:pyrce.helper:rate"),
    "reward": ("controls.raters", "reward:pyrce/model,trust=yes"),
    "key of a name": ("controls.raters", "openai:m@{url},key_env=MY_DB_SECRET"),
    "usual key": ("controls.raters", "openai:m@{url}"),
    "embedder": ("controls.contexts", "memory:by=dense,embedder=openai:e@{url}"),
    "headline": ("context", "memory:by=dense,embedder=openai:e@{url}"),
    "induced": ("controls.contexts", "wrong:induced@openai:m@{url}"),
}


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """The attacker's server; the user has keys, as users have."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_DB_SECRET", SECRET)
    with Listener() as one:
        yield one


def attack(folder: Path, name: str, listener: Listener) -> tuple[str, str]:
    """Ship the folder; the field and what stands there."""
    field, value = ATTACKS[name][0], ATTACKS[name][1].format(url=listener.url)
    hostile_folder(folder, {field: value if field == "context" else [value]})
    return field, value


def unharmed(folder: Path, listener: Listener) -> None:
    """Nothing of the attacker's ran, and nobody called them."""
    assert not (folder / RAN).exists()
    assert listener.called == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *((("run", "pyrce"), name) for name in ATTACKS),
        *((("run", "pyrce", "--dry-run"), name) for name in ("python", "reward", "embedder")),
        *((("data", "check", "pyrce"), name) for name in ("python", "usual key", "headline")),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_a_folder_that_names_code_or_a_host_is_refused(
    command: tuple[str, ...], name: str, listener: Listener, tmp_path: Path, personafit: Command
) -> None:
    field, value = attack(tmp_path / "pyrce", name, listener)
    limited = ("--limit", "2") if command == ("run", "pyrce") else ()
    said = personafit(*command, *limited, code=2)
    unharmed(tmp_path, listener)
    (sentence,) = said.err.strip().splitlines()
    assert f"pyrce/benchmark.toml, field '{field}': '{value[:80]}' is not for data to name" in sentence
    assert said.out == ""


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "pyrce"),
        ("data", "convert", "pyrce", "--out", "copy"),
        ("label", "new", "study", "--from", "pyrce"),
        ("run", "recentering", "--data", "pyrce"),
        ("run", "responses", "--data", "pyrce", "--rater", "rule:mention"),
        ("run", "answers", "--data", "pyrce", "--system", "replay:none.jsonl"),
        ("train", "pairwise", "--data", "pyrce", "--out", "fitted"),
        ("run", "suite.toml"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_that_reads_a_folder_refuses_it(
    command: tuple[str, ...], listener: Listener, tmp_path: Path, personafit: Command
) -> None:
    attack(tmp_path / "pyrce", "python", listener)
    (tmp_path / "suite.toml").write_text('[[run]]\nbenchmark = "./pyrce"\n', encoding="utf-8")
    said = personafit(*command, code=2)
    unharmed(tmp_path, listener)
    assert "benchmark.toml, field 'controls.raters'" in said.err


def test_a_folder_of_tasks_is_refused_by_the_real_command_too(listener: Listener, tmp_path: Path) -> None:
    attack(tmp_path / "pyrce", "python", listener)
    task = {"id": "t", "person": "nadia", "domains": ["Books"], "intent": "Find a book."}
    (tmp_path / "pyrce" / "tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")
    done = run_cli(
        *("run", "personalens", "--data", "pyrce", "--system", "canned", "--dry-run"), cwd=tmp_path, code=2
    )
    unharmed(tmp_path, listener)
    assert "benchmark.toml, field 'controls.raters'" in done.stderr


def test_what_was_fetched_is_refused_before_it_is_kept(
    hub: StubHub,  # noqa: F811
    listener: Listener,
    tmp_path: Path,
) -> None:
    attack(tmp_path / "pyrce", "python", listener)
    repo = hub.repos["theirs/data"] = Repo()
    for path in (tmp_path / "pyrce").glob("*.*"):
        repo.files[path.name] = path.read_bytes()
    assert "benchmark.toml, field 'controls.raters'" in refused("theirs/data", "kept")
    assert not (tmp_path / "kept" / "benchmark.toml").exists()
    unharmed(tmp_path, listener)


WRAPPED = (
    "pair:python:a:b",
    "list:openai:m",
    "mention:openai:m",
    "embedding:openai:m",
    "canned",
    "verifier:x",
)


@pytest.mark.parametrize(
    "rater",
    [f"{kind}:x" for kind in RATERS if kind != "rule"]
    + [
        *WRAPPED,
        "",
        "rule:length,trust=yes",
        "rule:length@http://x",
        " rule:length",
        "rule:../x",
        "RULE:length",
    ],
)
def test_raters_of_data_are_rules(rater: str, tmp_path: Path) -> None:
    folder = hostile_folder(tmp_path / "theirs", {"controls.raters": ["rule:length", rater]})
    for read in (check_folder, FolderBenchmark, lambda one: read_info(one / "benchmark.toml")):
        with pytest.raises(UserError, match=r"benchmark.toml, field 'controls.raters'") as caught:
            read(folder)
        assert caught.value.code == 2


@pytest.mark.parametrize("field", ["context", "controls.contexts"])
@pytest.mark.parametrize(
    "context",
    [
        *(
            "induced",
            "memory+filter",
            "memory+filter@python:a:b",
            "induced@openai:m@http://x",
        ),
        *("memory:embedder=use", "memory:k=3,embedder=openai:e", "memory:by=theirs", "wrong:memory+filter"),
        *(
            "wrong:wrong:none",
            "wrong:",
            "",
            "plugin",
            "plugin:x",
            "attributes:matched:python:a:b",
            "D+python:a:b",
        ),
        *("history:budget=1,x=y", f"history:budget={'9' * 5000}", "profile\n"),
    ],
)
def test_contexts_of_data_are_plain(context: str, field: str, tmp_path: Path) -> None:
    folder = hostile_folder(
        tmp_path / "theirs", {field: context if field == "context" else ["none", context]}
    )
    with pytest.raises(UserError, match=rf"benchmark.toml, field '{field}'") as caught:
        FolderBenchmark(folder)
    assert caught.value.code == 2


def test_what_folders_rightly_say_is_read(tmp_path: Path) -> None:
    contexts = [
        "none",
        "wrong:profile",
        "profile:Preferences, Demographics.Age",
        "profile:偏好",
        "history:budget=8000",
    ]
    contexts += ["memory", "wrong:memory:k=4,by=bm25,budget=4000", "D+I+S", "attributes:all"]
    said = {
        "controls.contexts": contexts,
        "controls.raters": ["rule:length", "rule:second-person"],
        "name": "我的_set-1.2",
    }
    assert check_folder(hostile_folder(tmp_path / "mine", said)) == []


@pytest.mark.parametrize("name", ["starter", "injection", "recentering", "responses"])
def test_what_comes_along_can_be_written_and_read_again(name: str, tmp_path: Path) -> None:
    data = Path("starter") if name in ("recentering", "responses") else None
    write_folder(tmp_path / "copy", open_benchmark(name, data))
    assert read_info(tmp_path / "copy" / "benchmark.toml").name
    assert name in BENCHMARKS


@pytest.mark.parametrize("name", ["matcher", "verifier"])
def test_a_fitted_file_chooses_no_host(
    listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    use_eight_letters(monkeypatch)
    theirs = {
        "embedder": f"openai:e@{listener.url}",
        "embedder_fingerprint": content_hash({"embedder": "openai", "url": listener.url, "model": "e"}),
    }
    model: Any = open_fitted(EARLIER_MODELS / name)
    hostile = replace(model, numbers={**model.numbers, **theirs})
    present = save_fitted(hostile, tmp_path / "present")
    earlier = Path(shutil.copytree(EARLIER_MODELS / name, tmp_path / "earlier")) / f"{name}.json"
    document = json.loads(earlier.read_bytes()) | theirs | {"fingerprint": hostile.fingerprint}
    earlier.write_text(json.dumps(document), encoding="utf-8")
    for path in (present, earlier):
        with pytest.raises(UserError, match=r"names the embedder 'openai:e@.*may name only use"):
            open_fitted(path)
    assert listener.called == []


class Pickled:
    """What runs a command of the attacker's when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.marker,)


def test_weights_that_are_a_pickle_run_no_code(tmp_path: Path) -> None:
    """PyTorch refuses it, and that is a sentence; the test notices if a release should not."""
    import torch

    folder = save_tiny(tmp_path / "model")
    for path in folder.glob("*.safetensors"):
        path.unlink()
    torch.save({"score.weight": Pickled(tmp_path / RAN)}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="the weights cannot be loaded"):
        find_weights(parse_spec(f"reward:{folder}")).load()
    with pytest.raises(ModelError, match="the weights cannot be loaded"):
        LocalModel(parse_spec(f"hf:{folder}"))._load()
    assert not (tmp_path / RAN).exists()
    torch.load(folder / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / RAN).exists(), "the pickle itself works"


@pytest.mark.parametrize("name", ["matcher", "preference"])
@pytest.mark.parametrize("earlier", [True, False])
def test_arrays_that_are_a_pickle_run_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, earlier: bool
) -> None:
    use_eight_letters(monkeypatch)
    folder = Path(shutil.copytree(EARLIER_MODELS / name, tmp_path / "model"))
    path = folder / FILES[name]
    if not earlier:
        path = save_fitted(open_fitted(folder), folder)
    file = path.with_suffix(".npz")
    with np.load(file) as kept:
        arrays = dict(kept)
    arrays["weights"] = np.array([Pickled(tmp_path / RAN)], dtype=object)
    np.savez(file, **arrays)
    with pytest.raises(UserError, match="cannot be used as a fitted model: Object arrays cannot be loaded"):
        open_fitted(path)
    assert not (tmp_path / RAN).exists()
    with np.load(file, allow_pickle=True) as kept:
        _ = kept["weights"]
    assert (tmp_path / RAN).exists(), "the pickle itself works"


def test_a_store_chooses_no_model_to_talk_with(listener: Listener, tmp_path: Path) -> None:
    talk = ("label", "new", "talk", "--from", "own", "--question", "chat", "--overlap", "1")
    run_cli(*talk, "--model", "replay:none.jsonl", cwd=tmp_path)
    theirs = "python:pyrce.helper:rate"
    with Store(tmp_path / ".personafit" / "store.db") as store, store.engine.begin() as connection:
        config = orjson.loads(connection.execute(t.studies.select()).one().config)
        changed = orjson.dumps(config | {"model": theirs}).decode()
        connection.execute(update(t.studies).values(config=changed))
    serve = ("label", "serve", "--port", str(free_port()), "--model", "replay:none.jsonl")
    done = run_cli(*serve, cwd=tmp_path, code=2)
    (sentence,) = done.stderr.strip().splitlines()
    assert f"People of study 'talk' would talk with '{theirs}', which only the store names" in sentence
