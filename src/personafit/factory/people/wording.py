"""Drawn combinations put into words: by the writer where its words say what was drawn, by the drawn words themselves where not.

Whose words they are is recorded: sentences that the writer could not put are a product of `template:people-1`, and where it
put none, so is the profile itself.
"""

from collections.abc import Iterable, Iterator

from personafit.factory.asking import Generation, Target
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.people.balance import told_apart
from personafit.factory.people.config import PeopleSection
from personafit.factory.people.drawing import CandidateSampler, ProfileDraft
from personafit.factory.people.prompts import (
    FIELD,
    PROFILE,
    TOPICS,
    lines_reader,
    read_lines_back,
    sentence_reader,
)
from personafit.factory.rows import Scratch
from personafit.factory.trial import ask_after_trial
from personafit.people import Person, render_facets, render_person, select_facets
from personafit.store import Product

TEMPLATE = "template:people-1"
FIELDS_INSTEAD = 'name a stronger writer, or set asks = "fields" in [people]'
WHO = ("Name", "Demographics", "Personality")


class ProfileWriter:
    """Has a model write the profile of each sampled candidate."""

    def __init__(self, bench: Bench, section: PeopleSection, drawing: CandidateSampler) -> None:
        self._bench, self._section, self._drawing = bench, section, drawing
        self._tried = False

    async def put(self, numbers: Scratch) -> Scratch:
        """The profiles of drawn candidates, each with its lineage, put aside on disk."""
        profiles = self._bench.scratch("profiles")
        answers: Iterator[Generation] = iter(())
        if self._section.fields:
            asks = numbers.count * (1 if self._section.asks == "whole" else len(self._section.fields))
            batch = RequestBatch(self._bench.model("writer"), lambda: self._wanted(numbers), asks, "profiles")
            if self._section.asks == "whole" and not self._tried:
                answers = await ask_after_trial(self._bench, batch, FIELDS_INSTEAD)
            else:
                answers = await self._bench.ask(batch)
            self._tried = True
        for row in numbers:
            drawn = self._drawing.draw(row["number"])
            words, makers, parents = self._words(drawn, answers)
            profiles.add(self._profile(drawn, words, makers, parents))
        return profiles

    def _wanted(self, numbers: Iterable[dict[str, int]]) -> Iterator[Target]:
        for row in numbers:
            drawn = self._drawing.draw(row["number"])
            if self._section.asks == "whole":
                yield self._whole(drawn)
            else:
                for leaf in self._section.fields:
                    yield self._field(drawn, leaf)

    def _whole(self, drawn: ProfileDraft) -> Target:
        hints = {leaf: drawn.leaves[leaf].text for leaf in self._section.fields}
        manner = render_facets(select_facets(drawn.seed.facets, hints))
        return Target(
            f"{drawn.id}/words",
            PROFILE,
            drawn.language,
            {
                "outline": _outline(drawn.person()),
                "manner": manner,
                "points": "\n".join(f"{leaf}: {hint}" for leaf, hint in hints.items()),
                "form": "\n".join(f"{leaf}: …" for leaf in hints),
            },
            kind="profile",
            read=lines_reader(drawn.language, hints, drawn.name),
            about=drawn.id,
            parents=(drawn.seed.id,),
            max_tokens=160 * len(hints),
        )

    def _field(self, drawn: ProfileDraft, leaf: str) -> Target:
        hint = drawn.leaves[leaf].text
        return Target(
            f"{drawn.id}/{leaf}",
            FIELD,
            drawn.language,
            {"gist": gist(drawn), "topic": TOPICS[leaf][drawn.language], "hint": hint},
            kind="profile",
            read=sentence_reader(drawn.language, hint, drawn.name),
            about=drawn.id,
            parents=(drawn.seed.id,),
            max_tokens=60,
            temperature=0.4,
        )

    def _words(
        self, drawn: ProfileDraft, answers: Iterator[Generation]
    ) -> tuple[dict[str, str], dict[str, str], list[str]]:
        """The sentences by field, who put each, and the products they stand in."""
        words: dict[str, str] = {}
        makers: dict[str, str] = {}
        parents: list[str] = []
        fields = self._section.fields
        asked = [fields] if self._section.asks == "whole" and fields else [[leaf] for leaf in fields]
        for leaves in asked:
            answer = next(answers)
            if answer.text is None or answer.maker is None or answer.product is None:
                self._bench.reject(
                    answer.target.key, answer.reason, about=drawn.id, by=self._bench.model("writer").name
                )
                continue
            said = read_lines_back(answer.text) if self._section.asks == "whole" else {leaves[0]: answer.text}
            words |= said
            makers |= dict.fromkeys(said, answer.maker)
            parents.append(answer.product)
        return words, makers, parents

    def _profile(
        self, drawn: ProfileDraft, words: dict[str, str], makers: dict[str, str], parents: list[str]
    ) -> dict[str, object]:
        drawn_words = {leaf: element.text for leaf, element in drawn.leaves.items() if leaf not in words}
        if drawn_words and words:
            text = "\n".join(f"{leaf}: {said}" for leaf, said in drawn_words.items())
            product = Product(
                kind="profile", text=text, maker=TEMPLATE, about=drawn.id, parents=[drawn.seed.id]
            )
            self._bench.add(product)
            parents.append(product.id)
        person = drawn.person(words)
        return {
            "number": drawn.number,
            "person": person.model_dump(exclude_defaults=True),
            "text": render_person(person),
            **told_apart(drawn, person),
            "makers": makers | dict.fromkeys(drawn_words, TEMPLATE),
            "parents": [drawn.seed.id, *parents],
        }


def gist(drawn: ProfileDraft) -> str:
    """Who it is, in a line."""
    if drawn.language == "zh":
        return f"{drawn.age}岁，{drawn.gender}，{drawn.job.text}；住处：{drawn.home.text}。"
    return f"A {drawn.gender} of {drawn.age}. Work: {drawn.job.text}. Home: {drawn.home.text}."


def _outline(person: Person) -> str:
    return render_person(person, select_facets(person.facets, WHO))
