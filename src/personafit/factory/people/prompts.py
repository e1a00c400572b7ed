"""What the people step asks of models, in English and Chinese, and how replies are read."""

import re
from collections.abc import Callable, Sequence

from personafit.factory.asking import Unfit
from personafit.factory.prompts import PromptTemplate

PROFILE = PromptTemplate(
    "people.profile",
    1,
    system={
        "en": "You describe ordinary people of today the way a friend would: concrete, plain, a little uneven, never flattering.",
        "zh": "你像朋友一样描述今天的普通人：具体、朴素、有点参差，不美化。",
    },
    user={
        "en": (
            "Here is somebody in outline:\n\n{outline}\n\nThis is how another person was described, as a model of manner only:\n\n"
            "{manner}\n\nNow put the following points about the person in the outline into one sentence each. Keep what each "
            "point says, make it theirs (their work, home, age and household may show), add no fame, wealth or tragedy, and do "
            "not repeat their name.\n\n{points}\n\nAnswer with one line for each point and nothing else, in the form\n"
            "{form}"
        ),
        "zh": (
            "这是某个人的概况：\n\n{outline}\n\n下面是对另一个人的描述，只供参考写法：\n\n{manner}\n\n"
            "请把下列各点改写成关于概况里这个人的话，每点一句。保留原意，让它像这个人的生活（可以带出工作、住处、年龄、家庭），"
            "不要加名气、财富或悲剧，不要写姓名。\n\n{points}\n\n每点一行，只写这些行，格式为\n{form}"
        ),
    },
)

FIELD = PromptTemplate(
    "people.field",
    1,
    user={
        "en": (
            "{gist}\n\nWrite one short sentence about this person's {topic}. It must say this in other words: {hint}\n"
            "Only the sentence."
        ),
        "zh": "{gist}\n\n请用一句短话写这个人的{topic}，换个说法表达：{hint}\n只写这句话。",
    },
)

SCREEN = PromptTemplate(
    "people.screen",
    1,
    user={
        "en": (
            "Somebody made up this person for a study of everyday life:\n\n{person}\n\nHow does the description strike you?\n"
            "A) somebody one could meet today\n"
            "B) it contradicts itself\n"
            "C) the work or way of life does not belong to the present\n"
            "D) too good to be true\n"
            "E) a cliché, or melodramatic\n\nAnswer with one letter."
        ),
        "zh": (
            "有人为一项日常生活研究虚构了这个人：\n\n{person}\n\n你觉得这段描述怎么样？\n"
            "A) 今天就可能遇到的人\n"
            "B) 自相矛盾\n"
            "C) 工作或生活方式不属于当代\n"
            "D) 好得不真实\n"
            "E) 刻板印象，或过于戏剧化\n\n只回答一个字母。"
        ),
    },
)
LETTERS = ("A", "B", "C", "D", "E")
VERDICTS = {
    "B": "contradicts itself",
    "C": "not of today",
    "D": "idealised",
    "E": "dramatised or stereotyped",
}

TOPICS = {
    "Local_Life.Food_and_Drink": {"en": "food and drink", "zh": "饮食"},
    "Local_Life.Entertainment": {"en": "free time at home and in town", "zh": "娱乐"},
    "Local_Life.Shopping": {"en": "shopping", "zh": "购物"},
    "Local_Life.Outings": {"en": "getting about and going out", "zh": "日常出行"},
    "Travel.Business": {"en": "travel for work", "zh": "出差"},
    "Travel.Leisure": {"en": "holidays", "zh": "旅行"},
    "Social": {"en": "company", "zh": "社交"},
    "Productivity.Study_and_Work": {"en": "way of working", "zh": "学习和工作方式"},
    "Productivity.Fitness": {"en": "exercise", "zh": "运动"},
}

SHORTEST, LONGEST = {"en": 20, "zh": 8}, {"en": 260, "zh": 130}
LEAST_SHARED = 0.25  # of the hint's character pairs: below that, the sentence says something else
_WIDE = re.compile(r"[\u3400-\u9fff]")
_PLACEHOLDER = re.compile(r"\[[^\]]*\]|\{[^}]*\}|<[^>]*>|\.\.\.$|…$")


def sentence_reader(language: str, hint: str, name: str = "") -> Callable[[str], str]:
    """Reads one sentence that says what the hint says."""

    def read(reply: str) -> str:
        lines = [line for line in reply.strip().splitlines() if line.strip()]
        if len(lines) != 1:
            raise Unfit("it must be one line", "必须只有一行")
        return check_sentence(lines[0], language, hint, name)

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
    wide = len(_WIDE.findall(text))
    if (language == "zh") != (wide > 0.3 * len(text)):
        raise Unfit("it is in the wrong language", "语言不对，请用中文")
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
