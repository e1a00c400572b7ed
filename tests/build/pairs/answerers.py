"""Scripted models of the pairs step: one that answers everything differently, one that always says the same."""

import hashlib

from personafit.models import Message


def able(messages: list[Message]) -> str:
    """Fits nobody's screening badly, asks a question of its own for each person, answers each prompt in its own words."""
    prompt = messages[-1]["content"]
    mark = hashlib.sha256(prompt.encode()).hexdigest()[:10]
    if prompt.startswith(("Here is somebody", "下面是一个人")):
        return f"What should I do about matter {mark} this week?"
    answer = prompt.partition("This is an answer:\n\n")[2].partition("\n\nWrite it anew")[0]
    if answer:
        return f"{mark}{answer[10:]}"
    if "They ask: " in prompt or "Answer in about" in prompt:
        return f"{mark}: begin with the smaller half, ask one friend, and look at it again on Thursday."
    return "A"


def constant(messages: list[Message]) -> str:
    """One question, one answer, no fault with anybody."""
    prompt = messages[-1]["content"]
    if prompt.startswith("Here is somebody"):
        return "What should I do today?"
    asked = "asks: " in prompt or "They ask: " in prompt
    return "It depends on what you like best." if asked else "A"
