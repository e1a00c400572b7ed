"""The second step of task profiles: what an assistant could know of each person, a summary of past talks per domain.

A model writes it from sampled interactions, each of which shows one preference, in one month or two. The counting rules must find
every preference in it and nothing against one; what does not do is asked for once more, then recorded and replaced by a template's.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from personafit._hashing import draw
from personafit.factory.asking import Target
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.prompts import PROMPTS, WORDINGS
from personafit.factory.quota import ask_after_trial
from personafit.factory.sections import TasksSection, open_ontology
from personafit.factory.step import ExpectedAsks
from personafit.factory.tasks.checking import WORDS, domain_preferences, history_faults, read_history
from personafit.factory.tasks.ontology import Ontology, Profile
from personafit.factory.tasks.profiles_step import (
    TEMPLATES_INSTEAD,
    StepOfTasks,
    draws_of,
    expected_people,
)
from personafit.people import render_facets
from personafit.store import Product

HISTORY = PROMPTS["task-history"]
TEMPLATE = "template:history-1"
MONTHS: dict[str, list[str]] = WORDINGS["history"]["months"]
ONCE: dict[str, list[str]] = WORDINGS["history"]["once"]
TWICE: dict[str, list[str]] = WORDINGS["history"]["twice"]


@dataclass(frozen=True, slots=True)
class Interaction:
    """One preference as it showed in earlier conversations."""

    path: str
    months: tuple[int, ...]
    """One month or two, from 0."""
    shown: str
    """What the person did, in words."""

    def line(self, language: str) -> str:
        """The interaction as a line for a writer."""
        names = [MONTHS[language][month] for month in self.months]
        return f"{' / '.join(names)}: {self.shown}"


def interactions(profile: Profile, domain: str, ontology: Ontology, seed: int) -> list[Interaction]:
    """The interactions of a person in a domain, in an order of its own for each person."""
    found = []
    for attribute, values in profile.of(domain).items():
        path = f"{domain}.{attribute}"
        first = draw(seed, profile.id, path, "month", among=12)
        twice = draw(seed, profile.id, path, "twice", among=2)
        months = (
            (first, (first + 1 + draw(seed, profile.id, path, "later", among=11)) % 12) if twice else (first,)
        )
        shown = ontology.attribute(path).shown(tuple(values), profile.language)
        found.append(Interaction(path, tuple(sorted(months)), shown))
    return sorted(found, key=lambda one: draw(seed, profile.id, one.path, "order", among=2**32))


def from_template(profile: Profile, domain: str, ontology: Ontology, seed: int) -> str:
    """The summary of a domain without a model: a sentence for each interaction."""
    separator = "" if profile.language == "zh" else " "
    return separator.join(_sentences(profile, domain, ontology, seed))


def _sentences(profile: Profile, domain: str, ontology: Ontology, seed: int) -> Iterator[str]:
    language = profile.language
    for one in interactions(profile, domain, ontology, seed):
        frames = (ONCE if len(one.months) == 1 else TWICE)[language]
        frame = frames[draw(seed, profile.id, one.path, "frame", among=len(frames))]
        names = [MONTHS[language][month] for month in one.months]
        yield frame.format(first=names[0], last=names[-1], shown=one.shown)


LENGTHS = {
    "en": (60, 160),
    "zh": (100, 280),
}  # words or characters that are asked for; WORDS is what is accepted


class HistoriesStep(StepOfTasks):
    """A summary for each person and domain."""

    name = "histories"
    after = ("profiles",)
    prompts = (HISTORY,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each person and domain."""
        section = bench.config.section(TasksSection)
        if not section.templates_only:
            calls = round(expected_people(bench) * sum(section.domains) / 2)
            yield ExpectedAsks("histories", bench.model(), calls, 350, 170)

    async def make(self, bench: Bench) -> None:
        """Write them, person after person."""
        ontology = open_ontology(bench.config)
        if bench.config.section(TasksSection).templates_only:
            for profile, domain, parent in _all(bench):
                self._write_template(bench, profile, domain, parent, ontology)
            return
        total = sum(1 for _ in _all(bench))

        def wanted() -> Iterator[Target]:
            return (_wanted(bench, ontology, *one) for one in _all(bench))

        batch = RequestBatch(bench.model("writer"), wanted, total, "histories")
        answers = await ask_after_trial(bench, batch, TEMPLATES_INSTEAD)
        for (profile, domain, parent), answer in zip(_all(bench), answers, strict=True):
            if answer.text is None:
                bench.reject_reply(answer, bench.model())
                self._write_template(bench, profile, domain, parent, ontology)
                continue
            product = Product(
                id=answer.product,
                kind="summary",
                text=answer.text,
                maker=answer.maker,
                about=profile.id,
                parents=[parent],
            )
            _write(bench, profile, domain, product)

    def _write_template(
        self, bench: Bench, profile: Profile, domain: str, parent: str, ontology: Ontology
    ) -> None:
        text = from_template(profile, domain, ontology, draws_of(bench))
        for fault, _ in history_faults(text, domain_preferences(profile, domain, ontology)):
            # Only with a user's own ontology: its phrases say something the rules read otherwise.
            bench.reject(f"{profile.id}/{domain}/template", fault, text, about=profile.id, by="rule:counting")
        product = Product(kind="summary", text=text, maker=TEMPLATE, about=profile.id, parents=[parent])
        bench.add(product)
        _write(bench, profile, domain, product)

    def card(self, bench: Bench) -> str:
        """Who wrote how many."""
        makers = Counter(row["maker"] == TEMPLATE for row in bench.read_rows("histories"))
        total = makers.total()
        return (
            f"## Histories\n\n{total:,} summaries of past conversations, one for each person and domain: {makers[False]:,} "
            f"written by a model from sampled interactions, {makers[True]:,} by a template. The counting rules find every "
            "preference in each and none gone against."
        )


def _all(bench: Bench) -> Iterator[tuple[Profile, str, str]]:
    """Every person with every domain they care about, and the id of the profile as a product."""
    rows = bench.read_rows("profiles", "lineage")
    for profile, row in zip(bench.read("profiles", Profile), rows, strict=True):
        for domain in profile.domains:
            yield profile, domain, row["profile"]


def _wanted(bench: Bench, ontology: Ontology, profile: Profile, domain: str, parent: str) -> Target:
    language = profile.language
    notes = [f"- {one.line(language)}" for one in interactions(profile, domain, ontology, draws_of(bench))]
    low, high = LENGTHS[language]
    return Target(
        f"{profile.id}/{domain}",
        HISTORY,
        language,
        {
            "domain": ontology.domains[domain].zh if language == "zh" else domain.lower(),
            "person": render_facets(profile.facets),
            "notes": "\n".join(notes),
            "low": low,
            "high": high,
        },
        kind="summary",
        read=partial(
            read_history, profile=profile, preferences=domain_preferences(profile, domain, ontology)
        ),
        about=profile.id,
        parents=(parent,),
        max_tokens=3 * WORDS[1],
    )


def _write(bench: Bench, profile: Profile, domain: str, product: Product) -> None:
    bench.write(product, "products")
    row = {"person": profile.id, "domain": domain, "text": product.text}
    bench.write({**row, "product": product.id, "maker": product.maker})
