"""Benchmarks of others in small: their real layouts, filled with sentences of our own."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

TOPICS = {"travel_hotel": 3, "shop_home": 2}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def prefeval(root: Path) -> Path:
    """Five preferences in all three forms; the first answer is right, as published."""
    data = root / "benchmark_dataset"
    for topic, count in TOPICS.items():
        stated = [
            {
                "preference": f"I never want thing {n} of {topic}.",
                "question": f"What about {topic} {n}?",
                "explanation": "It is hard.",
            }
            for n in range(count)
        ]
        options = [f"quiet {topic}", f"a much longer noisy {topic}", f"loud {topic}", f"bright {topic}"]
        choices = [
            {
                **row,
                "violation_probability": 1.0,
                "classification_task_options": [f"{text} {n}" for text in options],
            }
            for n, row in enumerate(stated)
        ]
        # Stated without its emphasis in some entries; the choices and the conversations agree.
        write(data / "explicit_preference" / f"{topic}.json", [{**stated[0], "preference": "I want none."}])
        write(data / "mcq_options" / f"{topic}.json", choices)
        spoken = {
            "query": "Where to?",
            "assistant_options": "Quiet or loud.",
            "user_selection": "Quiet.",
            "assistant_acknowledgment": "Noted.",
        }
        more = {"implicit_query": "Where to?", "options": ["Quiet.", "Loud."], "aligned_op": "Quiet."}
        chosen = [{**row, "conversation": spoken, **more} for row in stated]
        write(data / "implicit_preference" / "choice-based" / f"{topic}.json", chosen)
        turns: dict[str, Any] = {
            str(n): {"user": f"Hello {n}.", "assistant": f"Good day {n}."} for n in range(2)
        }
        driven: list[dict[str, Any]] = [
            {**row, "persona": "a baker", "conversation": turns} for row in stated
        ]
        # Read back from a table, turns that are not there are null; some entries say that they were mended.
        driven[-1] |= {"fix": "True", "conversation": {**turns, "2": None}}
        write(data / "implicit_preference" / "persona-driven" / f"{topic}.json", driven)
    write(data / "mcq_options" / "travel_hotel copy.json", [])
    return root


def personamem(root: Path, size: str = "32k") -> Path:
    """Two personas, the first with two histories; three questions on the way of the first one."""
    root.mkdir(parents=True, exist_ok=True)
    histories = {
        "ctx-a": _history("tea", 6),
        "ctx-b": _history("coffee", 4),
        "ctx-c": _history("cocoa", 4),
    }
    with (root / f"shared_contexts_{size}.jsonl").open("w", encoding="utf-8") as file:
        for name, turns in histories.items():
            file.write(json.dumps({name: turns}) + "\n")
    asked = [("0", "ctx-a", 3), ("0", "ctx-a", 6), ("0", "ctx-b", 4), ("1", "ctx-c", 4)]
    rows = []
    for number, (persona, context, end) in enumerate(asked):
        replies = [
            f"(a) plain reply {number}",
            f"(b) right reply {number}",
            f"(c) it's an odd reply {number}",
        ]
        rows.append(
            {
                "persona_id": persona,
                "question_id": f"q{number}",
                "question_type": "track_full_preference_evolution" if number % 2 else "suggest_new_ideas",
                "topic": "drinks",
                "context_length_in_tokens": "31000",
                "context_length_in_letters": "140000",
                "distance_to_ref_in_blocks": "2",
                "distance_to_ref_in_tokens": "9000",
                "num_irrelevant_tokens": "400",
                "distance_to_ref_proportion_in_context": "29.03%",
                "user_question_or_message": f"What shall I drink, number {number}?",
                "correct_answer": "(b)",
                "all_options": str([*replies, f"(d) another, much longer reply {number}"]),
                "shared_context_id": context,
                "end_index_in_shared_context": str(end),
                "stereotypical": "No",
            }
        )
    write_csv(root / f"questions_{size}.csv", rows)
    return root


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _history(drink: str, turns: int) -> list[dict[str, str]]:
    spoken = [{"role": "system", "content": f"Current user persona:\nSomebody who likes {drink}."}]
    for number in range(turns - 1):
        role = ("user", "assistant", "user")[
            number % 3
        ]  # a session ends and the next begins with the same speaker
        spoken.append({"role": role, "content": f"{drink} said {number}"})
    return spoken


TAGS = [f"tag {letter}" for letter in "abcdefghijklmno"]


def lamp(root: Path) -> Path:
    """Two people for each of the three tasks."""
    cite = (
        'For an author who has written the paper with the title "{0}", which reference is related? '
        'Just answer with [1] or [2] without explanation. [1]: "{1}" [2]: "{2}"'
    )
    papers = [
        {"id": "0", "title": "Bread", "abstract": 'On "crumb".'},
        {"id": "1", "title": "Rye", "abstract": ""},
    ]
    _task(
        root,
        "LaMP_1",
        [
            (cite.format(f"Dough {n}", f"Yeast {n}", f"Stars {n}"), "[1]" if n else "[2]", papers)
            for n in range(2)
        ],
    )
    tag = "Which tag does this movie relate to? tags: [{0}] description: A film number {1}."
    films = [{"id": "0", "description": "A quiet film.", "tag": "tag a", "date": "2014-02-01"}]
    _task(root, "LaMP_2", [(tag.format(", ".join(TAGS), n), TAGS[n], films) for n in range(2)])
    rate = "What is the score of the following review on a scale of 1 to 5? just answer. review: Fine, number {0}."
    reviews = [{"id": "0", "text": "Good.", "score": "5"}, {"id": "1", "text": "Bad.", "score": "1"}]
    _task(root, "LaMP_3", [(rate.format(n), str(n + 4), reviews) for n in range(2)])
    return root


WRITTEN = {
    # Task: what stands before the text, then an earlier entry and the text with what the person made of it.
    "LaMP_4": ("Name this article", {"title": "Rye is back", "text": "Rye bread is baked again."}),
    "LaMP_5": ("Name the abstract of this paper", {"title": "On rye", "abstract": "We study rye bread."}),
    "LaMP_6": ("Name this email", {"title": "Rye", "text": "Shall we bake rye bread?"}),
    "LaMP_7": ("Say this tweet again", {"text": "rye bread again today"}),
}


def lamp_writing(root: Path, tasks: tuple[str, ...] = tuple(WRITTEN)) -> Path:
    """Two people for each of the four writing tasks; the nearer of two earlier entries is about bread."""
    for task in tasks:
        before, entry = WRITTEN[task]
        asked = []
        for n in range(2):
            last = list(entry)[-1]
            profile = [
                {"id": "0", **dict.fromkeys(entry, "stars and their light"), "date": "2014-02-01"},
                {"id": "1", **entry, last: f"{entry[last]} Baker {n}", "date": "2014-03-01"},
            ]
            asked.append((f"{before}: Spelt bread is baked: number {n}.", f"Spelt is back {n}", profile))
        _task(root, task, asked)
    return root


def _task(root: Path, task: str, asked: list[tuple[str, str, list[dict[str, str]]]]) -> None:
    names = [f"{task[-1]}{place}" for place in range(len(asked))]
    questions = [
        {"id": name, "input": text, "profile": profile}
        for name, (text, _, profile) in zip(names, asked, strict=True)
    ]
    golds = [{"id": name, "output": output} for name, (_, output, _) in zip(names, asked, strict=True)]
    write(root / task / "dev_questions.json", questions)
    write(root / task / "dev_outputs.json", {"task": task, "golds": golds})


def rewardbench(root: Path) -> Path:
    """Six pairs of three subsets in version 1's parquet."""
    subsets = ["alpacaeval-easy", "llmbar-natural", "hep-python"] * 2
    rows = {
        "prompt": [f"Question {n}" for n in range(6)],
        "chosen": [f"Better {n}" for n in range(6)],
        "chosen_model": ["somebody", None] * 3,
        "rejected": [f"Worse and longer {n}" for n in range(6)],
        "rejected_model": ["", "nobody"] * 3,
        "subset": subsets,
        "id": list(range(6)),
    }
    return _parquet(root, "filtered", rows)


def rewardbench2(root: Path) -> Path:
    """Two choices of four and one tie in version 2's parquet."""
    rows = {
        "id": ["a", "b", "c"],
        "prompt": ["Question a", "Question b", "Name a colour."],
        "chosen": [["Right a"], ["Right b"], ["red", "blue"]],
        "rejected": [[f"Wrong a{n}" for n in range(3)], [f"Wrong b{n}" for n in range(3)], ["seven"]],
        "num_correct": [1, 1, 2],
        "num_incorrect": [3, 3, 1],
        "total_completions": [4, 4, 3],
        "models": [["one", "two"], [], ["three"]],
        "subset": ["Factuality", "Focus", "Ties"],
        "additional_metadata": [dict.fromkeys(ABOUT), None, dict.fromkeys(ABOUT)],
    }
    return _parquet(root, "test", rows, {"additional_metadata": pl.Struct(ABOUT)})


ABOUT: dict[str, Any] = {
    "category": pl.String,
    "index": pl.Float64,
    "instruction_id_list": pl.List(pl.String),
    "models": pl.List(pl.String),
    "valid": pl.Float64,
}
"""Some of what version 2's card says its last column holds."""


def _parquet(root: Path, split: str, rows: dict[str, Any], types: dict[str, Any] | None = None) -> Path:
    (root / "data").mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, schema_overrides=types).write_parquet(
        root / "data" / f"{split}-00000-of-00001.parquet"
    )
    return root


def helpsteer2(root: Path) -> Path:
    """Three prompts with two rated answers; the last pair is too close."""
    root.mkdir(parents=True, exist_ok=True)
    with gzip.open(root / "validation.jsonl.gz", "wt", encoding="utf-8") as file:
        again = "Two?\n<extra_id_1>Assistant\nWhich two?\n<extra_id_1>User\nBoth."
        for prompt, points in (("One?", (4, 1)), (again, (0, 2)), ("Three?", (3, 3))):
            for number, helpfulness in enumerate(points):
                row = {
                    "prompt": prompt,
                    "response": f"{prompt[:6].split()[0]} {number}",
                    "helpfulness": helpfulness,
                    **dict.fromkeys(("correctness", "coherence", "complexity", "verbosity"), 2),
                }
                file.write(json.dumps(row) + "\n")
    return root


WORLDS = {
    "prefeval": prefeval,
    "personamem": personamem,
    "lamp": lamp,
    "rewardbench": rewardbench,
    "helpsteer2": helpsteer2,
}


def edited(path: Path, change: Callable[[Any], None]) -> None:
    """Change what a file of JSON holds."""
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    write(path, value)


def only_row(root: Path, row: dict[str, str]) -> None:
    """One row in the place of RewardBench's data."""
    for path in (root / "data").glob("*"):
        path.unlink()
    (root / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")


def spoil_csv(
    column: str, value: str, row: int = 1, name: str = "questions_32k.csv"
) -> Callable[[Path], None]:
    """What puts a wrong value into one row of a table."""

    def spoil(root: Path) -> None:
        path = root / name
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        rows[row][column] = value
        write_csv(path, rows)

    return spoil


def personamem_copy(root: Path) -> Path:
    """The same histories as documents, and two questions about the first persona's with their options inside."""
    root.mkdir(parents=True, exist_ok=True)
    documents = []
    for name, turns in {"ctx-a": _history("tea", 6), "ctx-b": _history("coffee", 4)}.items():
        for number, session in enumerate((turns[:3], turns[3:])):
            content = "\n\n".join(f"[{turn['role'].upper()}] {turn['content']}" for turn in session)
            documents.append(
                {"id": f"{name}_{number}", "user_id": name, "content": content, "timestamp": None}
            )
    queries = []
    for number, context in enumerate(("ctx-a", "ctx-b")):
        asked, right = f"User: Ann\n\nWhat shall I drink, number {number}?", f"(b) right reply {number}"
        details = {
            "persona_id": "0",
            "question_type": "suggest_new_ideas",
            "topic": "drinks",
            "retrieval_query": asked,
        }
        queries.append(
            {
                "id": f"q{number}",
                "query": f"{asked}\n\n(a) plain reply\n\nin two paragraphs\n{right}",
                "gold_answers": [right, "b"],
                "gold_ids": [f"{context}_0", f"{context}_1"],
                "user_id": context,
                "meta": details,
            }
        )
    for file, rows in (("documents.jsonl", documents), ("queries.jsonl", queries)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (root / file).write_text("".join(lines), encoding="utf-8")
    return root
