"""The last step of task profiles: everyone's tasks with goal, preferences and situation, and the people as a benchmark has them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import orjson

from personafit._hashing import draw
from personafit.build.asking import Target
from personafit.build.bench import Bench, RequestBatch
from personafit.build.prompts import PROMPTS
from personafit.build.quota import ask_after_trial
from personafit.build.sections import PeopleSection, TasksSection, open_definitions, open_ontology
from personafit.build.step import ExpectedAsks
from personafit.build.tasks.circumstances import Situations
from personafit.build.tasks.histories import read_wish
from personafit.build.tasks.ontology import Ontology, Profile, TaskTemplate
from personafit.build.tasks.profiles import (
    StepOfTasks,
    draws_of,
)
from personafit.people import Task, render_facets
from personafit.store import Product

WISH = PROMPTS["task-wish"]
MAKER = "template:task-1"
ONTOLOGY = "ontology.json"
REMEMBERED = 10_000  # wishes held against each other: who repeats themselves does so early


@dataclass(frozen=True)
class TaskDraft:
    """One person's task before a model words its request."""

    profile: Profile
    definition: TaskTemplate
    task: Task
    parents: tuple[str, ...]
    """Ids of the profile and of the histories in the task's domains."""


class TasksStep(StepOfTasks):
    """Tasks over one domain and over several, and the people who have them."""

    name = "tasks"
    after = ("profiles", "histories")
    uses = ("people", "memories", "features")
    prompts = (WISH,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each task."""
        section, people = bench.config.section(TasksSection), bench.config.section(PeopleSection).quota
        yield ExpectedAsks("wishes", bench.model(), people * (section.single + section.multi), 300, 40)

    async def make(self, bench: Bench) -> None:
        """Write people, tasks and the lists of values that count as against somebody."""
        ontology = open_ontology(bench.config)
        _write_people(bench, ontology)
        total = sum(1 for _ in self._planned(bench, ontology))

        def wanted() -> Iterator[Target]:
            return (_wanted(one, ontology) for one in self._planned(bench, ontology))

        answers = await ask_after_trial(bench, RequestBatch(bench.model(), wanted, total, "wishes"))
        said: dict[str, str] = {}
        for planned, answer in zip(self._planned(bench, ontology), answers, strict=True):
            task, parents, owner = planned.task, planned.parents, planned.definition.id
            if answer.text is None:
                bench.reject_reply(answer)
            elif said.get(answer.text, owner) != owner:
                reason = "the same words stand for another task already"
                bench.reject(answer.target.key, reason, answer.text, about=task.person, by=bench.name())
            else:
                if len(said) < REMEMBERED:
                    said[answer.text] = owner
                task = task.model_copy(update={"intent": answer.text})
                parents = (*parents, answer.product)
            _write(bench, task, parents)
        fresh = bench.out / f"{ONTOLOGY}.part"
        fresh.write_bytes(orjson.dumps(ontology.as_closed_lists(), option=orjson.OPT_INDENT_2))
        fresh.replace(bench.out / ONTOLOGY)

    def _planned(self, bench: Bench, ontology: Ontology) -> Iterator[TaskDraft]:
        """Every task of everybody, in order, without the writer's words."""
        definitions, situations = open_definitions(bench.config, ontology), Situations(draws_of(bench))
        for profile, ids in _with_lineage(bench):
            for definition in _chosen(profile, definitions, bench):
                words = definition.wording(profile.language)
                task = Task(
                    id=definition.id,
                    person=profile.id,
                    domains=definition.domains,
                    description=words.about,
                    intent=words.wish,
                    goal=definition.goal(profile.language),
                    preferences=list(definition.uses),
                    situation=situations.next(profile, definition.id, definition.domains),
                )
                parents = (ids[""], *(ids[domain] for domain in definition.domains))
                yield TaskDraft(profile, definition, task, parents)

    def card(self, bench: Bench) -> str:
        """How many tasks of which kind."""
        kinds: Counter[str] = Counter()
        domains: Counter[str] = Counter()
        ontology, hits, asked = open_ontology(bench.config), 0.0, 0
        profiles = bench.read("profiles", Profile)
        profile = next(profiles)
        for task in bench.read("tasks", Task):  # both are in the order of people
            while profile.id != task.person:
                profile = next(profiles)
            kinds[task.kind] += 1
            domains.update(task.domains)
            for path in task.preferences:
                hits += len(profile.preferences[path]) / len(ontology.attribute(path).values)
                asked += 1
        return "\n".join(
            [
                "## Tasks",
                "",
                f"{kinds['SD']:,} over one domain and {kinds['MD']:,} over several, in {len(domains)} domains "
                f"(from {min(domains.values(), default=0):,} to {max(domains.values(), default=0):,} in one). Naming one value "
                f"at random would hit {hits / max(1, asked):.0%} of the preferences that bear on a task: a coverage no higher "
                "is no skill. Where values are this even, what most *other* people prefer is a worse guess still.",
            ]
        )


def _chosen(profile: Profile, definitions: list[TaskTemplate], bench: Bench) -> list[TaskTemplate]:
    """The tasks a person has: all their domains are interests; of too many a seeded choice, spread over domains."""
    section, cares = bench.config.section(TasksSection), set(profile.domains)
    open_to = [one for one in definitions if set(one.domains) <= cares]
    order = {one.id: draw(draws_of(bench), profile.id, one.id, "task", among=2**32) for one in open_to}
    turns: dict[str, int] = {}
    ranked: list[tuple[int, int, TaskTemplate]] = []
    for one in sorted(open_to, key=lambda one: order[one.id]):
        area = one.domains[0] if len(one.domains) == 1 else "MD"
        turns[area] = turns.get(area, 0) + 1
        ranked.append((0 if area == "MD" else turns[area], order[one.id], one))
    ranked.sort(key=lambda entry: entry[:2])
    single = [one for _, _, one in ranked if len(one.domains) == 1][: section.single]
    multi = [one for _, _, one in ranked if len(one.domains) > 1][: section.multi]
    kept = {one.id for one in (*single, *multi)}
    return [one for one in definitions if one.id in kept]


def _with_lineage(bench: Bench) -> Iterator[tuple[Profile, dict[str, str]]]:
    """Each profile with the ids of its products: the profile's own under '', histories under their domain."""
    rows = bench.read_rows("profiles", "lineage")
    histories = groupby(bench.read_rows("histories"), key=lambda row: row["person"])
    for profile, row, (person, written) in zip(bench.read("profiles", Profile), rows, histories, strict=True):
        assert profile.id == person
        yield profile, {"": row["profile"], **{one["domain"]: one["product"] for one in written}}


def _write_people(bench: Bench, ontology: Ontology) -> None:
    """Everyone with preferences and histories; what was known of them besides stays."""
    histories = groupby(bench.read_rows("histories"), key=lambda row: row["person"])
    for made, profile, (_, rows) in zip(
        bench.people(), bench.read("profiles", Profile), histories, strict=True
    ):
        person = profile.person(ontology, {row["domain"]: row["text"] for row in rows})
        bench.write(
            made.model_copy(update={"facets": person.facets, "summaries": person.summaries}), "people"
        )


def _wanted(planned: TaskDraft, ontology: Ontology) -> Target:
    profile, task = planned.profile, planned.task
    situation = "\n".join(f"- {value}" for value in task.situation.values())
    return Target(
        f"{profile.id}/{task.id}",
        WISH,
        profile.language,
        {
            "wish": task.intent,
            "about": task.description,
            "person": render_facets(profile.facets),
            "situation": situation,
        },
        kind="wish",
        read=partial(read_wish, profile=profile, definition=planned.definition, ontology=ontology),
        about=profile.id,
        parents=planned.parents,
        max_tokens=150,
    )


def _write(bench: Bench, task: Task, parents: tuple[str, ...]) -> None:
    text = orjson.dumps(task.model_dump(mode="json")).decode()
    product = Product(kind="task", text=text, maker=MAKER, about=task.person, parents=list(parents))
    bench.add(product)
    bench.write(product, "products")
    bench.write(task)
