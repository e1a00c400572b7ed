"""Two runs of every kind in one store, against the scripted server: what every analysis is tried on."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.engine import Silence
from personafit.run import execute
from personafit.simulate import dialogues
from personafit.store import Judgment, RaterRecord, RunRecord, gold_answers, run_answers
from tests.benchmarks import neighbours_world
from tests.golden.cases import JUDGE, PLAIN, STARTER, SYSTEM, USER
from tests.golden.server import ScriptedServer, model

OTHER = model("other")
WRITERS = "kinds_writers"
CODE = """
def echo(messages):
    return messages[-1]["content"][-40:]


def bread(messages):
    return "Spelt is back"
"""
KINDS = ("choice", "injection", "relevance", "preference", "dialogue", "writing")
VOTER = "eve"


@dataclass
class Kinds:
    """The store, and the two runs of each kind: other raters of the same things, or other systems by the same judge."""

    store: Store
    runs: dict[str, tuple[RunRecord, RunRecord]]

    def answers(self, kind: str, place: int, rater: str) -> pl.DataFrame:
        """What a rater of a run said, as it is stored: an ask and target a row, only what was answered."""
        run = self.runs[kind][place]
        (print_,) = [one["fingerprint"] for one in run.config["raters"] if one["name"] == rater]
        return run_answers(self.store, run.id).filter(pl.col("rater") == print_, pl.col("status") == "ok")

    def gold(self, kind: str) -> dict[str, str]:
        """Item to gold label."""
        run = self.runs[kind][0]
        info = self.store.dataset_info(run.dataset)
        return dict(gold_answers(self.store, run.dataset, info["gold"]).select("item", "gold").iter_rows())


def make_kinds(folder: Path) -> Iterator[Kinds]:
    """Run everything once."""
    (folder / f"{WRITERS}.py").write_text(CODE, encoding="utf-8")
    lamp = neighbours_world.lamp_writing(folder)
    dialogue: dict[str, Any] = {
        "user": USER, "raters": [JUDGE], "data": STARTER, "system_contexts": ["none", "I"], "limit": 12,
    }  # fmt: skip
    plans: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "choice": ("starter", {"raters": [JUDGE], "limit": 40}, {"raters": [PLAIN], "limit": 40}),
        "injection": ("injection", {"raters": [JUDGE], "limit": 24}, {"raters": [PLAIN], "limit": 24}),
        "relevance": (
            "recentering",
            {"raters": [JUDGE], "data": STARTER},
            {"raters": [f"list:{PLAIN}"], "data": STARTER},
        ),
        "preference": (
            "responses",
            {"raters": [JUDGE], "data": STARTER},
            {"raters": [PLAIN], "data": STARTER},
        ),
        "dialogue": (
            "personalens",
            {"systems": [SYSTEM, "canned"], **dialogue},
            {"systems": [OTHER], **dialogue},
        ),
        "writing": (
            "lamp-writing",
            {"systems": [f"python:{WRITERS}:echo"], "data": lamp},
            {"systems": [f"python:{WRITERS}:bread"], "data": lamp},
        ),
    }
    sys.path.insert(0, str(folder))
    try:
        with Store(folder / "store.db") as store:

            def run(benchmark: str, more: dict[str, Any]) -> RunRecord:
                return asyncio.run(execute(store, RunConfig(benchmark, **more), Silence())).run

            with ScriptedServer(), chdir(folder):
                runs = {kind: (run(name, one), run(name, two)) for kind, (name, one, two) in plans.items()}
            made = Kinds(store, runs)
            _vote(made)
            yield made
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(WRITERS, None)


def _vote(made: Kinds) -> None:
    """One person's marks of the personalization and completion of every dialogue of the first run but two."""
    rng = np.random.default_rng(0)
    made.store.add_raters([RaterRecord(fingerprint=VOTER, name=VOTER, kind="human")])
    held = sorted(one.id for one in dialogues(made.store, made.runs["dialogue"][0].id))[2:]
    made.store.add_judgments(
        Judgment(ask=f"{question}/{item}", item=item, question=question, rater=VOTER, value=float(value))
        for question, top in (("personalization", 4), ("completion", 1))
        for item, value in zip(held, rng.integers(top == 4, top + 1, len(held)), strict=True)
    )
