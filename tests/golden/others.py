"""Commands that ask models and are no runs of a benchmark: choosing the best of several answers, stages, and builds.

Their asks and job keys are goldens too.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path

import personafit as pf
from tests.build.builds import run_build
from tests.build.questions.asking import write_questions
from tests.extract.world import run_stages, small_log
from tests.golden.server import model
from tests.scripted import write_lines

Other = Callable[[Path], Path]
"""Does its work in a folder and says where the store is."""


def _best_of(folder: Path) -> Path:
    """Answers that a system makes, three to a question, and the one that a judge likes best."""
    people = [{"id": f"p{n}", "language": "en", "facets": {"Likes": f"dish {n}"}} for n in range(3)]
    rows = [
        {"id": f"q{n}", "person": person, "question": f"What shall I cook, {n}?"}
        for n, person in enumerate(people)
    ]
    prompts, store = write_lines(folder / "prompts.jsonl", rows), folder / "store.db"
    pf.best_of(prompts, rater=model("judge"), system=model("system"), samples=3, store=store)
    return store


def _stages(folder: Path) -> Path:
    """From conversations to attributes, what matters of them, and answers."""
    log = small_log(folder / "log.jsonl")
    prompts = write_lines(
        folder / "prompts.jsonl", [{"prompt": "What shall I cook?"}, {"prompt": "晚上做什么？"}]
    )
    run_stages(folder / "store.db", log, folder / "out", model("stages"), prompts=prompts)
    return folder / "store.db"


def _build(folder: Path) -> Path:
    """People with memories and questions, written by a function."""
    sys.modules.pop("strong_writer", None)  # that of a test lies in another folder
    memories = "[memories]\nper_person = 3\nsampled = 3\nfeatures = 2\n"
    questions = "specific = 6\ngeneral = 3\nfeatures = 1\nsimilarity = 1.0\n"
    config = write_questions(folder, questions, quota=3, training=2, languages='["en", "zh"]', more=memories)
    text = config.read_text(encoding="utf-8").replace(":answer", ":answer,version=1")
    config.write_text(text, encoding="utf-8")
    run_build(config, folder / "out")
    sys.modules.pop("strong_writer", None)
    return folder / "out" / "build.db"


OTHERS: Mapping[str, Other] = {"best-of": _best_of, "stages": _stages, "build": _build}


def carry_out_other(name: str, folder: Path) -> Path:
    """Carry one out in a folder; returns where the store is."""
    folder.mkdir(exist_ok=True)
    with chdir(folder):
        return OTHERS[name](folder)
