"""The people step: candidates drawn, put into words, screened, balanced, and queued for review, until there are enough.

The writer's words stand where they say what was drawn, the drawn words themselves (`template:people-1`) where not. No field of
work, region, decade of age or interest may crowd out the others, and nobody may be there twice: near-duplicates are looked for
among people of the same language, job, gender and decade, since others differ in that already.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import Any

from personafit._hashing import hash_text
from personafit.build.asking import Generation, Target, Unfit, check_language, verdict
from personafit.build.bench import Bench, RequestBatch
from personafit.build.candidates import (
    INTEREST,
    CandidateSampler,
    ProfileDraft,
    contradictions,
    read_seeds,
    told_apart,
)
from personafit.build.duplicates import NearDuplicates
from personafit.build.prompts import PROMPTS
from personafit.build.quota import Quota, ask_after_trial
from personafit.build.rows import REVIEWER, Review, Scratch
from personafit.build.sections import PeopleSection, elements_of
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.people import Person, facet_values, render_facets, render_person, select_facets
from personafit.store import Product

PROFILE = PROMPTS["people.profile"]
SCREEN = PROMPTS["people.screen"]
LETTERS = ("A", "B", "C", "D", "E")
VERDICTS = {
    "B": "contradicts itself",
    "C": "not of today",
    "D": "idealised",
    "E": "dramatised or stereotyped",
}
TRAINING = "training_people"
TEMPLATE, RULES, BALANCE = "template:people-1", "rule:people-1", "rule:balance-1"
WHO = ("Name", "Demographics", "Personality")
SHOWN = 12  # values of a kind on the card

SHORTEST, LONGEST = {"en": 20, "zh": 8}, {"en": 260, "zh": 130}
LEAST_SHARED = 0.25  # of the hint's character pairs: below that, the sentence says something else
_PLACEHOLDER = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}|<[^<>]*>|\.\.\.$|…$")


class PeopleStep(BuildStep):
    """Simulated people from seeds and drawn combinations."""

    name = "people"
    section = PeopleSection
    version = 2
    roles = ("writer", "checker")
    prompts = (PROFILE, SCREEN)

    def outside(self, bench: Bench) -> Any:
        """Our elements, the seeds, and what people decided about earlier candidates."""
        return [
            [hash_text(known.text) for known in elements_of(bench.config).values()],
            [seed.version for seed in _seeds(bench)],
            Review(bench.out, self.name).decisions,
        ]

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """An ask for words and one for screening."""
        section = bench.config.section(PeopleSection)
        if section.fields:
            yield ExpectedAsks("words", bench.model(), section.total, 700, 45 * len(section.fields))
        yield ExpectedAsks("screening", bench.model("checker"), section.total, 550, 1)

    async def make(self, bench: Bench) -> None:
        """Rounds of candidates until the quota is full."""
        section = bench.config.section(PeopleSection)
        drawing = CandidateSampler(_seeds(bench), elements_of(bench.config), bench.seed, bench.take)
        quota, review = Quota("people", section.total), Review(bench.out, self.name)
        balance = PeopleBalancer(section)
        queue = bench.scratch("queue")
        while numbers := quota.round():
            drawn = bench.scratch("drawn")
            for candidate in map(drawing.draw, numbers):
                fault = next(contradictions(candidate), None)
                if fault is None or review.kept(candidate.id):
                    drawn.add({"number": candidate.number})
                else:
                    quota.reject("the combination contradicts itself")
                    bench.reject(candidate.id, fault, render_person(candidate.person()), by=RULES)
            profiles = await _worded(bench, section, drawing, drawn)
            drawn.close()
            passed = await self._screened(bench, profiles, quota, review, queue)
            profiles.close()
            for row in passed:
                self._settle(bench, row, balance.why_not(row), quota, queue)
            passed.close()
        review.write(queue)

    async def _screened(
        self, bench: Bench, profiles: Scratch, quota: Quota, review: Review, queue: Scratch
    ) -> Scratch:
        """The checker says what does not hold, a person's word counts more."""
        checker, passed = bench.model("checker"), bench.scratch("passed")
        answers = await bench.ask(
            RequestBatch(checker, lambda: map(_screening, profiles), profiles.count, "screening")
        )
        for row, answer in zip(profiles, answers, strict=True):
            person, by = row["person"]["id"], bench.name("checker")
            reason = VERDICTS.get(answer.text or "", "")
            if answer.text is None:
                reason = f"could not be screened: {answer.reason}"
            if review.dropped(person):
                reason, by = "dropped in review", REVIEWER
            elif review.kept(person):
                reason = ""
            if answer.product:
                row["parents"].append(answer.product)
            if not reason:
                passed.add(row)
                continue
            quota.reject(reason.partition(":")[0])
            bench.reject(person, reason, row["text"], by=by)
            queue.add(_queued(row, reason))
        return passed

    def _settle(self, bench: Bench, row: dict[str, Any], reason: str, quota: Quota, queue: Scratch) -> None:
        """Keep a person, or say why not."""
        person = row["person"]["id"]
        if not reason and quota.full:
            reason = "not needed: there are enough"
        if reason:
            quota.reject(reason.partition(" '")[0])
            bench.reject(person, reason, row["text"], by=BALANCE)
            return
        training = quota.kept >= bench.config.section(PeopleSection).quota
        quota.keep()
        makers = row["makers"]
        maker = next((maker for maker in makers.values() if maker != TEMPLATE), TEMPLATE)
        product = Product(kind="profile", text=row["text"], maker=maker, about=person, parents=row["parents"])
        bench.add(product)
        if not training:  # the benchmark folder holds what its own items refer to
            bench.write(product, "products")
        bench.write(row["person"], TRAINING if training else None)
        lineage = {"id": person, "profile": product.id, "number": row["number"], "makers": makers}
        bench.write(lineage, "lineage")
        queue.add(_queued(row, ""))

    def card(self, bench: Bench) -> str:
        """How many of whom."""
        known = {
            f"{language}/{one.text}": one.get(kind)
            for language, lists in elements_of(bench.config).items()
            for name, kind in (("jobs", "field"), ("homes", "region"))
            for one in lists.tables[name]
        }
        counts: dict[str, Counter[str]] = {}
        people = length = facets = 0
        for person in chain(bench.read_rows("people"), bench.read_rows("people", TRAINING)):
            people += 1
            facets += len(person["facets"])
            length += sum(map(len, facet_values(person["facets"])))
            for name, value in _kinds(person, known):
                counts.setdefault(name, Counter())[value] += 1
        makers = Counter(
            maker == TEMPLATE
            for row in bench.read_rows("people", "lineage")
            for maker in row["makers"].values()
        )
        lines = [
            "## People (simulated)",
            "",
            f"{bench.count('people'):,} in the benchmark, {bench.count('people', TRAINING):,} for training only. Mean profile: "
            f"{facets / max(1, people):.1f} facets, {length / max(1, people):,.0f} characters.",
            "",
            f"Of {makers.total():,} sentences about habits {makers[False]:,} are the writer's words and {makers[True]:,} those "
            f"of our template ({TEMPLATE}).",
            "",
            *table(("what", "people"), ((name, _frequent(counter)) for name, counter in counts.items())),
        ]
        return "\n".join(lines)


class PeopleBalancer:
    """Rejects candidates whose group is over its share, and near-duplicates."""

    def __init__(self, section: PeopleSection) -> None:
        self._most = max(1, ceil(section.max_share * section.total))
        self._most_interest = max(1, ceil(section.max_interest_share * section.total))
        self._counts: Counter[tuple[str, str]] = Counter()
        self._known = NearDuplicates(section.similarity)

    def why_not(self, row: dict[str, Any]) -> str:
        """The reason why a candidate may not stay; who has none counts from here on."""
        kinds = [(name, value) for name, value in row["kinds"]]
        for name, value in kinds:
            if self._counts[name, value] >= (self._most_interest if name == INTEREST else self._most):
                return f"enough people with {name} '{value}' already"
        (twin,) = self._known.add([(row["person"]["id"], row["habits"])], row["block"])
        if twin is not None:
            return f"near-duplicate of '{twin}'"
        self._counts.update(kinds)
        return ""


async def _worded(
    bench: Bench, section: PeopleSection, drawing: CandidateSampler, numbers: Scratch
) -> Scratch:
    """The profiles of drawn candidates, each with its lineage, put aside on disk."""

    def wanted() -> Iterator[Target]:
        return (_target(section, drawing.draw(row["number"])) for row in numbers)

    profiles = bench.scratch("profiles")
    answers: Iterator[Generation] = iter(())
    if section.fields:
        batch = RequestBatch(bench.model(), wanted, numbers.count, "profiles")
        answers = await ask_after_trial(bench, batch)
    for row in numbers:
        drawn = drawing.draw(row["number"])
        answer = next(answers) if section.fields else None
        if answer is not None and answer.text is None:
            bench.reject_reply(answer)
        profiles.add(_profile(bench, drawn, answer))
    return profiles


def _target(section: PeopleSection, drawn: ProfileDraft) -> Target:
    hints = {leaf: drawn.leaves[leaf].text for leaf in section.fields}
    person = drawn.person()
    return Target.for_person(
        person,
        f"{drawn.id}/words",
        PROFILE,
        {
            "outline": render_person(person, select_facets(person.facets, WHO)),
            "manner": render_facets(select_facets(drawn.seed.facets, hints)),
            "points": "\n".join(f"{leaf}: {hint}" for leaf, hint in hints.items()),
            "form": "\n".join(f"{leaf}: …" for leaf in hints),
        },
        "profile",
        lines_reader(drawn.language, hints, drawn.name),
        parents=(drawn.seed.id,),
        max_tokens=160 * len(hints),
    )


def _profile(bench: Bench, drawn: ProfileDraft, answer: Generation | None) -> dict[str, object]:
    """A candidate's row: the person in the writer's words, as far as there are any, and who put what."""
    words, parents = dict[str, str](), [drawn.seed.id]
    if answer is not None and answer.text is not None:
        words = dict(line.split(": ", 1) for line in answer.text.splitlines())
        parents.append(answer.product)
    left = {leaf: element.text for leaf, element in drawn.leaves.items() if leaf not in words}
    if left and words:
        text = "\n".join(f"{leaf}: {said}" for leaf, said in left.items())
        product = Product(kind="profile", text=text, maker=TEMPLATE, about=drawn.id, parents=[drawn.seed.id])
        bench.add(product)
        parents.append(product.id)
    person = drawn.person(words)
    return {
        "number": drawn.number,
        "person": person.model_dump(exclude_defaults=True),
        "text": render_person(person),
        **told_apart(drawn, person),
        "makers": dict.fromkeys(words, answer.maker if answer else "") | dict.fromkeys(left, TEMPLATE),
        "parents": parents,
    }


def lines_reader(language: str, hints: dict[str, str], name: str) -> Callable[[str], str]:
    """Reads a line for each field, `Field: sentence`; the product's text is the same lines in the order asked for."""

    def read(reply: str) -> str:
        found: dict[str, str] = {}
        for line in filter(None, map(str.strip, reply.splitlines())):
            key, mark, rest = line.lstrip("-*• ").replace("：", ":", 1).partition(":")
            key = key.strip().strip("*")
            if not mark or key not in hints:
                raise Unfit(
                    f"'{line[:40]}' is not a line of the form FIELD: sentence",
                    f"“{line[:40]}”不是“字段: 句子”这种格式的一行",
                )
            if key in found:
                raise Unfit(f"{key} occurs twice", f"{key} 出现了两次")
            found[key] = check_sentence(rest, language, hints[key], name)
        if missing := [key for key in hints if key not in found]:
            raise Unfit(f"{missing[0]} is missing", f"缺少 {missing[0]}")
        if len(set(found.values())) < len(found):
            raise Unfit("two lines say the same", "有两行内容相同")
        return "\n".join(f"{key}: {found[key]}" for key in hints)

    return read


def check_sentence(text: str, language: str, hint: str, name: str) -> str:
    """A sentence that can stand in a profile, or why it cannot."""
    text = " ".join(text.split()).strip("\"'“”*")
    check_length(text, language)
    check_language(text, language)
    if _PLACEHOLDER.search(text):
        raise Unfit("it has gaps to fill in, or breaks off", "留有待填的空，或没有写完")
    if name and name in text:
        raise Unfit("it repeats the name", "出现了姓名")
    if shared(hint, text) < LEAST_SHARED:
        raise Unfit("it does not say what it was to say", "没有表达要求的内容")
    return text


def check_length(text: str, language: str) -> None:
    """Raises Unfit for what is too short or too long for a sentence about somebody."""
    least, most = SHORTEST[language], LONGEST[language]
    if not least <= len(text) <= most:
        raise Unfit(
            f"a sentence has {least} to {most} characters, '{text[:30]}' has {len(text)}",
            f"一句话应有{least}到{most}个字符，“{text[:30]}”有{len(text)}个",
        )


def shared(hint: str, text: str) -> float:
    """The share of the hint's pairs of letters that occur in the text."""
    wanted = _pairs(hint)
    return len(wanted & _pairs(text)) / len(wanted) if wanted else 1.0


def _pairs(text: str) -> set[str]:
    words: Sequence[str] = re.findall(r"[a-z]{3,}|[\u3400-\u9fff]+", text.lower())
    return {word[place : place + 2] for word in words for place in range(len(word) - 1)}


def _kinds(person: dict[str, Any], known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    facets, language = person["facets"], person["language"]
    age = int(str(facets["Demographics.Age"])) // 10 * 10
    yield "Language", language
    yield "Age", f"{age}–{age + 9}"
    yield "Gender", str(facets["Demographics.Gender"])
    yield "Field of work", known.get(f"{language}/{facets['Demographics.Work']}", "other")
    yield "Region", known.get(f"{language}/{facets['Demographics.Home']}", "other")
    yield "MBTI", str(facets["Personality.MBTI"])


def _frequent(counts: Counter[str]) -> str:
    """The most frequent values, and how many others there are."""
    order = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    more = [f"{len(order) - SHOWN} more"] if len(order) > SHOWN else []
    return ", ".join([*(f"{value} {count:,}" for value, count in order[:SHOWN]), *more])


def _seeds(bench: Bench) -> tuple[Person, ...]:
    path = bench.config.section(PeopleSection).seeds
    return read_seeds(bench.config.place(path) if path else None, list(bench.config.build.languages))


def _screening(row: dict[str, Any]) -> Target:
    person, parents = row["person"], tuple(row["parents"])
    told = {"person": row["text"]}
    return verdict(person["id"], SCREEN, person["language"], told, LETTERS, person["id"], parents)


def _queued(row: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"id": row["person"]["id"], "rejected": reason, "person": row["person"]["facets"]}
