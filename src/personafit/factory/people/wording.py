"""Drawn combinations put into words: by the writer where its words say what was drawn, by the drawn words themselves where not.

Whose words they are is recorded: sentences that the writer could not put are a product of `template:people-1`, and where it
put none, so is the profile itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from personafit.factory.asking import Generation, Target, Unfit, check_language, only_line
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.people.drawing import CandidateSampler, ProfileDraft, told_apart
from personafit.factory.prompts import PROMPTS, WORDINGS
from personafit.factory.quota import ask_after_trial
from personafit.factory.rows import Scratch
from personafit.factory.sections import PeopleSection
from personafit.people import Person, render_facets, render_person, select_facets
from personafit.store import Product

PROFILE = PROMPTS["people.profile"]
FIELD = PROMPTS["people.field"]
SCREEN = PROMPTS["people.screen"]
LETTERS = ("A", "B", "C", "D", "E")
VERDICTS = {
    "B": "contradicts itself",
    "C": "not of today",
    "D": "idealised",
    "E": "dramatised or stereotyped",
}

TOPICS: dict[str, dict[str, str]] = WORDINGS["topics"]

SHORTEST, LONGEST = {"en": 20, "zh": 8}, {"en": 260, "zh": 130}
LEAST_SHARED = 0.25  # of the hint's character pairs: below that, the sentence says something else
_PLACEHOLDER = re.compile(r"\[[^\]]*\]|\{[^}]*\}|<[^>]*>|\.\.\.$|…$")


def sentence_reader(language: str, hint: str, name: str = "") -> Callable[[str], str]:
    """Reads one sentence that says what the hint says."""

    def read(reply: str) -> str:
        return check_sentence(only_line(reply), language, hint, name)

    return read


def lines_reader(language: str, hints: dict[str, str], name: str) -> Callable[[str], str]:
    """Reads a line for each field, `Field: sentence`; the product's text is the same lines in the order asked for."""

    def read(reply: str) -> str:
        found: dict[str, str] = {}
        for line in reply.strip().splitlines():
            if not line.strip():
                continue
            key, mark, rest = line.strip().lstrip("-*• ").replace("：", ":", 1).partition(":")
            key = key.strip().strip("*")
            if not mark or key not in hints:
                raise Unfit(
                    f"'{line.strip()[:40]}' is not a line of the form FIELD: sentence",
                    f"“{line.strip()[:40]}”不是“字段: 句子”这种格式的一行",
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


def read_lines_back(text: str) -> dict[str, str]:
    """The sentences by field, from a product's text."""
    return dict(line.split(": ", 1) for line in text.splitlines())


def check_sentence(text: str, language: str, hint: str, name: str) -> str:
    """A sentence that can stand in a profile, or why it cannot."""
    text = " ".join(text.split()).strip("\"'“”*")
    if not SHORTEST[language] <= len(text) <= LONGEST[language]:
        raise Unfit(
            f"a sentence has {SHORTEST[language]} to {LONGEST[language]} characters, this one {len(text)}",
            f"一句话应有{SHORTEST[language]}到{LONGEST[language]}个字符，现在是{len(text)}个",
        )
    check_language(text, language)
    if _PLACEHOLDER.search(text):
        raise Unfit("it has gaps to fill in, or breaks off", "留有待填的空，或没有写完")
    if name and name in text:
        raise Unfit("it repeats the name", "出现了姓名")
    if shared(hint, text) < LEAST_SHARED:
        raise Unfit("it does not say what it was to say", "没有表达要求的内容")
    return text


def shared(hint: str, text: str) -> float:
    """The share of the hint's pairs of letters that occur in the text."""
    wanted = _pairs(hint)
    return len(wanted & _pairs(text)) / len(wanted) if wanted else 1.0


def _pairs(text: str) -> set[str]:
    words: Sequence[str] = re.findall(r"[a-z]{3,}|[\u3400-\u9fff]+", text.lower())
    return {word[place : place + 2] for word in words for place in range(len(word) - 1)}


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
            if answer.text is None:
                self._bench.reject_reply(answer, self._bench.model())
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
