"""The first step of task profiles: who people are, which domains they care about, and what they prefer there."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.factory.asking import Target
from personafit.factory.bench import REJECTED, Bench, RequestBatch
from personafit.factory.quota import ask_after_trial
from personafit.factory.sections import (
    PeopleSection,
    TasksSection,
    open_definitions,
    open_ontology,
    task_files,
)
from personafit.factory.step import BuildStep, ExpectedAsks, table
from personafit.factory.tasks.circumstances import ValueBalancer
from personafit.factory.tasks.drawing import REFINE, ProfileSampler, apply_changes, drawn_people, refinements
from personafit.factory.tasks.ontology import Ontology, Profile
from personafit.people import render_facets
from personafit.store import Product

LEAST_EVEN = 5

MAKER = "template:task-profile-1"
BALANCES = "balances"
TEMPLATES_INSTEAD = "name a stronger writer, or set templates_only = true in [tasks]"
ENOUGH = 3  # given out per value, from which an attribute's evenness says something


class StepOfTasks(BuildStep):
    """What the steps of [tasks] share: the section, who writes, and the files of ontology, tasks and situations."""

    section = TasksSection
    roles = ("writer",)

    def outside(self, bench: Bench) -> Any:
        """Ontology, tasks and our lists."""
        ours = [Path(__file__).with_name(name) for name in ("demographics.toml", "situations.toml")]
        return bench.config.hashes([*task_files(bench.config), *ours])


class ProfilesStep(StepOfTasks):
    """Profiles drawn evenly by rules, and looked over by the writer if that is wanted."""

    name = "profiles"
    uses = ("people", "memories", "features")
    prompts = (REFINE,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """An ask for each person and domain, if preferences are looked over."""
        section = bench.config.section(TasksSection)
        if section.refine and not section.templates_only:
            calls = round(expected_people(bench) * sum(section.domains) / 2)
            yield ExpectedAsks("preferences looked over", bench.model(), calls, 450, 60)

    async def make(self, bench: Bench) -> None:
        """Draw, look over, write."""
        section, ontology = bench.config.section(TasksSection), open_ontology(bench.config)
        drawing, total = self._drawing(bench, ontology), 0
        for profile in self._drawn(bench, drawing):
            total += len(profile.domains)
        check_shares(drawing.balances.values(), section)
        if section.refine and not section.templates_only:
            await self._refine(bench, drawing, total)
        else:
            for profile in self._drawn(bench, self._drawing(bench, ontology)):
                _write(bench, profile, _origin(bench, profile))
        for balance in drawing.balances.values():
            bench.write(
                {"path": balance.name, "evenness": balance.evenness, "counts": balance.counts}, BALANCES
            )

    async def _refine(self, bench: Bench, drawing: ProfileSampler, total: int) -> None:
        section, ontology = bench.config.section(TasksSection), drawing.ontology

        def wanted() -> Iterator[Target]:
            for profile in self._drawn(bench, self._drawing(bench, ontology)):
                yield from refinements(profile, ontology, _product(profile, ()).id)

        batch = RequestBatch(bench.model("writer"), wanted, total, "preferences looked over")
        answers = await ask_after_trial(bench, batch, TEMPLATES_INSTEAD)
        for profile in self._drawn(bench, self._drawing(bench, ontology)):
            drawn = _product(profile, _origin(bench, profile))
            bench.add(drawn)
            parents = [drawn.id]
            for name in profile.domains:
                answer = next(answers)
                if answer.text is None:
                    bench.reject_reply(answer, bench.model())
                    continue
                parents.append(answer.product)
                for why_not in apply_changes(
                    profile, name, answer.text, ontology, drawing.balances, section.slack
                ):
                    bench.reject(answer.target.key, why_not, about=profile.id, by="rule:shares-1")
            _write(bench, profile, parents)

    def _drawing(self, bench: Bench, ontology: Ontology) -> ProfileSampler:
        section = bench.config.section(TasksSection)
        definitions = open_definitions(bench.config, ontology)
        return ProfileSampler(ontology, definitions, draws_of(bench), section.domains, section.shares)

    def _drawn(self, bench: Bench, drawing: ProfileSampler) -> Iterator[Profile]:
        section, config = bench.config.section(TasksSection), bench.config
        people = bench.people() if "people" in config.sections else None
        for one in drawn_people(section.people, draws_of(bench), list(config.build.languages), people):
            yield drawing.profile(*one)

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


def expected_people(bench: Bench) -> int:
    """How many people there will be, from the config alone."""
    made = bench.config.sections.get("people")
    return made.quota if isinstance(made, PeopleSection) else bench.config.section(TasksSection).people


def check_shares(balances: Iterable[ValueBalancer], section: TasksSection) -> None:
    """Stop before anything is asked if rules and people make the wanted shares, or any evenness, impossible."""
    for balance in balances:
        if balance.name in section.shares:
            _check_share(balance, section)
        elif balance.total >= ENOUGH * len(balance.counts) and (balance.evenness or 0) < section.evenness:
            raise UserError(
                f"Impossible quota: the values of {balance.name} can only be given out with an evenness of "
                f"{balance.evenness:.2f}, below {section.evenness:g}, for the ontology bars or excludes too many of them; "
                "loosen its rules, or set `evenness` lower or `shares` for it in [tasks]."
            )


def _check_share(balance: ValueBalancer, section: TasksSection) -> None:
    wanted = section.shares[balance.name]
    missed = [value for value in balance.misses(section.slack) if value in wanted]
    if missed:
        value = missed[0]
        raise UserError(
            f"Impossible quota: {balance.name} = {value} is wanted {balance.wanted(value):.0f} times of "
            f"{balance.total:,} and can be given out {balance.counts[value]:,} times, for the ontology's rules leave no "
            "more; change `shares` in [tasks] or the rules."
        )


def _origin(bench: Bench, profile: Profile) -> list[str]:
    """Whom a profile was drawn for, where somebody was made before."""
    return [profile.id] if "people" in bench.config.sections else []


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
