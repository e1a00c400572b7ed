"""Versioned prompts in English and Chinese: a text with named gaps, and a fingerprint that changes when it does.

A room keeps its prompts in `factory/<room>/prompts.py`. Change the words and the version must change; the fingerprint
does so by itself, so that nothing made with the old words is taken for made with the new ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from personafit._hashing import content_hash
from personafit.models import Message

AGAIN = {
    "en": "That cannot be used: {reason}. Answer once more, in exactly the form that was asked for, and nothing else.",
    "zh": "这个回答无法使用：{reason}。请严格按照要求的格式再回答一次，不要写别的内容。",
}


@dataclass(frozen=True)
class PromptTemplate:
    """A versioned prompt with its text in each language."""

    name: str
    version: int
    user: Mapping[str, str]
    """The text by language, with gaps such as {person}."""
    system: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of name, version and words."""
        return content_hash([self.name, self.version, dict(self.user), dict(self.system)])

    @property
    def label(self) -> str:
        """How cards and lineage call it."""
        return f"{self.name}-{self.version}"

    def messages(self, language: str, **values: object) -> tuple[Message, ...]:
        """The prompt with its gaps filled; a gap in a value stays text."""
        said: list[Message] = []
        for role, texts in (("system", self.system), ("user", self.user)):
            if texts:
                said.append({"role": role, "content": texts[language].format(**values)})
        return tuple(said)


def again_words(reason: str, language: str) -> str:
    """What is said after a reply that does not do, and why it does not."""
    return AGAIN[language].format(reason=reason.rstrip("."))
