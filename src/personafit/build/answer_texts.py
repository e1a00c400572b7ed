"""What a reply must be to count as an answer, and answers of our template's for builds without an answer model.

An answer is plain prose of about the length asked for that names nobody. The template's are put together from sentences: a personal
one quotes something that is known, a general one would do for anybody, a vague one is of no use. They show the line, not good
answers; whoever reads `template:answers-1` as the maker knows that no model wrote it.
"""

import re
from collections.abc import Callable, Sequence

from personafit._hashing import draw
from personafit.build.asking import WIDE, Unfit, plain
from personafit.build.prompts import WORDINGS
from personafit.people import Person

SHORTEST, LONGEST = 0.4, 1.8  # of the words asked for
OFF_LENGTH = 0.1  # by how much of its length a rewritten answer may differ
_MARKS = re.compile(r"\*\*|__|`+|^[^\S\n]*(?:#+|[-*•]|\d+[.)、])\s+", re.MULTILINE)
_SPACE = re.compile(r"(?<!\s)\s*\n\s*")


def answer_reader(people: Sequence[Person], words: int) -> Callable[[str], str]:
    """Reads a first answer, which names none of these people."""

    def read(reply: str) -> str:
        text = without_marks(reply)
        count = length_in_words(text)
        if not SHORTEST * words <= count <= LONGEST * words:
            raise Unfit(
                f"it must have about {words} words, not {count}", f"应有大约{words}个字，现在是{count}个"
            )
        _nameless(text, people)
        return text

    return read


def rewrite_reader(people: Sequence[Person], before: str) -> Callable[[str], str]:
    """Reads an answer that was written anew: another one, as long as before."""

    def read(reply: str) -> str:
        text = without_marks(reply)
        check_rewrite(text, before)
        _nameless(text, people)
        return text

    return read


def check_rewrite(text: str, before: str) -> None:
    """Raises Unfit for an answer written anew that is the same, or not as long as before."""
    if text == before:
        raise Unfit("it is the same answer", "和原来的回答一样")
    least, most = bounds(before)
    if not least <= len(text) <= most:
        raise Unfit(
            f"it must have between {least} and {most} characters, not {len(text)}",
            f"应有{least}到{most}个字符，现在是{len(text)}个",
        )


def bounds(before: str) -> tuple[int, int]:
    """How long an answer written anew may be, in characters."""
    slack = int(OFF_LENGTH * len(before))
    return len(before) - slack, len(before) + slack


def without_marks(reply: str) -> str:
    """The reply as one paragraph without markup."""
    text = _SPACE.sub(" ", _MARKS.sub("", plain(reply))).strip().strip('"“”').strip()
    return plain(text)


def length_in_words(text: str) -> int:
    """Words, or characters where the text is Chinese."""
    wide = len(WIDE.findall(text))
    return wide + len(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", WIDE.sub(" ", text)))


def names(text: str, person: Person) -> str:
    """The part of the person's name that a text says; empty if it says none."""
    name = str(person.facets.get("Name", ""))
    for part in [name, *re.split(r"[\s·]+", name)]:
        if len(part) > 1 and re.search(
            re.escape(part) if WIDE.search(part) else rf"(?<![^\W_]){re.escape(part)}(?![^\W_])", text
        ):
            return part
    return ""


def _nameless(text: str, people: Sequence[Person]) -> None:
    for person in people:
        if named := names(text, person):
            raise Unfit(f"it must not say the name {named}", f"不能出现名字“{named}”")


TEMPLATE = "template:answers-1"
SENTENCES: dict[str, dict[str, list[str]]] = WORDINGS["answers"]
DRAWS = 40  # answers a rewrite is chosen from


def template_answer(
    language: str, known: Sequence[str], words: int, *key: str | int, others: str = "general"
) -> str:
    """An answer of about so many words that quotes something that is known, and more of it where there is room."""
    sentences: list[str] = []
    for number, text in enumerate(known):
        wordings = SENTENCES["personal"][language]
        wording = wordings[draw("wording", *key, number, among=len(wordings))]
        said = wording.format(text.rstrip(".。"))
        if not sentences or length_in_words(" ".join([*sentences, said])) <= 0.7 * words:
            sentences.append(said)
    drawn = sorted(SENTENCES[others][language], key=lambda said: draw("sentence", *key, said, among=2**63))
    for said in drawn:
        if sentences and length_in_words(" ".join([*sentences, said])) > 1.2 * words:
            continue
        sentences.append(said)
        if length_in_words(" ".join(sentences)) >= 0.9 * words:
            break
    return ("" if language == "zh" else " ").join(sentences)


def template_rewrite(
    language: str, before: str, direction: str, known: Sequence[str], words: int, *key: str | int
) -> str | None:
    """Another answer that fits better, or worse, of the same length; None where no draw gives one."""
    least, most = bounds(before)
    others = "vague" if direction == "less-helpful" else "general"
    told = list(known) if direction == "better" else []
    for number in range(DRAWS):
        text = template_answer(language, told[number % 2 :], words, *key, number, others=others)
        if least <= len(text) <= most and text != before:
            return text
    return None


def known_of(person: Person, told: str) -> list[str]:
    """What a person is told to be, sentence by sentence, in the order of what was told: list entries first."""
    lines = [line.strip() for line in told.splitlines()]
    marked = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    if marked:
        return marked
    said = [line.partition(": ")[2] for line in lines if ": " in line]
    return [text for text in said if len(text) > (4 if person.language == "zh" else 12)]
