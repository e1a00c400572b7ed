"""What the memories and features steps ask of models, in English and Chinese, and how replies are read."""

import re
from collections.abc import Callable

from personafit.factory.asking import Unfit
from personafit.factory.people.prompts import LEAST_SHARED, LONGEST, SHORTEST, shared
from personafit.factory.prompts import PromptTemplate

SELECT = PromptTemplate(
    "memories.select",
    1,
    user={
        "en": (
            "This is somebody:\n\n{person}\n\nBelow are texts found online, numbered. Choose the {count} that this person is most "
            "likely to have written, saved or cared about.\n\n{entries}\n\nAnswer with {count} numbers, separated by commas, and "
            "nothing else."
        ),
        "zh": (
            "这是某个人：\n\n{person}\n\n下面是网上找到的文字，已编号。请选出这个人最可能写过、收藏过或在意的{count}条。\n\n{entries}\n\n"
            "只回答{count}个编号，用逗号隔开。"
        ),
    },
)

WRITE = PromptTemplate(
    "memories.write",
    1,
    user={
        "en": (
            "This is somebody:\n\n{person}\n\nOver the past months they talked to an assistant about ordinary things. Write {count} "
            "notes that the assistant would have kept: what happened, what was bought, liked, planned or given up. Each note is "
            "one plain sentence in the third person, about something the outline does not say outright but that goes with it.\n\n"
            "Touch on: {topics}\n\nAnswer with {count} lines, numbered from 1, and nothing else."
        ),
        "zh": (
            "这是某个人：\n\n{person}\n\n过去几个月，这个人和助手聊过一些日常琐事。请写出助手会记下的{count}条记录：发生了什么，买了、喜欢、"
            "打算或放弃了什么。每条一句朴素的第三人称的话，写概况里没有直接说、但与之相符的事。\n\n涉及：{topics}\n\n"
            "回答{count}行，从1开始编号，不要写别的。"
        ),
    },
)

NOTE = PromptTemplate(
    "memories.note",
    1,
    user={
        "en": "{gist} They like: {topic}.\n\nWrite one short sentence about what they did last month. Only the sentence.",
        "zh": "{gist}喜欢：{topic}。\n\n用一句短话写这个人上个月做的一件事。只写这句话。",
    },
)

FEATURES = PromptTemplate(
    "memories.features",
    1,
    user={
        "en": (
            "An assistant kept these notes about somebody:\n\n{memories}\n\nWhat do they suggest about this person's tastes, habits "
            "or needs? Give {count} features. Each is one sentence that goes beyond the notes without contradicting them, and "
            "names in square brackets the numbers of the notes it rests on.\n\nAnswer with {count} lines in the form\n"
            "1. Feature [2, 5]\nand nothing else."
        ),
        "zh": (
            "助手记下了关于某个人的这些事：\n\n{memories}\n\n它们说明这个人有什么口味、习惯或需要？请给出{count}条特征，每条一句，"
            "在记录的基础上更进一步又不与之矛盾，并用方括号注明所依据的编号。\n\n回答{count}行，格式为\n1. 特征 [2, 5]\n不要写别的。"
        ),
    },
)

_NUMBERED = re.compile(r"^\s*(\d{1,3})\s*[.)、:：]\s*(.+?)\s*$")
_EVIDENCE = re.compile(r"\s*[\[【(（]([\d,，、\s]+)[\]】)）]\s*[.。]?\s*$")


def numbers_reader(count: int, among: int) -> Callable[[str], str]:
    """Reads exactly so many different numbers from 1 to `among`; the product's text is the numbers with commas."""

    def read(reply: str) -> str:
        found = [int(number) for number in re.findall(r"\d+", reply)]
        if re.sub(r"[\d\s,，、.;；]", "", reply):
            raise Unfit("it must be numbers and commas only", "只能有数字和逗号")
        if len(found) != count or len(set(found)) != count:
            raise Unfit(
                f"it must be {count} different numbers, not {len(set(found))}",
                f"必须是{count}个不同的编号，现在是{len(set(found))}个",
            )
        if not all(1 <= number <= among for number in found):
            raise Unfit(f"numbers go from 1 to {among}", f"编号只有1到{among}")
        return ",".join(map(str, found))

    return read


def list_reader(language: str, count: int) -> Callable[[str], str]:
    """Reads exactly so many numbered lines, all different; the product's text is the lines without numbers."""

    def read(reply: str) -> str:
        found = [_sentence(text, language) for text in _numbered(reply, count)]
        if len(set(found)) < count:
            raise Unfit("two lines say the same", "有两行内容相同")
        return "\n".join(found)

    return read


def note_reader(language: str, topic: str) -> Callable[[str], str]:
    """Reads one sentence that has to do with the topic."""

    def read(reply: str) -> str:
        lines = [line for line in reply.strip().splitlines() if line.strip()]
        if len(lines) != 1:
            raise Unfit("it must be one line", "必须只有一行")
        text = _sentence(lines[0].strip("\"'“” "), language)
        if shared(topic, text) < LEAST_SHARED:
            raise Unfit("it has nothing to do with what they like", "和这个人喜欢的事无关")
        return text

    return read


def features_reader(language: str, count: int, among: int) -> Callable[[str], str]:
    """Reads features with the notes they rest on; the product's text is `sentence [numbers]`, a line each."""

    def read(reply: str) -> str:
        lines = []
        for text in _numbered(reply, count):
            named = _EVIDENCE.search(text)
            if named is None:
                raise Unfit(
                    "every line must end with note numbers in square brackets", "每行末尾都要用方括号注明编号"
                )
            numbers = sorted({int(number) for number in re.findall(r"\d+", named[1])})
            if not numbers or not all(1 <= number <= among for number in numbers):
                raise Unfit(f"note numbers go from 1 to {among}", f"记录的编号只有1到{among}")
            lines.append(f"{_sentence(text[: named.start()], language)} [{','.join(map(str, numbers))}]")
        if len(set(lines)) < count:
            raise Unfit("two lines say the same", "有两行内容相同")
        return "\n".join(lines)

    return read


def feature_lines(text: str) -> list[tuple[str, list[int]]]:
    """Features and the numbers of their notes, from a product's text."""
    found = []
    for line in text.splitlines():
        said, _, numbers = line.rpartition(" [")
        found.append((said, [int(number) for number in numbers.rstrip("]").split(",")]))
    return found


def _numbered(reply: str, count: int) -> list[str]:
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    matched = [_NUMBERED.match(line) for line in lines]
    if len(lines) != count or [match and int(match[1]) for match in matched] != list(range(1, count + 1)):
        raise Unfit(
            f"it must be {count} lines numbered from 1 to {count}, and nothing else",
            f"必须正好{count}行，从1编号到{count}，不要写别的",
        )
    return [match[2] for match in matched if match]


def _sentence(text: str, language: str) -> str:
    text = " ".join(text.split())
    if not SHORTEST[language] <= len(text) <= LONGEST[language]:
        raise Unfit(
            f"each has {SHORTEST[language]} to {LONGEST[language]} characters, '{text[:30]}' has {len(text)}",
            f"每条应有{SHORTEST[language]}到{LONGEST[language]}个字符，“{text[:30]}”有{len(text)}个",
        )
    wide = sum("\u3400" <= character <= "\u9fff" for character in text)
    if (language == "zh") != (wide > 0.3 * len(text)):
        raise Unfit("it is in the wrong language", "语言不对，请用中文")
    return text
