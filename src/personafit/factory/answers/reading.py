"""What a reply must be to count as an answer: plain prose of about the length asked for, that names nobody."""

import re
from collections.abc import Callable, Sequence

from personafit.factory.asking import Unfit, plain
from personafit.people import Person

SHORTEST, LONGEST = 0.4, 1.8  # of the words asked for
OFF_LENGTH = 0.1  # by how much of its length a rewritten answer may differ
_MARKS = re.compile(r"\*\*|__|`+|^\s*(?:#+|[-*•]|\d+[.)、])\s+", re.MULTILINE)
_SPACE = re.compile(r"\s*\n\s*")
_WIDE = re.compile(r"[\u3400-\u9fff]")


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
    least, most = bounds(before)

    def read(reply: str) -> str:
        text = without_marks(reply)
        if text == before:
            raise Unfit("it is the same answer", "和原来的回答一样")
        if not least <= len(text) <= most:
            raise Unfit(
                f"it must have between {least} and {most} characters, not {len(text)}",
                f"应有{least}到{most}个字符，现在是{len(text)}个",
            )
        _nameless(text, people)
        return text

    return read


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
    wide = len(_WIDE.findall(text))
    return wide + len(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", _WIDE.sub(" ", text)))


def names(text: str, person: Person) -> str:
    """The part of the person's name that a text says; empty if it says none."""
    name = str(person.facets.get("Name", ""))
    for part in [name, *re.split(r"[\s·]+", name)]:
        if len(part) > 1 and re.search(
            re.escape(part) if _WIDE.search(part) else rf"(?<![^\W_]){re.escape(part)}(?![^\W_])", text
        ):
            return part
    return ""


def _nameless(text: str, people: Sequence[Person]) -> None:
    for person in people:
        if named := names(text, person):
            raise Unfit(f"it must not say the name {named}", f"不能出现名字“{named}”")
