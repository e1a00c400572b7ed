"""Scripted writers of task profiles: one that does as asked, and one that always says the same."""

import re

from personafit.models import Message

CALLS: list[str] = []
"""The prompts that were asked, so that a test can see what a second build asked again."""


def careful(messages: list[Message]) -> str:
    """Writes up every note, and words the wish anew."""
    prompt = messages[-1]["content"]
    CALLS.append(prompt)
    chinese = "这个人" in prompt
    notes = re.findall(
        r"^- (.+?): (.+)$", prompt.partition("记录：" if chinese else "Notes:")[2], re.MULTILINE
    )
    if notes and chinese:
        told = "".join(f"{when.split(' / ')[0]}，{shown}。" for when, shown in notes)
        return f"{told}后来回头看，这个人对那几次谈话都还算满意，偶尔也会把结果讲给身边的人听，没有什么要补充的了。"
    if notes:
        told = " ".join(f"In {when.split(' / ')[0]} they {shown}." for when, shown in notes)
        return f"{told} Afterwards they said thanks, and some weeks later they came back to tell how it had gone."
    wish = prompt.partition("：" if chinese else ": ")[2].splitlines()[0].rstrip("。.")
    return f"{wish}，别拖到月底。" if chinese else f"{wish} before my sister comes to stay."


def monotone(messages: list[Message]) -> str:
    """Always the same."""
    return "I would be glad to help you with that."
