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


def answer_reader(people: Sequence[Person], words: int, before: str = "") -> Callable[[str], str]:
    """Reads an answer that names none of these people: of about so many words, or as long as the one it is written anew from."""

    def read(reply: str) -> str:
        text = without_marks(reply)
        count = length_in_words(text)
        if before:
            check_rewrite(text, before)
        elif not SHORTEST * words <= count <= LONGEST * words:
            raise Unfit(
                f"it must have about {words} words, not {count}", f"应有大约{words}个字，现在是{count}个"
            )
        for person in people:
            if named := name_in(text, person):
                raise Unfit(f"it must not say the name {named}", f"不能出现名字“{named}”")
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


def name_in(text: str, person: Person) -> str:
    """The part of the person's name that a text says; empty if it says none."""
    name = str(person.facets.get("Name", ""))
    for part in [name, *re.split(r"[\s·]+", name)]:
        if len(part) > 1 and re.search(
            re.escape(part) if WIDE.search(part) else rf"(?<![^\W_]){re.escape(part)}(?![^\W_])", text
        ):
            return part
    return ""


SENTENCES: dict[str, dict[str, list[str]]] = WORDINGS["answers"]
DRAWS = 40  # answers a rewrite is chosen from


def template_answer(
    language: str, told: str, words: int, *key: str | int, before: str = "", direction: str = ""
) -> str | None:
    """An answer of about so many words that quotes what a model would be told of the person.

    One written anew quotes it only where it is to be better, is vague where it is to be of less use, and is as long as before;
    None where no draw is.
    """
    others = "vague" if direction == "less-helpful" else "general"
    known = _known(told) if direction in ("", "better") else []
    least, most = bounds(before) if before else (1, 10**6)
    for number in range(DRAWS):
        text = _put_together(language, known[number % 2 :], words, others, *key, number)
        if least <= len(text) <= most and text != before:
            return text
    return None


def _put_together(language: str, known: Sequence[str], words: int, others: str, *key: str | int) -> str:
    wordings = SENTENCES["personal"][language]
    sentences: list[str] = []
    for number, text in enumerate(known):
        wording = wordings[draw("wording", *key, number, among=len(wordings))]
        said = wording.format(text.rstrip(".。"))
        if not sentences or length_in_words(" ".join([*sentences, said])) <= 0.7 * words:
            sentences.append(said)
    for said in sorted(
        SENTENCES[others][language], key=lambda said: draw("sentence", *key, said, among=2**63)
    ):
        if not sentences or length_in_words(" ".join([*sentences, said])) <= 1.2 * words:
            sentences.append(said)
        if length_in_words(" ".join(sentences)) >= 0.9 * words:
            break
    return ("" if language == "zh" else " ").join(sentences)


def _known(told: str) -> list[str]:
    """What a person is told to be, sentence by sentence: list entries, or else what stands after a field's name."""
    lines = [line.strip() for line in told.splitlines()]
    marked = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    said = [line.partition(": ")[2] for line in lines if ": " in line]
    return marked or [text for text in said if len(text) > (4 if WIDE.search(text) else 12)]
