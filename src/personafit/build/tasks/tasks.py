"""The tasks step: each person's preferences, a history in every domain they care about, and tasks with goal and situation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from personafit._errors import counted
from personafit._hashing import draw
from personafit.build.asking import Target
from personafit.build.bench import Bench
from personafit.build.people import PeopleSection
from personafit.build.prompts import PROMPTS
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.build.tasks.histories import HISTORY, history_target, read_wish
from personafit.build.tasks.ontology import Ontology, Profile, TaskTemplate
from personafit.build.tasks.profiles import (
    ProfileSampler,
    SituationLists,
    TaskLists,
    TasksSection,
    draw_situation,
)
from personafit.people import Task, render_facets
from personafit.store import Product

WISH = PROMPTS["task-wish"]
PROFILES, MAKER = "template:task-profile-1", "template:task-1"
ONTOLOGY = "ontology.json"


class TasksStep(BuildStep):
    """Makes tasks over one domain and over several, and the people who have them."""

    name = "tasks"
    after = ("people",)
    uses = ("memories", "features")
    section = TasksSection
    version = 4
    roles = ("writer",)
    prompts = (HISTORY, WISH)

    def outside(self, bench: Bench) -> Any:
        return bench.config.hashes(TaskLists.of(bench.config).files)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, people = bench.config.section(TasksSection), bench.config.section(PeopleSection).quota
        histories = round(people * sum(section.domains) / 2)
        yield ExpectedAsks("histories", bench.model(), histories, 350, 170)
        yield ExpectedAsks("wishes", bench.model(), people * (section.single + section.multi), 300, 40)

    async def make(self, bench: Bench) -> None:
        section, lists = bench.config.section(TasksSection), TaskLists.of(bench.config)
        seed = bench.seed if not bench.take else draw(bench.seed, "take", bench.take, among=2**31)
        sampler = ProfileSampler(lists.ontology, lists.definitions, seed, section.domains)
        people = list(bench.people())
        profiles = [sampler.profile(person) for person in people]
        drawn = {profile.id: _product(profile) for profile in profiles}
        _add(bench, drawn.values())
        histories = await _histories(bench, lists.ontology, profiles, drawn, seed)
        for known, profile in zip(people, profiles, strict=True):  # keeps what else is known of the person
            summaries = {domain: product.text for domain, product in histories[profile.id].items()}
            person = profile.person(lists.ontology, summaries)
            facets = {"facets": person.facets, "summaries": person.summaries}
            bench.write(known.model_copy(update=facets), "people")
            bench.write(profile, "profiles")
        tasks, targets = [], []
        for profile in profiles:
            told = histories[profile.id]
            for definition in _chosen(profile, lists.definitions, section, seed):
                parents = (drawn[profile.id].id, *(told[domain].id for domain in definition.domains))
                tasks.append(_task(lists.situations, profile, definition, seed))
                targets.append(wish_target(profile, definition, tasks[-1], lists.ontology, parents))
        answers = await bench.ask_after_trial(bench.model(), targets, "wishes")
        for task, answer in zip(tasks, answers, strict=True):
            bench.reject_reply(answer)
            task = task.model_copy(update={"intent": answer.text})
            text = orjson.dumps(task.model_dump(mode="json")).decode()
            made_from = [*answer.target.parents, answer.product]
            _add(bench, [Product(kind="task", text=text, maker=MAKER, about=task.person, parents=made_from)])
            bench.write(task)
        fresh = bench.out / f"{ONTOLOGY}.part"
        fresh.write_bytes(orjson.dumps(lists.ontology.as_closed_lists(), option=orjson.OPT_INDENT_2))
        fresh.replace(bench.out / ONTOLOGY)

    def card(self, bench: Bench) -> str:
        ontology, tasks = TaskLists.of(bench.config).ontology, list(bench.read("tasks", Task))
        profiles = {profile.id: profile for profile in bench.read("tasks", Profile, "profiles")}
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


def _add(bench: Bench, products: Iterable[Product]) -> None:
    for product in products:
        bench.add(product)
        bench.write(product, "products")


def _product(profile: Profile) -> Product:
    drawn = {path: ", ".join(values) for path, values in profile.preferences.items()}
    text = render_facets({**profile.facets, **drawn})
    return Product(kind="profile", text=text, maker=PROFILES, about=profile.id, parents=[profile.id])


async def _histories(
    bench: Bench, ontology: Ontology, profiles: Sequence[Profile], drawn: Mapping[str, Product], seed: int
) -> dict[str, dict[str, Product]]:
    """Return a summary for each person and domain."""
    asked = [(profile, domain) for profile in profiles for domain in profile.domains]
    targets = [history_target(*one, ontology, seed, drawn[one[0].id].id) for one in asked]
    found: dict[str, dict[str, Product]] = {profile.id: {} for profile in profiles}
    answers = await bench.ask_after_trial(bench.model(), targets, "histories")
    for (profile, domain), answer in zip(asked, answers, strict=True):
        bench.reject_reply(answer)
        found[profile.id][domain] = answer.as_product()
        bench.write(answer.as_product(), "products")
    return found


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
