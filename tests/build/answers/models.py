"""Scripted models for answers and votes: a strong one that does all that is asked, a dull one, and raters of a given opinion."""

import hashlib
import re

from personafit.models import Message

FILLER = (
    "then look at it again on some quiet evening and keep whatever turned out to be of any use at all".split()
)
ASKS = ("A", "What would", "第", "1. ")  # how verdicts and questions begin
WIDE = "然后找个安静的晚上再看一遍把真正有用的留下来其余的就算了吧慢慢来不着急"


def mark(text: str) -> int:
    """A number of a text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:10], 16)


def able(messages: list[Message]) -> str:
    """Finds no fault, asks something new each time, answers from what it is told, and keeps lengths when it writes anew."""
    asked = messages[1 if messages[0]["role"] == "system" else 0]["content"]
    number = mark(asked)
    if "one letter" in asked or "一个字母" in asked:
        return "A"
    if "长度必须保持不变" in asked or "must stay as long" in asked:
        return _rewritten(asked, number)
    if "Somebody asks: " in asked or "They ask: " in asked or "个字回答" in asked:
        return _answered(asked, number)
    if "[2, 5]" in asked or "things this person posted" in asked or "打给别人的" in asked:
        return _listed(asked)
    wide, choice = "问题" in asked, "1. " if "2. " in asked[-20:] else ""
    said = f"第{number}件事要怎么选比较好？" if wide else f"What would you choose in matter q{number}?"
    return choice + said


def other(messages: list[Message]) -> str:
    """The same in other words: a second model of the pool."""
    said = able(messages)
    return said.replace("Begin", "Start") if said != "A" else said


def marked(messages: list[Message]) -> str:
    """As able, but with headings, lists and bold."""
    said = able(messages)
    return said if len(said) < 60 else f"## Plan\n\n- **First** {said}"


def dull(messages: list[Message]) -> str:
    """As able, but with one and the same answer to everything."""
    said = able(messages)
    return (
        said
        if said.startswith(ASKS)
        else "It all depends on what is liked best by whoever happens to be asking."
    )


def mumbling(messages: list[Message]) -> str:
    """As able, but with answers that are far too short."""
    said = able(messages)
    return said if said.startswith(ASKS) else "Hm."


def patchy(messages: list[Message]) -> str:
    """As able, but two of three answers for somebody are far too short, whatever it is told."""
    return (
        "Hm."
        if "They ask: " in messages[0]["content"] and mark(messages[0]["content"]) % 3
        else able(messages)
    )


def _answered(asked: str, number: int) -> str:
    told = re.findall(r"^- (.+)$", asked, re.MULTILINE) or re.findall(
        r"^\s*[\w ]+: (.{12,})$", asked, re.MULTILINE
    )
    words = int((re.search(r"about (\d+) words|大约(\d+)个字", asked) or ["", "30"])[1] or 30)
    if "个字回答" in asked:
        start = number % len(WIDE)
        return (
            f"先从第{number % 997}步做起，"
            + (told[0][:10] if told else "")
            + (WIDE[start:] + WIDE * 9)[: words // 2 + number % 9]
            + "。"
        )
    start = number % len(FILLER)
    you = ("", "you could ", "if you like, ")[number % 3]
    said = f"Begin with step {number % 997}: {you}{' '.join(told[0].lower().rstrip('.').split()[:20]) if told else 'something small'}, "
    return said + " ".join((FILLER[start:] + FILLER * 9)[: words // 2 + number % 9]) + "."


def _listed(asked: str) -> str:
    """Memories, or features with the memories they rest on."""
    count, feature = int(re.search(r"(?:Give |给出|Write |打给别人的)(\d+)", asked)[1]), "[2, 5]" in asked  # type: ignore[index]
    own = "".join(chr(97 + int(digit)) for digit in str(mark(asked))[-6:])
    said = (
        "Bought an old bicycle pump, number {} of " + own
        if "Write" in asked or "Give" in asked
        else "买了一个旧的打气筒，第{}个，" + own
    )
    return "\n".join(
        f"{n}. {said.format(n)}{f' and liked it [{n}]' if feature else ''}" for n in range(1, count + 1)
    )


def _rewritten(asked: str, number: int) -> str:
    before = re.split(r"This is an answer:\n\n|这是一个回答：\n\n", asked)[1].split("\n\n")[0]
    return before[: -len(str(number % 97)) - 2] + f" {number % 97}" + before[-1]


def flat(messages: list[Message]) -> str:
    """As able, but what it is told of a person makes no difference."""
    said = able(messages)
    if said.startswith(ASKS) or "must stay as long" in messages[0]["content"]:
        return said
    question = re.search(r"(?:Somebody asks|They ask): (.+)", messages[0]["content"])[1]  # type: ignore[index]
    return f"Begin with step {mark(question) % 997}, " + " ".join(FILLER)


def wavering(messages: list[Message]) -> str:
    """As able, but every rewrite is much too long, whatever it is told."""
    said = able(messages)
    return said if said.startswith(ASKS) or "must stay as long" not in messages[0]["content"] else said * 2
