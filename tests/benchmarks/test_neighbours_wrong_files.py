"""Files of others that are wrong: one sentence that names the place, whatever the fault."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from personafit.benchmarks import open_benchmark
from tests.benchmarks import neighbours_world as world

FAULTS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "three options": (
        "prefeval",
        lambda root: world.edited(
            root / "benchmark_dataset/mcq_options/shop_home.json",
            lambda rows: rows[1]["classification_task_options"].pop(),
        ),
        "shop_home.json, entry 2, field 'classification_task_options': list should have at least 4 items",
    ),
    "another preference": (
        "prefeval",
        lambda root: world.edited(
            root / "benchmark_dataset/implicit_preference/choice-based/shop_home.json", list.pop
        ),
        "the preference is not in implicit_preference/choice-based",
    ),
    "no turn": (
        "prefeval",
        lambda root: world.edited(
            root / "benchmark_dataset/implicit_preference/persona-driven/shop_home.json",
            lambda rows: rows[0]["conversation"].update({"1": {"user": "Hi."}}),
        ),
        "shop_home.json, entry 1, field 'conversation.1.assistant' is missing.",
    ),
    "no such letter": (
        "personamem",
        world.spoil_csv("correct_answer", "(e)"),
        "field 'correct_answer': '(e)' is none",
    ),
    "twice a letter": (
        "personamem",
        world.spoil_csv("all_options", "['(a) one', '(b) two', '(b) three']"),
        "line 3, field 'all_options' must be a list of texts that each begin with a letter of their own",
    ),
    "no letters": (
        "personamem",
        world.spoil_csv("all_options", "['one', 'two']"),
        "line 3, field 'all_options' must be a list of texts that each begin with a letter of their own",
    ),
    "half a table": (
        "personamem",
        lambda root: _cut(root / "questions_32k.csv", 60),
        "questions_32k.csv, line 5 has another number of cells",
    ),
    "half a history": (
        "personamem",
        lambda root: _cut(root / "shared_contexts_32k.jsonl", 40),
        "shared_contexts_32k.jsonl, line 3 is not JSON",
    ),
    "half a topic": (
        "prefeval",
        lambda root: _cut(root / "benchmark_dataset/mcq_options/shop_home.json", 30),
        "shop_home.json is not JSON",
    ),
    "half the outputs": (
        "lamp",
        lambda root: _cut(root / "LaMP_1/dev_outputs.json", 5),
        "LaMP_1/dev_outputs.json is not JSON",
    ),
    "half a shard": (
        "rewardbench",
        lambda root: _cut(root / "data/filtered-00000-of-00001.parquet", 100),
        "filtered-00000-of-00001.parquet cannot be read as parquet",
    ),
    "half an archive": (
        "helpsteer2",
        lambda root: _cut(root / "validation.jsonl.gz", 20),
        "validation.jsonl.gz cannot be read (it is not a whole gzip file)",
    ),
    "no golds": (
        "lamp",
        lambda root: world.edited(root / "LaMP_1/dev_outputs.json", lambda body: body.pop("golds")),
        "dev_outputs.json, field 'golds' is missing",
    ),
    "no list": (
        "personamem",
        world.spoil_csv("all_options", "(a) b"),
        "field 'all_options' must be a list of texts",
    ),
    "no history": (
        "personamem",
        world.spoil_csv("shared_context_id", "ctx-z"),
        "there is no history 'ctx-z…'",
    ),
    "beyond": (
        "personamem",
        world.spoil_csv("end_index_in_shared_context", "99"),
        "'99' is no place in a history of 6 turns",
    ),
    "no gold": (
        "lamp",
        lambda root: world.edited(root / "LaMP_1/dev_outputs.json", lambda body: body["golds"].pop()),
        "dev_questions.json, entry 2, field 'id': dev_outputs.json has no output for '11'.",
    ),
    "no rating": (
        "lamp",
        lambda root: world.edited(
            root / "LaMP_3/dev_outputs.json", lambda body: body["golds"][0].update(output="9")
        ),
        "dev_questions.json, entry 1, field 'input' is not a question of LaMP_3",
    ),
    "no profile": (
        "lamp",
        lambda root: world.edited(
            root / "LaMP_2/dev_questions.json", lambda rows: rows[0].update(profile=[])
        ),
        "entry 1, field 'profile': list should have at least 1 item",
    ),
    "question twice": (
        "lamp",
        lambda root: world.edited(
            root / "LaMP_1/dev_questions.json", lambda rows: rows[1].update(id=rows[0]["id"])
        ),
        "dev_questions.json, entry 2, field 'id': '10' occurs twice.",
    ),
    "empty answer": (
        "rewardbench",
        lambda root: world.only_row(root, {"prompt": "Q", "chosen": "", "rejected": "b"}),
        "rows.jsonl, line 1, field 'chosen' is empty.",
    ),
    "no rejected": (
        "rewardbench",
        lambda root: world.only_row(root, {"prompt": "Q", "chosen": "a"}),
        "rows.jsonl, line 1, field 'rejected' is missing.",
    ),
    "no pair": (
        "helpsteer2",
        lambda root: _bytes(
            root / "validation.jsonl.gz",
            gzip.compress(b'{"prompt": "c#", "response": "A language.", "helpfulness": 3}'),
        ),
        "validation.jsonl.gz holds no two answers to one prompt that are 2 or more points apart.",
    ),
    "not gzip": (
        "helpsteer2",
        lambda root: _bytes(root / "validation.jsonl.gz", b"{}"),
        "validation.jsonl.gz cannot be read (it is not a whole gzip file)",
    ),
}


def _bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _cut(path: Path, count: int) -> None:
    """As after a download that broke off."""
    path.write_bytes(path.read_bytes()[:-count])


def _judged(name: str) -> dict[str, Any]:
    """Who takes part in a run: where texts are written, a system, and else a rule."""
    return {"systems": "canned"} if name == "lamp-writing" else {"raters": "rule:length"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_file_is_one_sentence(fault: str, tmp_path: Path) -> None:
    name, spoil, said = FAULTS[fault]
    world.WORLDS[name](tmp_path)
    spoil(tmp_path)
    with pytest.raises(pf.UserError) as caught:
        pf.evaluate(name, data=tmp_path, store=tmp_path / "s.db", progress=False, **_judged(name))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", world.WORLDS)
def test_an_empty_folder_says_what_was_expected(name: str, tmp_path: Path) -> None:
    with pytest.raises(pf.UserError, match="expected"):
        pf.evaluate(name, data=tmp_path, store=tmp_path / "s.db", progress=False, **_judged(name))


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        (
            "queries.jsonl",
            {"gold_answers": ["(c) none of them"]},
            "must hold one of the options of the query",
        ),
        ("queries.jsonl", {"query": "What shall I drink?"}, "field 'query' must be the question in meta"),
        ("queries.jsonl", {"user_id": "ctx-z"}, "nothing in documents.jsonl is of 'ctx-z'"),
        ("queries.jsonl", {"id": None}, "field 'id' must be a text, not null"),
        ("documents.jsonl", {"content": "Hello!"}, "field 'content' must be turns that begin with"),
    ],
)
def test_a_wrong_line_of_the_republished_questions(
    tmp_path: Path, file: str, change: dict[str, object], said: str
) -> None:
    path = world.personamem_copy(tmp_path) / file
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | change), *rest]), encoding="utf-8")
    with pytest.raises(pf.UserError, match=said) as caught:
        list(open_benchmark("personamem", tmp_path).items())
    assert f"{file}, line 1" in str(caught.value)
