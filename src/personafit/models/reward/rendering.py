"""Rendering of a person, a question and an answer as the tokens a reward model reads.

The person stands first, then the question, then the answer, so that answers have a common prefix. An overlong text loses whole
facets of the person, the last ones first, and never a token of the question or the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from personafit._hashing import content_hash
from personafit.people import RENDERING, FacetValue, render_facets

KNOWN = "This is what is known about the person who asks.\n\n{person}"
LAYOUT = "person, question, answer; facets dropped from the last; 1"


class TooLongError(Exception):
    """Raised when the question and the answer alone exceed the model's token limit."""


@dataclass(frozen=True)
class AnswerTokens:
    """The tokens of one answer, and how many facets were cut to fit."""

    tokens: list[int]
    dropped: int


class PromptRenderer:
    """Renders conversations as tokens for one tokenizer: by its chat template if it has one, else as plain text."""

    def __init__(self, tokenizer: Any, max_tokens: int = 4096) -> None:
        self._tokenizer = tokenizer
        self.max_tokens = max_tokens
        self._chat = bool(getattr(tokenizer, "chat_template", None))
        self._system = self._chat and self._takes_system()

    @property
    def fingerprint(self) -> str:
        """Hash of everything that shapes the tokens, except the tokenizer itself."""
        template = self._tokenizer.chat_template if self._chat else None
        return content_hash([RENDERING, KNOWN, LAYOUT, self.max_tokens, template])

    def render(self, facets: Mapping[str, FacetValue], question: str, answer: str) -> AnswerTokens:
        """Return the tokens of an answer to a question by a person with these facets."""
        return self.render_together(facets, question, [answer])[0]

    def render_together(
        self, facets: Mapping[str, FacetValue], question: str, answers: Sequence[str]
    ) -> list[AnswerTokens]:
        """Render answers that are compared: all drop the same facets if one is too long."""
        names = list(facets)

        def tokens(count: int) -> list[list[int]]:
            kept = {name: facets[name] for name in names[:count]}
            return [self._tokens(kept, question, answer) for answer in answers]

        low, high = 0, len(names)  # bounds of the number of facets that fit
        found = tokens(high)
        if not self._fit(found):
            while low < high:
                middle = (low + high + 1) // 2
                if self._fit(tokens(middle)):
                    low = middle
                else:
                    high = middle - 1
            found = tokens(low)
        if not self._fit(found):
            longest = max(map(len, found))
            raise TooLongError(
                f"question and answer alone are {longest:,} tokens, more than the {self.max_tokens:,} allowed"
            )
        return [AnswerTokens(one, len(names) - high) for one in found]

    def _fit(self, sequences: list[list[int]]) -> bool:
        return all(len(tokens) <= self.max_tokens for tokens in sequences)

    def _tokens(self, facets: Mapping[str, FacetValue], question: str, answer: str) -> list[int]:
        text = self._text(render_facets(facets), question, answer)
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        start, end = self._tokenizer.bos_token_id, self._tokenizer.eos_token_id
        if not self._chat:
            tokens = [*([start] if start is not None else []), *tokens, *([end] if end is not None else [])]
        if start is not None and tokens[:2] == [start, start]:
            raise ValueError(
                "the chat template and the tokenizer both begin the text: two beginnings of sequence"
            )
        return tokens

    def _text(self, person: str, question: str, answer: str) -> str:
        known = KNOWN.format(person=person) if person else ""
        if not self._chat:
            return "\n\n".join(filter(None, [known, question, answer]))
        asked = question if self._system or not known else f"{known}\n\n{question}"
        turns = [{"role": "system", "content": known}] if known and self._system else []
        turns += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        text: str = self._tokenizer.apply_chat_template(turns, tokenize=False)
        return text

    def _takes_system(self) -> bool:
        """Return whether the template keeps a system turn; some refuse or drop it."""
        turns = [{"role": "system", "content": "KNOWN"}, {"role": "user", "content": "ASKED"}]
        try:
            return "KNOWN" in self._tokenizer.apply_chat_template(turns, tokenize=False)
        except Exception:  # a template may raise anything
            return False
