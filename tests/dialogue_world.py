"""A small world of dialogues in a store: people with tasks, dialogues as given, judges that say what a test tells them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit import ChatReply, Status, Store
from personafit.benchmarks import BenchmarkInfo, RunConfig, ingest
from personafit.benchmarks.tasks import FolderTasks
from personafit.contexts import People
from personafit.engine import Runner, Silence
from personafit.items.dialogue import DIALOGUE_QUESTIONS, Dialogue, DialogueTurn, StopReason, judge_key
from personafit.kinds import RunPlan
from personafit.kinds.dialogue import DialogueKind
from personafit.models import ChatRequest
from personafit.people import Person, Task
from personafit.raters import Rater
from personafit.raters.prompted import PromptedRater
from personafit.run import rating_lanes
from personafit.simulate import dialogues, task_items
from personafit.simulate.records import DIALOGUE, QUESTIONS, dialogue_product
from personafit.store import Ask, Outcome, Product, RunRecord

ONTOLOGY = {
    "Dining": {
        "Cuisine": {"values": ["Thai", "Greek", "French"]},
        "Price Range": {"values": ["budget", "upscale"]},
    },
    "Train": {
        "Seat": {"values": ["window", "aisle"]},
        "Class": {"values": ["first class", "standard class"]},
    },
}
FACETS: dict[str, dict[str, Any]] = {
    "ann": {
        "Dining.Cuisine": ["Thai"],
        "Dining.Price Range": "budget",
        "Train.Seat": "window",
        "Train.Class": "first class",
    },
    "bob": {
        "Dining.Cuisine": ["Greek"],
        "Dining.Price Range": "budget",
        "Train.Seat": "aisle",
        "Train.Class": "standard class",
    },
    "cyd": {
        "Dining.Cuisine": ["Thai"],
        "Dining.Price Range": "upscale",
        "Train.Seat": "aisle",
        "Train.Class": "standard class",
    },
}
SD, MD = "SD-Dining-1", "MD-1"
DOMAINS = {SD: ["Dining"], MD: ["Dining", "Train"]}
Reply = Callable[[Dialogue, str, int], str]


@dataclass
class World:
    """The store with its people, and what a run over them is called."""

    store: Store
    dataset: str
    system_contexts: list[str]
    systems: list[str]
    run: RunRecord
    people: dict[str, Person]
    tasks: dict[tuple[str, str], Task] = field(default_factory=dict)
    task_products: dict[tuple[str, str], str] = field(default_factory=dict)

    def hold(
        self,
        person: str,
        task: str,
        said: Sequence[str],
        system_context: str = "none",
        told: str = "",
        system: str = "helper",
        stop: StopReason = StopReason.SATISFIED,
        sample: int = 0,
    ) -> Dialogue:
        """Put one finished dialogue into the run; the user speaks first."""
        key = f"{person}|{task}|{system}|{system_context}|{sample}"
        told_product = Product(kind="context", text=told, maker=system_context, about=person)
        brief = Product(kind="context", text=f"You are {person}.", maker="brief", about=person)
        turns = tuple(
            DialogueTurn("user" if n % 2 == 0 else "assistant", text, n, f"{key}#{n}", f"{key}#t{n}")
            for n, text in enumerate(said)
        )
        dialogue = Dialogue(
            id=f"{DIALOGUE}{key}",
            slot=key,
            dataset=self.dataset,
            person=person,
            task=self.tasks[person, task],
            system=f"fp-{system}",
            system_name=system,
            user="fp-user",
            user_name="simulated",
            system_context=system_context,
            system_context_id=told_product.id,
            brief=brief.id,
            seed=0,
            sample=sample,
            turns=turns,
            stop=stop,
        )
        self.store.add_products([told_product, brief])
        spoken = [Product(id=turn.product, kind="turn", text=turn.text, maker="x") for turn in turns]
        status = Status.OK if stop.whole else Status.UNPARSED
        ask = Ask(
            id=key,
            job=key,
            item=f"{person}/{task}",
            question=QUESTIONS["assistant"],
            rater=f"fp-{system}",
            status=status,
        )
        stored = dialogue_product(dialogue, self.task_products[person, task], status)
        self.store.write([Outcome(ask=ask, products=[*spoken, stored])], self.run.id, [key])
        return dialogue

    def judge(
        self, reply: Reply, name: str = "judge", contexts: Sequence[Any] = ("given",), samples: int = 1
    ) -> "StubJudge":
        """Let a judge mark every dialogue of the run; `reply(dialogue, question, call)` is what it says."""
        model = StubJudge(name, reply, {one.id: one for one in dialogues(self.store, self.run.id)})
        self.rate(PromptedRater(model, DIALOGUE_QUESTIONS, samples=samples), contexts)
        return model

    def rate(self, rater: Rater, contexts: Sequence[Any] = ("given",)) -> None:
        """Let a rater judge every dialogue of the run."""
        self.store.add_raters([rater.record])
        info = BenchmarkInfo(name="little", version="1", title="Little")
        people, asked = People(self.people), RunConfig("little")
        plan = RunPlan(
            DialogueKind(), self.store, asked, info, self.dataset, people, list(contexts), run=self.run
        )
        plan.raters = [rater]
        lanes = rating_lanes(plan)
        with ThreadPoolExecutor(1) as apart:  # a browser's test has a loop of its own running in this thread
            apart.submit(lambda: asyncio.run(Runner(self.store, self.run.id, Silence()).run(lanes))).result()
        record = rater.record
        named = {"fingerprint": record.fingerprint, "name": record.name, "kind": record.kind}
        config = {**self.run.config, "views": list(contexts)}
        raters = [*config["raters"], named | plan.kind.rater_facts(plan, rater)]
        self.run = self.store.begin_run(self.run.name, self.dataset, {**config, "raters": raters}, 1)


@dataclass
class StubJudge:
    """A model whose replies a test decides."""

    name: str
    reply: Reply
    dialogues: dict[str, Dialogue]
    endpoint: str = "stub"
    max_concurrency: int = 1
    price: tuple[float, float] | None = (0.0, 0.0)
    asked: list[ChatRequest] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """What tells it from others."""
        return {"kind": "stub", "name": self.name}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """What the test says."""
        self.asked.append(request)
        call = self.calls[request.key] = self.calls.get(request.key, 0) + 1
        _, context, question, sample = request.key.rsplit("|", 3)
        (dialogue,) = [
            one
            for one in self.dialogues.values()
            if judge_key(one, context, question, int(sample)) == request.key
        ]
        return ChatReply(text=self.reply(dialogue, question, call))

    async def close(self) -> None:
        """Nothing to release."""


def good_reply(score: int = 3, complete: bool = True) -> Reply:
    """A judge that gives everything the same mark."""

    def reply(dialogue: Dialogue, question: str, call: int) -> str:
        if question == "completion":
            return json.dumps({"reason": "so it is", "complete": complete})
        if question == "personalization.turns":
            return json.dumps({"reason": "each", "scores": [score] * dialogue.exchanges})
        return json.dumps({"reason": "so it is", "score": score})

    return reply


def make_world(
    folder: Path,
    system_contexts: Sequence[str] = ("none",),
    systems: Sequence[str] = ("helper",),
    tasks: Sequence[str] = (SD, MD),
    samples: int = 1,
    facets: dict[str, dict[str, Any]] | None = None,
) -> World:
    """People with tasks in a fresh store, and a run with no dialogue yet."""
    people = FACETS if facets is None else facets
    data = folder / "data"
    data.mkdir()
    (data / "ontology.json").write_text(json.dumps(ONTOLOGY), encoding="utf-8")
    with (data / "people.jsonl").open("w", encoding="utf-8") as file:
        for name, values in people.items():
            summaries = {"Dining": "Eats out on Fridays.", "Train": "Goes by train."}
            file.write(
                json.dumps({"id": name, "language": "en", "facets": values, "summaries": summaries}) + "\n"
            )
    with (data / "tasks.jsonl").open("w", encoding="utf-8") as file:
        for name, values in people.items():
            for task in tasks:
                wanted = [path for path in values if path.partition(".")[0] in DOMAINS[task]]
                row = {
                    "id": task,
                    "person": name,
                    "domains": DOMAINS[task],
                    "description": "A plan.",
                    "intent": f"Get {task} done.",
                    "goal": "All is settled.",
                    "preferences": wanted,
                    "situation": {"Location": "home"},
                }
                file.write(json.dumps(row) + "\n")
    store = Store(folder / "store.db")
    dataset = ingest(store, FolderTasks(data, "little"))
    items = list(task_items(store, dataset, frozenset(f"{p}/{t}" for p in people for t in tasks)))
    config = {
        "kind": "dialogue",
        "benchmark": "little",
        "dataset": dataset,
        "systems": [{"fingerprint": f"fp-{name}", "name": name} for name in systems],
        "user": {"fingerprint": "fp-user", "name": "simulated", "style": "plain"},
        "givens": list(system_contexts),
        "tasks": "all",
        "views": ["given"],
        "seed": 0,
        "samples": samples,
        "selected": sorted(item.id for item in items),
        "raters": [],
        "notes": [],
        "command": None,
    }
    run = store.begin_run("little-run", dataset, config, 1)
    return World(
        store,
        dataset,
        list(system_contexts),
        list(systems),
        run,
        dict(store.people(dataset)),
        {(item.person, item.task.id): item.task for item in items},
        {(item.person, item.task.id): item.products[0] for item in items},
    )
