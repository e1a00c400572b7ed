"""From demographics to preferences, evenly, by rules and seeded draws; and what a model may exchange of them.

Drawing costs nothing and depends on the seed and the order of people alone, so it is done anew wherever it is needed
and needs no memory beyond one count per value. Exchanges are applied in the order of people. One that a rule forbids or that would
move a value off its share is not done and is recorded, so that a model that likes the same for everybody changes next to nothing.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.build.asking import Generation, Target, Unfit
from personafit.build.bench import REJECTED, Bench, RequestBatch
from personafit.build.prompts import DATA, PROMPTS
from personafit.build.quota import ask_after_trial
from personafit.build.sections import (
    PeopleSection,
    TasksSection,
    open_definitions,
    open_ontology,
    task_files,
)
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.build.tasks.circumstances import ValueBalancer, tags_of
from personafit.build.tasks.ontology import MOST_SEVERAL, Domain, Ontology, Profile, TaskTemplate
from personafit.people import Person, render_facets
from personafit.store import Product

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

    def profile(self, person: Person) -> Profile:
        """One person's interests and preferences."""
        who, tags = person.id, tags_of(person.facets)
        cares = self._cares(who, tags)
        preferences: dict[str, list[str]] = {}
        for name in cares:
            for attribute, values in self._prefers(who, name, tags).items():
                preferences[f"{name}.{attribute}"] = values
        return Profile(
            id=who,
            language=person.language,
            facets=dict(person.facets),
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
            "verdict",
            partial(_read, profile=profile, name=name, domain=domain),
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
) -> Iterator[str]:
    """Do the exchanges of one reply that may be done; a sentence for each that may not."""
    domain = ontology.domains[name]
    for change in orjson.loads(text):
        attribute, value = change["attribute"], change["value"]
        path, values = f"{name}.{attribute}", profile.preferences[f"{name}.{attribute}"]
        if value not in exchangeable(profile, name, domain, attribute):
            yield f"{path}: {value} goes with nothing else the person has by now"
        elif not balances[path].change(values[0], value):
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


LEAST_EVEN = 5

MAKER = "template:task-profile-1"
BALANCES = "balances"
EVENNESS = 0.8  # lowest of an attribute without shares
ENOUGH = 3  # given out per value, from which an attribute's evenness says something


class StepOfTasks(BuildStep):
    """What the steps of [tasks] share: the section, who writes, and the files of ontology, tasks and situations."""

    section = TasksSection
    roles = ("writer",)

    def outside(self, bench: Bench) -> Any:
        """Ontology, tasks and situations."""
        return bench.config.hashes([*task_files(bench.config), DATA / "situations.toml"])


class ProfilesStep(StepOfTasks):
    """Profiles drawn evenly by rules, and looked over by the writer if that is wanted."""

    name = "profiles"
    after = ("people",)
    uses = ("memories", "features")
    prompts = (REFINE,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """An ask for each person and domain, if preferences are looked over."""
        if bench.config.section(TasksSection).refine:
            yield ExpectedAsks("preferences looked over", bench.model(), expected_domains(bench), 450, 60)

    async def make(self, bench: Bench) -> None:
        """Draw, look over, write."""
        section, ontology = bench.config.section(TasksSection), open_ontology(bench.config)
        definitions = open_definitions(bench.config, ontology)

        def drawn() -> tuple[ProfileSampler, Iterator[Profile]]:
            drawing = ProfileSampler(ontology, definitions, draws_of(bench), section.domains, section.shares)
            return drawing, map(drawing.profile, bench.people())

        def wanted() -> Iterator[Target]:
            for profile in drawn()[1]:
                yield from refinements(profile, ontology, _product(profile, ()).id)

        drawing, profiles = drawn()
        total = sum(len(profile.domains) for profile in profiles)
        check_shares(drawing.balances.values(), section)
        answers: Iterator[Generation] = iter(())
        if section.refine:
            batch = RequestBatch(bench.model(), wanted, total, "preferences looked over")
            answers = await ask_after_trial(bench, batch)
        for profile in drawn()[1]:
            parents = [profile.id]
            if section.refine:
                parents = self._refine(bench, profile, ontology, drawing.balances, answers)
            _write(bench, profile, parents)
        for balance in drawing.balances.values():
            bench.write(
                {"path": balance.name, "evenness": balance.evenness, "counts": balance.counts}, BALANCES
            )

    def _refine(
        self,
        bench: Bench,
        profile: Profile,
        ontology: Ontology,
        balances: Mapping[str, ValueBalancer],
        answers: Iterator[Generation],
    ) -> list[str]:
        """Exchange what the writer wants exchanged and may be; returns what the profile is made from."""
        drawn = _product(profile, [profile.id])
        bench.add(drawn)
        parents = [drawn.id]
        for name in profile.domains:
            answer = next(answers)
            if answer.text is None:
                bench.reject_reply(answer)
                continue
            parents.append(answer.product)
            for why_not in apply_changes(profile, name, answer.text, ontology, balances):
                bench.reject(answer.target.key, why_not, about=profile.id, by="rule:shares-1")
        return parents

    def card(self, bench: Bench) -> str:
        """How even the preferences are."""
        rows = [row for row in bench.read_rows("profiles", "balances") if row.get("evenness") is not None]
        if not rows:
            return ""
        rows.sort(key=lambda row: (row["evenness"], row["path"]))
        mean = sum(row["evenness"] for row in rows) / len(rows)
        lines = [
            "## Preferences",
            "",
            f"Evenness of the values given out (normalised entropy; 1 is as even as can be): mean {mean:.3f} over "
            f"{len(rows)} attributes, lowest {rows[0]['evenness']:.3f}; each one's is in `steps/profiles/balances.jsonl`.",
            "",
        ]
        least = []
        for row in rows[:LEAST_EVEN]:
            counts = Counter[str](row["counts"])
            ((most, count),), total = counts.most_common(1), counts.total()
            least.append((row["path"], f"{row['evenness']:.3f}", total, f"{most} ({count / total:.0%})"))
        lines += table(("least even", "evenness", "given out", "most frequent"), least)
        refused = sum(row.get("by") == "rule:shares-1" for row in bench.read_rows("profiles", REJECTED))
        if refused:
            lines += [
                "",
                f"{refused:,} changes the writer wanted were not made: a rule or a share forbade them.",
            ]
        return "\n".join(lines)


def draws_of(bench: Bench) -> int:
    """The seed of a step's draws; a step that is done anew draws anew."""
    return bench.seed if not bench.take else draw(bench.seed, "take", bench.take, among=2**31)


def expected_domains(bench: Bench) -> int:
    """How many domains all people will care about, from the config alone."""
    section = bench.config.section(TasksSection)
    return round(bench.config.section(PeopleSection).quota * sum(section.domains) / 2)


def check_shares(balances: Iterable[ValueBalancer], section: TasksSection) -> None:
    """Stop before anything is asked if rules and people make the wanted shares, or any evenness, impossible."""
    for balance in balances:
        if balance.name in section.shares:
            _check_share(balance, section)
        elif balance.total >= ENOUGH * len(balance.counts) and (balance.evenness or 0) < EVENNESS:
            raise UserError(
                f"Impossible quota: the values of {balance.name} can only be given out with an evenness of "
                f"{balance.evenness:.2f}, below {EVENNESS:g}, for the ontology bars or excludes too many of them; "
                "loosen its rules, or set `shares` for it in [tasks]."
            )


def _check_share(balance: ValueBalancer, section: TasksSection) -> None:
    wanted = section.shares[balance.name]
    missed = [value for value in balance.misses() if value in wanted]
    if missed:
        value = missed[0]
        raise UserError(
            f"Impossible quota: {balance.name} = {value} is wanted {balance.wanted(value):.0f} times of "
            f"{balance.total:,} and can be given out {balance.counts[value]:,} times, for the ontology's rules leave no "
            "more; change `shares` in [tasks] or the rules."
        )


def _product(profile: Profile, parents: Sequence[str]) -> Product:
    drawn = {path: ", ".join(values) for path, values in profile.preferences.items()}
    text = render_facets({**profile.facets, **drawn})
    return Product(kind="profile", text=text, maker=MAKER, about=profile.id, parents=list(parents))


def _write(bench: Bench, profile: Profile, parents: Sequence[str]) -> None:
    product = _product(profile, parents)
    bench.add(product)
    bench.write(product, "products")
    bench.write(profile)
    bench.write({"id": profile.id, "profile": product.id}, "lineage")
