"""Stand-ins for models, so that the gallery can be made without one: a user, an assistant, a judge, and an extractor.

They go by rules, know the starter set's words for what people may like, and show what a report looks like, never how well
anybody does. The commands of index.md name them as `python:players:...`.
"""

import json
import re
from importlib.resources import files

Messages = list[dict[str, str]]

ONTOLOGY = (
    files("personafit.benchmarks.starter").joinpath("dialogues/ontology.json").read_text(encoding="utf-8")
)
LIKINGS = [
    value for domain in json.loads(ONTOLOGY).values() for one in domain.values() for value in one["values"]
]
CHINESE = re.compile(r"[\u4e00-\u9fff]")
TURN = re.compile(r'<turn number="\d+" by="(\w+)">\n(.*?)\n</turn>', re.DOTALL)
SAID_BY_USER = re.compile(r'<user-\w+ turn="(\d+)"[^>]*>\n(.*?)\n</user-', re.DOTALL)
FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|my)\b|我")


def named(text: str) -> list[str]:
    """What people may like, as far as a text names it, in the order of the text."""
    places = {
        value: match.start()
        for value in LIKINGS
        if (match := re.search(rf"(?<![a-z]){re.escape(value.lower())}(?![a-z])", text.lower()))
    }
    return sorted(places, key=places.__getitem__)


def user(messages: Messages) -> str:
    """Says what it wants, tells two likings when it is asked, and is satisfied if two of its likings came up."""
    brief = messages[0]["content"]
    errand = re.findall(r"Errand:\n\s+(.+)", brief)[0]
    own = named(brief.split("Situation:")[0])
    said = " ".join(one["content"] for one in messages[2:]).lower()
    offered = set(own) & set(named(" ".join(one["content"] for one in messages[3::2])))
    chinese = CHINESE.search(errand)
    if len(messages) == 2:
        return f"{errand}\n[CONTINUE]"
    if len(messages) > 6:
        if len(offered) < 2:
            return ("那就算了。" if chinese else "Let us leave it at that.") + "\n[GIVE UP]"
        return ("可以了，谢谢。" if chinese else "That will do, thank you.") + "\n[SATISFIED]"
    left = [value for value in own if value.lower() not in said]
    if messages[-1]["content"].endswith(("?", "？")) and left:
        told = left[:2]
        return (f"我喜欢{'、'.join(told)}。" if chinese else f"I like {' and '.join(told)}.") + "\n[CONTINUE]"
    return ("还有别的吗？" if chinese else "And what else would you suggest?") + "\n[CONTINUE]"


def assistant(messages: Messages, about: dict[str, str]) -> str:
    """Proposes what it was told or has heard, two things at a time, and asks when there is nothing left to go by."""
    heard = [one["content"] for one in messages[1:]]
    chinese = CHINESE.search(heard[0])
    spoken = " ".join(heard[1::2]).lower()
    known = [
        value for value in named(f"{about['text']} {' '.join(heard[::2])}") if value.lower() not in spoken
    ]
    if not known:
        if len(heard) > 1:
            return "好的，都安排好了。" if chinese else "Good, I have arranged all of it."
        return "好的。您有什么特别的喜好吗？" if chinese else "Of course. What do you like in such things?"
    if chinese:
        return f"我按这样安排：{'、'.join(known[:2])}。"
    return f"I have planned it with {' and '.join(known[:2])}."


def judge(messages: Messages) -> str:
    """Counts what the assistant named of what the person likes; whatever is no matter of counting gets a middling mark."""
    prompt = messages[0]["content"]
    turns = [text for who, text in TURN.findall(prompt) if who == "assistant"]
    known = set(named(prompt.partition("<known>")[2].partition("</known>")[0]))
    marks = [min(4, 1 + len(known & set(named(text)))) for text in turns]
    if '"complete"' in prompt:
        thanked = re.search(r'<closing by="user">\n.*(?:thank|谢谢)', prompt)
        return json.dumps({"reason": "A stand-in: done if the user gives thanks.", "complete": bool(thanked)})
    if '"scores"' in prompt:
        return json.dumps({"reason": "A stand-in: likings named, turn by turn.", "scores": marks})
    if "<known>" in prompt or "Nothing." in prompt:
        score = min(4, 1 + len(known & set(named(" ".join(turns)))) // 2)
        return json.dumps({"reason": "A stand-in: likings named.", "score": score})
    return json.dumps({"reason": "A stand-in has no opinion on this.", "score": 3})


def extractor(messages: Messages) -> str:
    """Takes every sentence that a user says of themselves for a lasting trait; it drops what it should mend."""
    prompt = messages[0]["content"]
    if '"action"' in prompt:
        return json.dumps({"action": "drop", "statement": ""})
    frame = "用户说：" if CHINESE.search(prompt[:40]) else "The user says:"
    found = [
        {"statement": f"{frame} {sentence.strip()}", "turns": [int(turn)], "confidence": 0.9, "kind": "other"}
        for turn, text in SAID_BY_USER.findall(prompt)
        for sentence in re.split(r"(?<=[.!?。！？])\s*", text)
        if FIRST_PERSON.search(sentence) and not sentence.strip().endswith(("?", "？"))
    ]
    return json.dumps({"attributes": found}, ensure_ascii=False)


def answering(messages: Messages) -> str:
    """Says the same to everybody, and after it whatever it was told."""
    told = re.search(r"<\w+>\n(.*?)\n</\w+>", messages[0]["content"], re.DOTALL)
    general = "Take it step by step, and begin with what is at hand."
    if told is None:
        return general
    return f"{general} " + " ".join(
        f"Since you told me this: {line.strip('- ')}" for line in told[1].splitlines()
    )
