"""From demographics to preferences, evenly, by rules and seeded draws; and what a model may exchange of them.

Drawing costs nothing and depends on the seed and the order of people alone, so it is done anew wherever it is needed
and needs no memory beyond one count per value. Exchanges are applied in the order of people. One that a rule forbids or that would
move a value off its share is not done and is recorded, so that a model that likes the same for everybody changes next to nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import orjson

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.factory.asking import Target, Unfit
from personafit.factory.prompts import PROMPTS
from personafit.factory.tasks.circumstances import Demographics, ValueBalancer, tags_of
from personafit.factory.tasks.ontology import MOST_SEVERAL, Domain, Ontology, Profile, TaskTemplate
from personafit.people import FacetValue, Person, render_facets

REFINE = PROMPTS["task-preferences"]
TRIES = 24  # draws for one person and domain before its rules are taken for impossible


class ProfileSampler:
    """Samples profiles one after the other, so that every value keeps to its share."""

    def __init__(
        self,
        ontology: Ontology,
        definitions: Sequence[TaskTemplate],
        seed: int,
        interests: tuple[int, int],
        shares: Mapping[str, Mapping[str, float]],
    ) -> None:
        self.ontology, self._seed, self._interests = ontology, seed, interests
        self._several = [one for one in definitions if len(one.domains) > 1]
        self._domains = ValueBalancer("domains", list(ontology.domains), seed)
        self._scenarios = ValueBalancer("scenarios", [one.id for one in self._several], seed)
        self.balances = {
            path: ValueBalancer(path, list(ontology.attribute(path).values), seed, shares.get(path))
            for path in ontology.paths()
        }

    def profile(self, who: str, language: str, facets: dict[str, FacetValue]) -> Profile:
        """One person's interests and preferences."""
        tags = tags_of(facets)
        cares = self._cares(who, tags)
        preferences: dict[str, list[str]] = {}
        for name in cares:
            for attribute, values in self._prefers(who, name, tags).items():
                preferences[f"{name}.{attribute}"] = values
        return Profile(
            id=who,
            language=language,
            facets=facets,
            tags=sorted(tags),
            interests={name: name in cares for name in self.ontology.domains},
            preferences=preferences,
        )

    def _cares(self, who: str, tags: frozenset[str]) -> list[str]:
        """The domains somebody cares about: those of one task over several domains, and others up to a number."""
        open_to = [name for name, domain in self.ontology.domains.items() if domain.is_open_to(tags)]
        low, high = self._interests
        number = low + draw(self._seed, "interests", who, among=high - low + 1)
        fitting = [
            one for one in self._several if set(one.domains) <= set(open_to) and len(one.domains) <= number
        ]
        scenario = self._scenarios.choose(who, [one.id for one in fitting])
        chosen: list[str] = []
        if scenario is not None:
            self._scenarios.take(scenario)
            chosen = next(one.domains for one in fitting if one.id == scenario)
        while len(chosen) < number:
            name = self._domains.choose(who, [name for name in open_to if name not in chosen])
            if name is None:
                raise UserError(
                    f"Impossible quota: {number} domains are wanted for {who}, and only {len(chosen)} are open to them; "
                    "set fewer with `domains`."
                )
            chosen = [*chosen, name]
        for name in chosen:
            self._domains.take(name)
        return [name for name in self.ontology.domains if name in chosen]

    def _prefers(self, who: str, name: str, tags: frozenset[str]) -> dict[str, list[str]]:
        domain = self.ontology.domains[name]
        for attempt in range(TRIES):
            drawn = self._attempt(who, name, domain, tags, attempt)
            if drawn is not None:
                for attribute, values in drawn.items():
                    for value in values:
                        self.balances[f"{name}.{attribute}"].take(value)
                return drawn
        raise UserError(
            f"Impossible rules in the ontology, domain '{name}': nothing is left for {who} ({', '.join(sorted(tags))}); "
            "loosen excludes or barred, or the shares asked for."
        )

    def _attempt(
        self, who: str, name: str, domain: Domain, tags: frozenset[str], attempt: int
    ) -> dict[str, list[str]] | None:
        barred, leaning = domain.barred_for(tags), domain.leant_to(tags)
        order = sorted(
            domain.attributes, key=lambda one: draw(self._seed, name, who, one, attempt, among=2**32)
        )
        taken: list[str] = []
        drawn: dict[str, list[str]] = {}
        for attribute in order:
            one = domain.attributes[attribute]
            balance = self.balances[f"{name}.{attribute}"]
            most = min(MOST_SEVERAL, len(one.values) - 1) if one.take == "several" else 1
            for _ in range(1 + draw(self._seed, name, who, attribute, "how many", among=most)):
                allowed = [
                    value
                    for value in one.values
                    if is_allowed(domain, f"{attribute}: {value}", taken, barred)
                    and f"{attribute}: {value}" not in taken
                ]
                leant = [value for value in allowed if f"{attribute}: {value}" in leaning]
                value = balance.choose(f"{who}/{attempt}" if attempt else who, allowed, leant)
                if value is None:
                    break
                taken.append(f"{attribute}: {value}")
                drawn.setdefault(attribute, []).append(value)
            if attribute not in drawn:
                return None
        return {attribute: drawn[attribute] for attribute in domain.attributes}


def is_allowed(domain: Domain, name: str, taken: Iterable[str], barred: frozenset[str]) -> bool:
    """Whether somebody who has some values can have another one, all written 'Attribute: value'."""
    return name not in barred and domain.rivals.get(name, frozenset()).isdisjoint(taken)


def drawn_people(
    count: int, seed: int, languages: list[str], people: Iterable[Person] | None
) -> Iterator[tuple[str, str, dict[str, FacetValue]]]:
    """Who is to have a profile: id, language and facets of people made before, or of so many drawn here."""
    if people is not None:
        for person in people:
            yield person.id, person.language, dict(person.facets)
        return
    demographics = Demographics(seed, languages)
    for number in range(count):
        language, facets = demographics.next(number)
        yield f"t{number + 1:06}", language, facets


MOST = 2  # exchanges in one domain
LONGEST_REASON = 300


def refinements(profile: Profile, ontology: Ontology, parent: str) -> Iterator[Target]:
    """An ask for each domain the person cares about."""
    for name in profile.domains:
        domain = ontology.domains[name]
        lines = []
        for attribute, values in profile.of(name).items():
            one, language = domain.attributes[attribute], profile.language
            drawn = ", ".join(one.said(value, language) for value in values)
            free = [one.said(value, language) for value in exchangeable(profile, name, domain, attribute)]
            lines.append(f"- {attribute}: {drawn} ({' | '.join(free) or '-'})")
        yield Target(
            f"{profile.id}/{name}/refine",
            REFINE,
            profile.language,
            {
                "person": render_facets(profile.facets),
                "domain": domain.zh if profile.language == "zh" else name,
                "drawn": "\n".join(lines),
                "most": MOST,
            },
            kind="verdict",
            read=partial(_read, profile=profile, name=name, domain=domain),
            about=profile.id,
            parents=(parent,),
            max_tokens=400,
        )


def exchangeable(profile: Profile, name: str, domain: Domain, attribute: str) -> list[str]:
    """The values a person could have in place of what was drawn; of several the first is the one to go."""
    barred = domain.barred_for(frozenset(profile.tags))
    rest = [
        f"{other}: {value}"
        for other, values in profile.of(name).items()
        for value in values
        if (other, value) != (attribute, profile.of(name)[attribute][0])
    ]
    return [
        value
        for value in domain.attributes[attribute].values
        if value not in profile.of(name)[attribute]
        and is_allowed(domain, f"{attribute}: {value}", rest, barred)
    ]


def apply_changes(
    profile: Profile,
    name: str,
    text: str,
    ontology: Ontology,
    balances: Mapping[str, ValueBalancer],
    slack: float,
) -> Iterator[str]:
    """Do the exchanges of one reply that may be done; a sentence for each that may not."""
    domain = ontology.domains[name]
    for change in orjson.loads(text):
        attribute, value = change["attribute"], change["value"]
        path, values = f"{name}.{attribute}", profile.preferences[f"{name}.{attribute}"]
        if value not in exchangeable(profile, name, domain, attribute):
            yield f"{path}: {value} goes with nothing else the person has by now"
        elif not balances[path].change(values[0], value, slack):
            yield f"{path}: {value} would take it, or {values[0]}, off its share"
        else:
            profile.preferences[path] = [value, *values[1:]]
            profile.reasons[path] = change["reason"]


def _read(reply: str, profile: Profile, name: str, domain: Domain) -> str:
    """The exchanges of a reply in the ontology's words, as JSON."""
    bare = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        changes = json.loads(bare)["changes"]
        assert isinstance(changes, list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise Unfit(
            'it must be one JSON object with a list "changes"', "必须是一个带有 changes 列表的 JSON 对象"
        ) from error
    if len(changes) > MOST:
        raise Unfit(
            f"it has {len(changes)} changes, and at most {MOST} are wanted",
            f"改了{len(changes)}处，最多只能改{MOST}处",
        )
    found: list[dict[str, str]] = []
    for change in changes:
        fields = change if isinstance(change, dict) else {}
        attribute, said = (str(fields.get(field)) for field in ("attribute", "value"))
        reason = fields.get("reason")
        if attribute not in domain.attributes or attribute in [one["attribute"] for one in found]:
            raise Unfit(
                f"attribute must be one of {', '.join(domain.attributes)}, each at most once",
                f"attribute 必须是 {'、'.join(domain.attributes)} 之一，各最多一次",
            )
        known = {
            domain.attributes[attribute].said(value, profile.language): value
            for value in exchangeable(profile, name, domain, attribute)
        }
        if said not in known:
            raise Unfit(
                f"value of {attribute} must be one of {', '.join(known)}",
                f"{attribute} 的 value 必须是 {'、'.join(known)} 之一",
            )
        if not isinstance(reason, str) or not 3 <= len(reason.strip()) <= LONGEST_REASON:
            raise Unfit(
                "every change needs a reason of one short sentence", "每处修改都要有一句简短的 reason"
            )
        found.append({"attribute": attribute, "value": known[said], "reason": reason.strip()})
    return json.dumps(found, ensure_ascii=False)
