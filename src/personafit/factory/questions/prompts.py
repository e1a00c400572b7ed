"""What the questions step asks of models, in English and Chinese, and how replies are read."""

import re
from collections.abc import Callable

from personafit.factory.asking import Unfit
from personafit.factory.people.prompts import shared
from personafit.factory.prompts import PromptTemplate
from personafit.factory.questions.pool import language_of

WRITE = PromptTemplate(
    "questions.write",
    1,
    system={
        "en": "You write down what ordinary people ask an assistant: short, in their own voice, sometimes a little clumsy.",
        "zh": "你负责写普通人会向助手提的问题：简短，用自己的口气，有时不那么工整。",
    },
    user={
        "en": (
            "About somebody else this was known:\n{example_features}\nAsked about {example_scenario}, that person said:\n{example}\n\n"
            "Now about another person this is known:\n{features}\n\nWrite what this person might ask an assistant about "
            "{scenario} ({category}). A good answer should depend on who is asking, but the words must not tell: nothing of "
            "what is known about them may be said or hinted at, no job, age, place, name or habit. Where what is known has "
            "nothing to do with the subject, leave it out rather than force the two together.\n\nAnswer with the question "
            "alone, in one line."
        ),
        "zh": (
            "关于另一个人，已知：\n{example_features}\n谈到{example_scenario}，这个人问：\n{example}\n\n"
            "现在，关于一个人已知：\n{features}\n\n请写出这个人可能就“{scenario}”（{category}）向助手提的一个问题。好的回答应当因人而异，"
            "但字面上不能看出是谁：已知的情况一概不要说出或暗示，不写职业、年龄、地点、姓名、习惯。如果已知情况与话题无关，就不要硬凑。\n\n"
            "只写这个问题，一行。"
        ),
    },
)

SHORT = PromptTemplate(
    "questions.short",
    1,
    user={
        "en": "Somebody asked about {example_scenario}: {example}\n\nWrite one short question somebody asks about {scenario}. Only the question.",
        "zh": "有人问{example_scenario}：{example}\n\n请写一个关于{scenario}的简短问题。只写问题。",
    },
)

REPHRASE = PromptTemplate(
    "questions.rephrase",
    1,
    user={
        "en": (
            "Somebody asks an assistant:\n{question}\n\nThis tells too much about who is asking: {leaks}. Put the same question so "
            "that anybody could have asked it; it must still be about {scenario}.\n\nAnswer with the question alone, in one line."
        ),
        "zh": (
            "有人问助手：\n{question}\n\n这透露了提问的人的情况：{leaks}。请改写成谁都可能问的同一个问题，话题仍是{scenario}。\n\n只写这个问题，一行。"
        ),
    },
)

REWRITE = PromptTemplate(
    "questions.rewrite",
    1,
    user={
        "en": (
            "Somebody is said to have asked an assistant:\n{question}\n\nNobody talks like that. Say it the way one would in a "
            "message, with the same meaning and nothing added.\n\nAnswer with the question alone, in one line."
        ),
        "zh": (
            "据说有人这样问助手：\n{question}\n\n没人会这么说话。请改成平时发消息会用的说法，意思不变，不加内容。\n\n只写这个问题，一行。"
        ),
    },
)

CHECK = PromptTemplate(
    "questions.check",
    1,
    user={
        "en": (
            "This is known about somebody:\n{features}\n\nThey are said to have asked an assistant, about {scenario}:\n{question}\n\nHow does it strike you?\n"
            "A) somebody could have asked just that\n"
            "B) the wording is stiff or odd\n"
            "C) it makes no sense, or forces things together that have nothing to do with each other\n"
            "D) it says outright what is known about them\n"
            "E) it is about something else than {scenario}\n\nAnswer with one letter."
        ),
        "zh": (
            "关于某个人已知：\n{features}\n\n据说这个人就“{scenario}”问了助手：\n{question}\n\n你觉得怎么样？\n"
            "A) 真有人会这么问\n"
            "B) 说法生硬或别扭\n"
            "C) 说不通，或把不相干的事硬凑在一起\n"
            "D) 直接说出了已知的情况\n"
            "E) 说的不是“{scenario}”\n\n只回答一个字母。"
        ),
    },
)
CHECKED = ("A", "B", "C", "D", "E")
AWKWARD, TELLING = "B", "D"
FAULTS = {
    AWKWARD: "stiff or odd",
    "C": "makes no sense",
    TELLING: "says what is known about the person",
    "E": "off the subject",
}

OPENNESS = PromptTemplate(
    "questions.open",
    1,
    user={
        "en": (
            "Somebody asks an assistant:\n{question}\n\nWhat sort of question is it?\n"
            "A) open: a good answer depends on who is asking\n"
            "B) it has one right answer, or asks for a fact\n"
            "C) it cannot be understood by itself\n\nAnswer with one letter."
        ),
        "zh": (
            "有人问助手：\n{question}\n\n这是哪一类问题？\n"
            "A) 开放的：好的回答因人而异\n"
            "B) 有唯一答案，或只问一个事实\n"
            "C) 单看这句话看不懂\n\n只回答一个字母。"
        ),
    },
)
KINDS = ("A", "B", "C")
CLOSED = {"B": "has one right answer", "C": "cannot be understood by itself"}

MATCH = PromptTemplate(
    "questions.match",
    1,
    user={
        "en": (
            "This is somebody:\n\n{person}\n\nA question to an assistant:\n{question}\n\nCould it be theirs?\n"
            "A) yes, it goes with their life\n"
            "B) it has little to do with them\n"
            "C) it goes against what is known about them\n\nAnswer with one letter."
        ),
        "zh": (
            "这是某个人：\n\n{person}\n\n一个向助手提的问题：\n{question}\n\n可能是这个人问的吗？\n"
            "A) 可能，和其生活相符\n"
            "B) 和这个人关系不大\n"
            "C) 与已知情况矛盾\n\n只回答一个字母。"
        ),
    },
)
MISMATCHES = {"B": "has little to do with the person", "C": "goes against what is known about the person"}

COPIED = 0.8  # of the example's pairs of letters: from there on it is the example over again
_GAPS = re.compile(r"\[[^\]]*\]|\{[^}]*\}|<[^>]*>|_{2,}|\.\.\.|…")
_ABOUT_ASKING = re.compile(
    r"\b(?:ai|assistant|chatbot|language model|smollm)\b|\b(?:somebody|someone|friend|person|might|could you|do you|can you) asks?(?:ed)?\b"
    r"|\bask about\b|助手|人工智能|语言模型|有人问",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？]$|(?:^|[.!?] )(?:please|help|give|suggest|recommend|plan|put|write|tell|show|draft|make|explain|find|pick|compare|sketch|i(?:'d| would) like)\b"
    r"|^(?:请|帮|给我|推荐|写|讲|说说|安排)|[吗呢吧么]$|帮我",
    re.IGNORECASE,
)


def question_reader(language: str, shortest: int, longest: int, example: str = "") -> Callable[[str], str]:
    """Reads one line that asks something, and is not the example over again."""

    def read(reply: str) -> str:
        lines = [line for line in reply.strip().splitlines() if line.strip()]
        if len(lines) != 1:
            raise Unfit("it must be one line", "必须只有一行")
        text = " ".join(lines[0].split()).strip("\"'“”「」*- ")
        if not shortest <= len(text) <= longest:
            raise Unfit(
                f"a question has {shortest} to {longest} characters, this one {len(text)}",
                f"问题应有{shortest}到{longest}个字符，现在是{len(text)}个",
            )
        if language_of(text) != language:
            raise Unfit("it is in the wrong language", "语言不对，请用中文")
        if _GAPS.search(text):
            raise Unfit("it has gaps to fill in, or breaks off", "留有待填的空，或没有写完")
        if _ABOUT_ASKING.search(text) or text.count('"') % 2:
            raise Unfit("it talks about a question instead of asking it", "这是在谈论问题，而不是提问")
        if not _ASKS.search(text.rstrip("。.!！")):
            raise Unfit("it asks nothing", "没有提出任何问题")
        if example and shared(example, text) >= COPIED:
            raise Unfit("it repeats the example", "只是重复了示例")
        return text

    return read
