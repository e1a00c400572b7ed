"""The last step of task profiles: each person's tasks with goal, preferences and situation, and the people of the benchmark."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import orjson

from personafit._errors import counted
from personafit._hashing import draw
from personafit.build.asking import Target
from personafit.build.bench import Bench
from personafit.build.people import PeopleSection
from personafit.build.prompts import PROMPTS
from personafit.build.step import ExpectedAsks
from personafit.build.tasks.histories import read_wish
from personafit.build.tasks.ontology import Ontology, Profile, TaskTemplate
from personafit.build.tasks.profiles import (
    SituationLists,
    TaskProfileStep,
    TasksSection,
    draw_situation,
    draws_of,
    open_definitions,
    open_ontology,
    open_situations,
)
from personafit.people import Task, render_facets
from personafit.store import Product

WISH = PROMPTS["task-wish"]
MAKER = "template:task-1"
ONTOLOGY = "ontology.json"


class TasksStep(TaskProfileStep):
    """Makes tasks over one domain and over several, and the people who have them."""

    name = "tasks"
    after = ("profiles", "histories")
    uses = ("people", "memories", "features")
    version = 3
    prompts = (WISH,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, people = bench.config.section(TasksSection), bench.config.section(PeopleSection).quota
        yield ExpectedAsks("wishes", bench.model(), people * (section.single + section.multi), 300, 40)

    async def make(self, bench: Bench) -> None:
        ontology, seed = open_ontology(bench.config), draws_of(bench)
        situations = open_situations(bench.config)
        definitions = open_definitions(bench.config, ontology)
        profiles = list(bench.read("profiles", Profile))
        histories: dict[str, list[dict[str, str]]] = {profile.id: [] for profile in profiles}
        for row in bench.read_rows("histories"):
            histories[row["person"]].append(row)
        for made, profile in zip(
            bench.people(), profiles, strict=True
        ):  # keeps what else is known of the person
            summaries = {row["domain"]: row["text"] for row in histories[profile.id]}
            person = profile.person(ontology, summaries)
            known = {"facets": person.facets, "summaries": person.summaries}
            bench.write(made.model_copy(update=known), "people")
        lineage = {row["id"]: row["profile"] for row in bench.read_rows("profiles", "lineage")}
        tasks, targets = [], []
        for profile in profiles:
            products = {row["domain"]: row["product"] for row in histories[profile.id]}
            for definition in _chosen(profile, definitions, bench.config.section(TasksSection), seed):
                parents = (lineage[profile.id], *(products[domain] for domain in definition.domains))
                tasks.append(_task(situations, profile, definition, seed))
                targets.append(wish_target(profile, definition, tasks[-1], ontology, parents))
        answers = await bench.ask_after_trial(bench.model(), targets, "wishes")
        for task, answer in zip(tasks, answers, strict=True):
            bench.reject_reply(answer)
            task = task.model_copy(update={"intent": answer.text})
            text = orjson.dumps(task.model_dump(mode="json")).decode()
            parents = (*answer.target.parents, answer.product)
            product = Product(kind="task", text=text, maker=MAKER, about=task.person, parents=list(parents))
            bench.add(product)
            bench.write(product, "products")
            bench.write(task)
        fresh = bench.out / f"{ONTOLOGY}.part"
        fresh.write_bytes(orjson.dumps(ontology.as_closed_lists(), option=orjson.OPT_INDENT_2))
        fresh.replace(bench.out / ONTOLOGY)

    def card(self, bench: Bench) -> str:
        ontology, tasks = open_ontology(bench.config), list(bench.read("tasks", Task))
        profiles = {profile.id: profile for profile in bench.read("profiles", Profile)}
        kinds = Counter(task.kind for task in tasks)
        domains = Counter(domain for task in tasks for domain in task.domains)
        hits = [
            len(profiles[task.person].preferences[path]) / len(ontology.attribute(path).values)
            for task in tasks
            for path in task.preferences
        ]
        return (
            f"## Tasks\n\n{kinds['SD']:,} over one domain and {kinds['MD']:,} over several, in {counted(len(domains), 'domain', 'domains')} (from "
            f"{min(domains.values(), default=0):,} to {max(domains.values(), default=0):,} in one). Naming one value at random would "
            f"hit {sum(hits) / max(1, len(hits)):.0%} of the preferences that bear on a task: a coverage no higher is no skill."
        )


def _chosen(
    profile: Profile, definitions: list[TaskTemplate], section: TasksSection, seed: int
) -> list[TaskTemplate]:
    """Return a person's tasks, all within their domains of interest; a surplus is cut by seeded choice, spread over domains."""
    open_to = [one for one in definitions if set(one.domains) <= set(profile.domains)]
    open_to.sort(key=lambda one: draw(seed, profile.id, one.id, "task", among=2**32))
    multi = [one for one in open_to if len(one.domains) > 1][: section.multi]
    turns: Counter[str] = Counter()
    ranked = []
    for place, one in enumerate(one for one in open_to if len(one.domains) == 1):
        turns[one.domains[0]] += 1
        ranked.append((turns[one.domains[0]], place, one))
    single = [one for _, _, one in sorted(ranked, key=lambda entry: entry[:2])][: section.single]
    kept = {one.id for one in (*single, *multi)}
    return [one for one in definitions if one.id in kept]


def _task(situations: SituationLists, profile: Profile, definition: TaskTemplate, seed: int) -> Task:
    """Return a task for a person, worded as its definition."""
    words = definition.wording(profile.language)
    return Task(
        id=definition.id,
        person=profile.id,
        domains=definition.domains,
        description=words.about,
        intent=words.wish,
        goal=definition.goal(profile.language),
        preferences=list(definition.uses),
        situation=draw_situation(situations, profile, definition.id, definition.domains, seed),
    )


def wish_target(
    profile: Profile, definition: TaskTemplate, task: Task, ontology: Ontology, parents: tuple[str, ...]
) -> Target:
    """Return the target for the wish in the person's own words; its stand-in is the definition's wording."""
    return Target(
        f"{profile.id}/{task.id}",
        WISH,
        profile.language,
        {
            "wish": task.intent,
            "about": task.description,
            "person": render_facets(profile.facets),
            "situation": "\n".join(f"- {value}" for value in task.situation.values()),
        },
        kind="wish",
        read=partial(read_wish, profile=profile, definition=definition, ontology=ontology),
        about=profile.id,
        parents=parents,
        max_tokens=150,
        stand_in=task.intent,
    )
