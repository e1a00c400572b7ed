"""What the assistant knows of a person, and what of it bears on a question."""

import os
import re

COMMON = set(
    "a an and any are as at be but by can do does for from have how i in is it me my of on or should that the to what with".split()
)


def recall(profile: str, question: str) -> str:
    """The line of the profile that has most words in common with the question; empty where none has any."""
    if os.environ.get("MEMORY") == "off":
        return ""
    facts = [fact for _, _, fact in (line.partition(": ") for line in profile.splitlines()) if fact]
    asked = _words(question)
    best = max(facts, key=lambda fact: len(_words(fact) & asked), default="")
    return best if _words(best) & asked else _leisure(profile)


def _leisure(profile: str) -> str:
    found = re.search(r"Leisure: (.+)", profile)
    return found[1] if found else ""


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2} - COMMON
