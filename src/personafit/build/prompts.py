"""Prompts and template wordings, in English and Chinese: `prompts.toml` and `wordings.toml`.

A prompt has a version, and a fingerprint that changes with its text, so that products of an old prompt are not reused for a
new one. A build takes the user's own prompts from a file of the same form: `prompts` in `[build]`.
"""

import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError, field_name
from personafit._hashing import content_hash
from personafit.models import Message, one_line

M = TypeVar("M", bound=BaseModel)

DATA = Path(__file__).with_name("data")
"""Prompts, wordings and the lists that people, questions and tasks are drawn from; a user may replace each."""


@dataclass(frozen=True)
class PromptTemplate:
    """A versioned prompt with its text in each language."""

    name: str
    version: int
    user: Mapping[str, str]
    """The text by language, with placeholders such as {person}."""
    system: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        return content_hash([self.name, self.version, dict(self.user), dict(self.system)])

    @property
    def label(self) -> str:
        return f"{self.name}-{self.version}"

    def messages(self, language: str, **values: object) -> tuple[Message, ...]:
        """Return the messages with placeholders filled; a placeholder within a value stays text."""
        said: list[Message] = []
        for role, texts in (("system", self.system), ("user", self.user)):
            if texts:
                said.append({"role": role, "content": texts[language].format(**values)})
        return tuple(said)

    def gaps(self, language: str) -> set[str]:
        texts = [texts[language] for texts in (self.user, self.system) if texts]
        return {
            name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name is not None
        }


class _Texts(BaseModel):
    model_config = ConfigDict(extra="forbid")

    en: str
    zh: str


class _Prompt(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1)
    user: _Texts
    system: _Texts | None = None


def read_toml(path: Path, remedy: str = "check the path") -> dict[str, Any]:
    """Read a TOML file; `remedy` says what to do if it cannot be read."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {remedy}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML ({one_line(error)}).") from error


def checked(kind: type[M], table: Any, place: str) -> M:
    """Validate a table as a record; the first error is a sentence that names the place and the field."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        said = first["msg"].removeprefix("Value error, ").rstrip(".")
        raise UserError(f"{place}, field '{field_name(first['loc'])}': {said}.") from error


def read_prompts(path: Path) -> dict[str, PromptTemplate]:
    """Read the prompts of a file, by name; the first error is a sentence that names file, prompt and field."""
    found = {}
    for name, table in read_toml(path).items():
        row = checked(_Prompt, table, f"{path}, prompt '{name}'")
        system = row.system.model_dump() if row.system else {}
        found[name] = PromptTemplate(name, row.version, row.user.model_dump(), system)
    return found


PROMPTS = read_prompts(DATA / "prompts.toml")
WORDINGS: dict[str, Any] = read_toml(DATA / "wordings.toml")
"""The built-in texts that are not prompts: template sentences, and lists that words are drawn from."""


def own_prompts(path: Path) -> dict[str, PromptTemplate]:
    """Read a user's prompts; each must have the same placeholders as the built-in prompt of its name."""
    found = read_prompts(path)
    for name, prompt in found.items():
        if name not in PROMPTS:
            raise UserError(f"{path}: there is no prompt '{name}'; there are {', '.join(PROMPTS)}.")
        for language in prompt.user:
            try:
                gaps = prompt.gaps(language)
            except ValueError as error:
                raise UserError(
                    f"{path}, prompt '{name}', {language}: {error}; write {{{{ and }}}} for braces."
                ) from error
            if off := gaps ^ PROMPTS[name].gaps(language):
                gap, known = min(off), ", ".join(sorted(PROMPTS[name].gaps(language)))
                what = "is unknown" if gap in gaps else "is missing"
                raise UserError(
                    f"{path}, prompt '{name}', {language}: {{{gap}}} {what}; its gaps are {known}."
                )
    return found


def again_words(reason: str, language: str) -> str:
    """Return the message that asks again after an unusable reply, with the reason."""
    text: str = WORDINGS["again"][language]
    return text.format(reason=reason.rstrip("."))
