"""`memory+filter[:profile][@SPEC]`: retrieved memories, filtered by a model that keeps, drops or flags each one for the prompt.

With `:profile` the filter is also shown the person's profile, as in PersonaFeedback; the context itself holds only memories.
The model decides by number and cannot add text: a memory that contains instructions is still only kept, dropped or flagged. A
reply that does not decide on every memory is requested once more; after that the context holds all retrieved memories, and its status
says so.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personafit._hashing import content_hash
from personafit._versions import frozen_text
from personafit.contexts.context import Context, People, in_language
from personafit.contexts.making import FILTER, FILTER_BY_PROFILE, ContextPrompt, ModelMade, context_job
from personafit.contexts.memories import MemoryContext, MemorySettings, told
from personafit.engine import Job
from personafit.models import Message, Model
from personafit.people import RENDERING, Memory, Person, render_person
from personafit.store import Item, Status

SUFFIX = "+filter"
BY_PROFILE = ":profile"
KEEP, DROP, CONFLICT = "keep", "drop", "conflict"
VERDICTS = (KEEP, DROP, CONFLICT)
_TAGS = re.compile(r"<(?=[\s/]*(?:question|memories|persona))", re.IGNORECASE)

WORDING_VERSION = "1"  # of prompt assembly and reply parsing; raise it with any change
WORDINGS: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8")
)
"""Prompts of the models that make contexts, by context and language."""
WORDING = WORDINGS["filter"]
PROFILE_WORDING = WORDINGS["filter_by_profile"]
PROFILE_VERSION = "1"  # of the prompt that shows the profile


class FilteredContext(ModelMade):
    """Retrieved memories filtered by a model, which may be shown the person's profile."""

    per_person = False

    def __init__(
        self, settings: MemorySettings, people: People, model: Model, named: str | None, by_profile: bool
    ) -> None:
        self._plain = MemoryContext(settings, people)
        self._by_profile = by_profile
        self.question = FILTER_BY_PROFILE if by_profile else FILTER
        made_by = [self._plain.fingerprint, model.settings, WORDING, _TAGS.pattern, frozen_code()]
        if by_profile:
            made_by += [RENDERING, PROFILE_WORDING, PROFILE_VERSION]
        suffix = SUFFIX + (BY_PROFILE if by_profile else "") + (f"@{named}" if named else "")
        super().__init__(model, f"{self._plain.name}{suffix}", content_hash(made_by))

    def job(self, person: Person, item: Item) -> Job | None:
        """Return the job that filters the retrieved memories; None if none were found."""
        found = self._plain.find(person, item)
        return context_job(self._prompt(person, item, found), self.asker) if found else None

    def build(self, person: Person, item: Item) -> Context:
        found = self._plain.find(person, item)
        plain = told(self.name, self.fingerprint, person, found, {})
        if not found:
            return plain
        ask = self._reply(self._prompt(person, item, found), item.id)
        verdicts = verdicts_in(ask.reply or "", len(found)) if ask.status == Status.OK else None
        if verdicts is None:
            return replace(plain, parents=(*plain.parents, ask.id), status=ask.status)
        kept = [memory for memory, verdict in zip(found, verdicts, strict=True) if verdict != DROP]
        mark = in_language(PROFILE_WORDING if self._by_profile else WORDING, person.language)["mark"]
        marks = {m.id: mark for m, verdict in zip(found, verdicts, strict=True) if verdict == CONFLICT}
        chosen = told(self.name, self.fingerprint, person, kept, marks)
        return replace(chosen, parents=(*chosen.parents, ask.id))

    def _prompt(self, person: Person, item: Item, found: Sequence[Memory]) -> ContextPrompt:
        keys = ", ".join(f'"{number}"' for number in range(1, len(found) + 1))
        profile = render_person(person) if self._by_profile else None
        return ContextPrompt(
            item=item.id,
            context=self.name,
            question=self.question,
            fingerprint=self.fingerprint,
            source=told(self._plain.name, self._plain.fingerprint, person, found, {}).product,
            messages=filter_messages(item.prompt, found, person.language, profile),
            again=in_language(WORDING, person.language)["again"].format(keys=keys),
            readable=lambda reply: verdicts_in(reply, len(found)) is not None,
        )


def frozen_code() -> list[str]:
    """Return the frozen texts of this version of the code, for fingerprints."""
    parts = ("filter-messages", "filter-verdicts", "filter-numbered", "filter-tagged")
    return [frozen_text(part, WORDING_VERSION) for part in parts]


def filter_messages(
    question: str, memories: Sequence[Memory], language: str, profile: str | None = None
) -> tuple[Message, ...]:
    """Return the filter's prompt; `profile` is None if the filter does not see it."""
    words = in_language(WORDING, language)
    example = json.dumps({str(n): (KEEP, DROP)[n % 2] for n in range(1, min(len(memories), 2) + 1)})
    about = [words["task"]]
    if profile is not None:
        by_profile = in_language(PROFILE_WORDING, language)
        about = [by_profile["task"], tagged("persona", profile or by_profile["empty"])]
    parts = [
        *about,
        tagged("question", question),
        tagged("memories", numbered(memories)),
        words["closing"].format(example=example),
    ]
    return ({"role": "user", "content": "\n\n".join(parts)},)


def verdicts_in(reply: str, count: int) -> list[str] | None:
    """Return the verdict on each memory, or None unless the whole reply is one JSON object with every number exactly once."""
    pairs = json_pairs(reply)
    if pairs is None or sorted(key for key, _ in pairs) != sorted(map(str, range(1, count + 1))):
        return None
    verdicts = {int(key): value for key, value in pairs if isinstance(value, str) and value in VERDICTS}
    return [verdicts[number] for number in range(1, count + 1)] if len(verdicts) == count else None


def json_pairs(reply: str) -> list[tuple[str, object]] | None:
    """Return the key-value pairs of a reply that is one JSON object, repeated keys included; code fences are ignored."""
    text = re.sub(r"^```\w*\s*|\s*```$", "", reply.strip())
    if not text.startswith("{"):
        return None
    try:
        pairs = json.loads(text, object_pairs_hook=JsonPairs)
    except (ValueError, RecursionError):
        return None
    return list(pairs)


class JsonPairs(list[tuple[str, object]]):
    """A JSON object as a list of pairs, which keeps repeated keys and is distinguishable from a JSON list."""


def numbered(memories: Sequence[Memory]) -> str:
    """Format the memories as a numbered list, one per line."""
    return "\n".join(
        f"{number}. {f'[{memory.time}] ' if memory.time else ''}{' '.join(memory.text.split())}"
        for number, memory in enumerate(memories, 1)
    )


def tagged(name: str, text: str) -> str:
    """Wrap a text in tags, escaping anything in it that could open or close one."""
    return f"<{name}>\n{_TAGS.sub('‹', text)}\n</{name}>"
