"""The people step: sample candidates, have the writer phrase them, screen them, and queue them for review, until there are enough.

The writer invents habits from the sampled traits and a seed profile; if its reply is unusable, the sampled ones stand
(`template:people-1`). Near-duplicates are rejected among people of the same language and field of work. `given` takes people from a
file instead of sampling them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import Field, model_validator

from personafit._errors import UserError
from personafit.build.asking import Target, check_prose, unfit, verdict
from personafit.build.bench import TRAINING, Bench, Quota
from personafit.build.candidates import (
    INTERESTS,
    LEAVES,
    LISTED,
    MBTI,
    VALUES,
    CandidateSampler,
    Elements,
    ProfileDraft,
    elements,
    own_seeds,
    read_seeds,
)
from personafit.build.config import BuildConfig, ConfigSection, meant
from personafit.build.diversity import describe_people
from personafit.build.duplicates import NearDuplicates
from personafit.build.given import given_people
from personafit.build.prompts import PROMPTS
from personafit.build.review import DROPPED, REVIEWER, read_drops, write_review
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.people import Person, facet_values, render_facets, render_person, select_facets
from personafit.store import Product

T = TypeVar("T")
PROFILE = PROMPTS["people.profile"]
SCREEN = PROMPTS["people.screen"]
VERDICTS = {
    "B": "contradicts itself",
    "C": "not of today",
    "D": "idealised",
    "E": "dramatised or stereotyped",
}
RULES, LIKENESS = "rule:people-1", "rule:near-duplicates"
WHO = ("Name", "Demographics", "Personality")
HABITS = (MBTI, VALUES, *LEAVES, INTERESTS)  # what distinguishes people of the same job
WRITTEN = (*LEAVES, INTERESTS)
GIVEN = "given"
"""The maker of people supplied by the user."""
SHORTEST, LONGEST = {"en": 20, "zh": 8}, {"en": 420, "zh": 200}
MOST_SHARED, PER = 3, 1_000  # most people who may share a composed sentence, per so many


class PeopleSection(ConfigSection):
    """Settings of the people step."""

    quota: int = Field(20, ge=1, description="People of the benchmark.")
    training: int = Field(
        0, ge=0, description="Further people for training pairs, none of them in the benchmark."
    )
    given: str = Field(
        "",
        description="People to start from instead of drawing any: a people.jsonl, a CSV, or the folder of a benchmark, PersonaFeedback "
        "or PersonaLens.",
    )
    seeds: str = Field("", description="JSONL file of your own seed profiles; empty takes ours.")
    fields: list[str] = Field(
        default_factory=lambda: list(WRITTEN),
        description="Fields the writer invents from what was drawn; the others stay as drawn.",
    )
    similarity: float = Field(
        0.9,
        gt=0,
        le=1,
        description="Cosine from which two profiles of the same field of work are near-duplicates.",
    )

    @property
    def total(self) -> int:
        return self.quota + self.training

    @model_validator(mode="after")
    def _known_fields(self) -> Self:
        for name in self.fields:
            if name not in WRITTEN:
                raise ValueError(f"fields: there is no field '{name}'; {meant(name, list(WRITTEN))}")
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        if self.given:
            path = config.place(self.given)
            if not path.exists():
                yield f"given: there is no file or folder {path}"
                return
            found = len(given_people(path, config.build.languages, 0))
            if found < self.total:
                yield f"quota = {self.quota} and training = {self.training} are more than the {found:,} people of {path}"
            return
        yield from config.missing("seeds", self.seeds)
        for known in _elements(config).values():
            yield from known.faults()


def _elements(config: BuildConfig) -> dict[str, Elements]:
    """Return the elements people are drawn from in each language: the user's file, or the built-in one."""
    own = config.build.elements
    return {
        language: Elements(config.place(own[language])) if language in own else elements(language)
        for language in config.build.languages
    }


def _seeds(bench: Bench) -> tuple[Person, ...]:
    path = bench.config.section(PeopleSection).seeds
    return read_seeds(bench.config.place(path), bench.config.build.languages) if path else own_seeds()


@dataclass
class Candidate:
    """A person who may be kept, with the ids the profile was made from, and its maker."""

    person: Person
    parents: list[str]
    maker: str = GIVEN
    work: str = ""
    """The field of work; near-duplicates are searched within it."""


class PeopleStep(BuildStep):
    """Samples simulated people from seed profiles and element lists, or takes given ones."""

    name = "people"
    section = PeopleSection
    version = 5
    roles = ("writer", "checker")
    prompts = (PROFILE, SCREEN)

    def outside(self, bench: Bench) -> Any:
        drops = sorted(read_drops(bench.out, self.name))
        if bench.config.section(PeopleSection).given:
            return [[person.version for person in _given(bench)], drops]
        lists = bench.config.hashes(known.path for known in _elements(bench.config).values())
        return [lists, [seed.version for seed in _seeds(bench)], drops]

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section = bench.config.section(PeopleSection)
        if section.given:
            return
        if section.fields:
            yield ExpectedAsks("words", bench.model(), section.total, 900, 60 * len(section.fields))
        yield ExpectedAsks("screening", bench.model("checker"), section.total, 550, 1)

    async def make(self, bench: Bench) -> None:
        """Take candidates until the quota is full, or given people; later ones replace those dropped in review."""
        section = bench.config.section(PeopleSection)
        if section.given:
            dropped = read_drops(bench.out, self.name)
            found = [
                None if person.id in dropped else Candidate(person, [section.given])
                for person in _given(bench)
            ]
            if len(found) - found.count(None) < section.total:
                raise UserError(
                    f"people: {len(dropped)} were dropped in review and nobody is left to take their place; give more people, or set "
                    "quota or training lower."
                )
        else:
            found = await self._drawn(bench, section)
        kept = _in_place(found, section.total)
        for place, candidate in enumerate(kept):
            _write(bench, candidate, TRAINING if place >= section.quota else "people")
        people = (one.person for one in kept)
        queue = ({"id": one.id, "language": one.language, "person": one.facets} for one in people)
        write_review(bench.out, self.name, queue)

    async def _drawn(self, bench: Bench, section: PeopleSection) -> list[Candidate | None]:
        """Draw rounds of candidates until the quota is full; None marks a person dropped in review."""
        sampler = CandidateSampler(_seeds(bench), _elements(bench.config), bench.seed, bench.take)
        quota, known = Quota("people", section.total), NearDuplicates(section.similarity)
        found: list[Candidate | None] = []
        shared, most = Counter[str](), max(MOST_SHARED, MOST_SHARED * section.total // PER)
        while numbers := quota.round():
            drafts = []
            for draft in map(sampler.draw, numbers):
                composed = [element.text for element in draft.drawn if element.composed]
                fault = next(draft.contradictions(), "")
                if not fault and any(shared[text] >= most for text in composed):
                    fault = f"a sentence of it is shared already: {most} others have it"
                if fault:
                    quota.reject(fault)
                    bench.reject(draft.id, fault, render_person(draft.person({})), by=RULES)
                else:
                    shared.update(composed)
                    drafts.append(draft)
            for candidate in await self._screened(bench, await _worded(bench, section, drafts), quota):
                if candidate is None:
                    found.append(None)
                elif reason := _unneeded(candidate, quota, known):
                    quota.reject(reason)
                    text = render_person(candidate.person)
                    bench.reject(candidate.person.id, reason, text, by=LIKENESS)
                else:
                    quota.kept += 1
                    found.append(candidate)
        return found

    def card(self, bench: Bench) -> str:
        return describe_people(list(bench.read("people", Person)))

    async def _screened(self, bench: Bench, found: list[Candidate], quota: Quota) -> list[Candidate | None]:
        """Return the candidates that passed the checker; None marks a person dropped in review."""
        dropped, passed = read_drops(bench.out, self.name), list[Candidate | None]()
        verdicts = await bench.judge([_screening(one) for one in found], VERDICTS, "screening")
        for candidate, (answer, reason) in zip(found, verdicts, strict=True):
            person, by = candidate.person, bench.name("checker")
            if person.id in dropped:
                reason, by = DROPPED, REVIEWER
                passed.append(None)
            if reason:
                quota.reject(reason)
                bench.reject(person.id, reason, render_person(person), by=by)
            else:
                candidate.parents += [answer.product] if answer.product else []
                passed.append(candidate)
        return passed


def _in_place(found: Sequence[T | None], total: int) -> list[T]:
    """Return `total` elements, each None replaced by a later one; the others keep their positions, on which later prompts depend."""
    later = (one for one in found[total:] if one is not None)
    return [next(later) if one is None else one for one in found[:total]]


def _unneeded(candidate: Candidate, quota: Quota, known: NearDuplicates) -> str:
    """Return why a candidate is not needed; empty if it is, and then it is added to `known`."""
    if quota.full:
        return "not needed: there are enough"
    person = candidate.person
    habits = " ".join(facet_values(select_facets(person.facets, HABITS)))
    (twin,) = known.add([(person.id, habits)], f"{person.language}|{candidate.work}")
    return f"near-duplicate: as {twin}" if twin else ""


def _given(bench: Bench) -> list[Person]:
    config = bench.config
    return given_people(config.place(config.section(PeopleSection).given), config.build.languages, bench.seed)


def _write(bench: Bench, one: Candidate, stream: str) -> None:
    person, text = one.person, render_person(one.person)
    product = Product(kind="profile", text=text, maker=one.maker, about=person.id, parents=one.parents)
    bench.add(product)
    if stream != TRAINING:  # the benchmark folder holds only what its items refer to
        bench.write(product, "products")
    bench.write(person, stream)


async def _worded(bench: Bench, section: PeopleSection, drafts: Sequence[ProfileDraft]) -> list[Candidate]:
    """Return candidates with the configured fields phrased by the writer."""
    if not section.fields:
        return [
            Candidate(draft.person({}), [draft.seed.id], bench.template, draft.job.field) for draft in drafts
        ]
    found, targets = [], [_target(section, draft) for draft in drafts]
    answers = await bench.ask_after_trial(bench.model(), targets, "profiles")
    for draft, answer in zip(drafts, answers, strict=True):
        bench.reject_reply(answer)
        words = dict(line.split(": ", 1) for line in (answer.text or "").splitlines())
        parents = [draft.seed.id, answer.product]
        found.append(Candidate(draft.person(words), parents, answer.maker, draft.job.field))
    return found


def _target(section: PeopleSection, draft: ProfileDraft) -> Target:
    person = draft.person({})
    hints = {path: LISTED.join(facet_values({path: person.facets[path]})) for path in section.fields}
    points = "\n".join(f"{leaf}: {hint}" for leaf, hint in hints.items())
    return Target.for_person(
        person,
        f"{draft.id}/words",
        PROFILE,
        {
            "outline": render_person(person, select_facets(person.facets, WHO)),
            "manner": render_facets(select_facets(draft.seed.facets, hints)),
            "points": points,
            "form": "\n".join(f"{leaf}: …" for leaf in hints),
        },
        "profile",
        lines_reader(draft.language, section.fields, draft.name),
        parents=(draft.seed.id,),
        max_tokens=220 * len(hints),
        stand_in=points,
    )


def _screening(candidate: Candidate) -> Target:
    person, told = candidate.person, {"person": render_person(candidate.person)}
    of = {"about": person.id, "parents": tuple(candidate.parents)}
    return verdict(person.id, SCREEN, person.language, told, VERDICTS, **of)


def lines_reader(language: str, fields: Sequence[str], name: str) -> Callable[[str], str]:
    """Return a parser for one line per field, `Field: sentence`; its text is these lines in the order of `fields`."""

    def read(reply: str) -> str:
        found: dict[str, str] = {}
        for line in filter(None, map(str.strip, reply.splitlines())):
            key, *said = re.split(r"[:：]", line.lstrip("-*• "), maxsplit=1)
            key, rest = key.strip().strip("*"), "".join(said)
            if not said or key not in fields:
                raise unfit("field-line", line[:40])
            if key in found:
                raise unfit("twice", key)
            if key == INTERESTS:
                parts = [
                    check_sentence(part, language, name, SHORTEST[language] // 3)
                    for part in re.split(r"[;；]", rest)
                ]
                found[key] = LISTED.join(parts)
            else:
                found[key] = check_sentence(rest, language, name)
        if missing := [key for key in fields if key not in found]:
            raise unfit("missing", missing[0])
        return "\n".join(f"{key}: {found[key]}" for key in fields)

    return read


def check_sentence(text: str, language: str, name: str = "", least: int = 0) -> str:
    """Return a sentence or a few that fit in a profile; raise Unfit for the wrong length or language, placeholders, or the name."""
    text = " ".join(text.split()).strip("\"'“”*")
    least, most = least or SHORTEST[language], LONGEST[language]
    if not least <= len(text) <= most:
        raise unfit("sentence-length", least, most, text[:30], len(text))
    check_prose(text, language)
    if name and name in text:
        raise unfit("repeats-name")
    return text
