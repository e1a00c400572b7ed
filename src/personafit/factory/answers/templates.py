"""Answers of ours, for models too small to write one: put together from sentences, as long as is asked for.

They show the line, not good answers. A personal sentence quotes something that is known; a general one would do for anybody; a
vague one is of no use. Whoever reads `template:answers-1` as the maker knows that no model wrote it.
"""

from collections.abc import Sequence
from itertools import permutations

from personafit._hashing import draw
from personafit.factory.answers.reading import bounds, length_in_words
from personafit.people import Person

TEMPLATE = "template:answers-1"

GENERAL = {
    "en": (
        "Start with the smallest step that can be done today.",
        "It helps to set a limit on time and money first.",
        "Compare two or three options and sleep on it.",
        "Ask somebody who has done it before.",
        "Keep it simple.",
        "Write down what matters most and leave out the rest.",
        "A short list is easier to keep than a long one.",
        "Most people find that a fixed day of the week works well.",
        "Try it once before deciding for good.",
        "Leave some room for plans to change.",
        "Look at it again after a week.",
        "There is no hurry.",
    ),
    "zh": (
        "先从今天就能做的一小步开始。",
        "最好先定下时间和花费的上限。",
        "比较两三个选择，隔一天再决定。",
        "问问有经验的人。",
        "越简单越好。",
        "把最要紧的写下来，其余的先放一放。",
        "短的清单比长的更容易坚持。",
        "多数人觉得固定在每周的某一天比较好。",
        "先试一次，再决定要不要长期这样做。",
        "给计划留一点变动的余地。",
        "过一周再回头看看。",
        "不用着急。",
    ),
}
VAGUE = {
    "en": (
        "Much depends on the situation, as it usually does.",
        "There are many ways to look at this.",
        "Some would say one thing and some another.",
        "It may or may not work out in the end.",
        "Things of this kind are hard to tell.",
        "That could be something to think about at some point.",
        "Who knows.",
        "In general there is a lot that could be said about it.",
    ),
    "zh": (
        "这往往要看具体情况。",
        "看待这件事的角度有很多。",
        "有人这么说，也有人那么说。",
        "最后可能行，也可能不行。",
        "这类事情很难说清楚。",
        "以后或许可以想一想。",
        "谁知道呢。",
        "总的来说，这方面可以说的有很多。",
    ),
}
PERSONAL = {
    "en": (
        "Let this lead the way: {}.",
        "It should go with this: {}.",
        "Build on what is there already: {}.",
    ),
    "zh": ("可以由此出发：{}。", "要和这一点相配：{}。", "就在已有的基础上来：{}。"),
}


def first_answer(language: str, known: Sequence[str], words: int, *key: str | int) -> str:
    """An answer of about so many words that quotes something that is known, and more of it where there is room."""
    sentences: list[str] = []
    for number, text in enumerate(known):
        wordings = PERSONAL[language]
        wording = wordings[draw("wording", *key, number, among=len(wordings))]
        said = wording.format(text.rstrip(".。"))
        if not sentences or length_in_words(" ".join([*sentences, said])) <= 0.7 * words:
            sentences.append(said)
    for said in _shuffled(GENERAL[language], *key):
        if sentences and length_in_words(" ".join([*sentences, said])) > 1.2 * words:
            continue
        sentences.append(said)
        if length_in_words(" ".join(sentences)) >= 0.9 * words:
            break
    return _joined(language, sentences)


def rewritten(
    language: str, before: str, direction: str, known: Sequence[str], *key: str | int
) -> str | None:
    """The answer with its first or last sentence exchanged, as long as before; None where no exchange is."""
    least, most = bounds(before)
    sentences = _split(language, before)
    if direction == "better":
        offers = [
            PERSONAL[language][number % 3].format(text.rstrip(".。")) for number, text in enumerate(known)
        ]
    else:
        offers = list((GENERAL if direction == "less-personal" else VAGUE)[language])
    offers = [said for said in _shuffled(offers, *key) if said not in before]
    places = range(len(sentences)) if direction == "less-personal" else reversed(range(len(sentences)))
    for place in places:
        for span in (1, 2):
            rest = sentences[:place], sentences[place + span :]
            for count in (1, 2, 3) if len(offers) > 2 else (1,):
                for said in permutations(offers[:8], count):
                    text = _joined(language, [*rest[0], *said, *rest[1]])
                    if least <= len(text) <= most:
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


def _split(language: str, text: str) -> list[str]:
    if language == "zh":
        return [f"{one}。" for one in text.split("。") if one]
    return [f"{one.rstrip('.')}." for one in text.split(". ") if one]


def _joined(language: str, sentences: Sequence[str]) -> str:
    return ("" if language == "zh" else " ").join(sentences)


def _shuffled(sentences: Sequence[str], *key: str | int) -> list[str]:
    return sorted(sentences, key=lambda said: draw("sentence", *key, said, among=2**63))
