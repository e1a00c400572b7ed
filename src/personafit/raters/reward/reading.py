"""What a reward model reads of an item, where its tokenizer is at hand: the tokens of every answer, the same of the person for all.

Tokenizers change while they work, so each thread has its own.
"""

import asyncio
import copy
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from personafit._errors import UserError
from personafit.models import Unanswerable, one_line
from personafit.models.reward.rendering import PromptRenderer, TooLongError
from personafit.raters.reward.groups import AnswerGroup, known
from personafit.raters.reward.weights import Weights

OPTIONS = ("trust", "max_tokens", "rendering")
THREADS = 4

R = TypeVar("R")


@dataclass(frozen=True)
class Reader:
    """One thread's tokenizer, and how it renders."""

    name: str
    tokenizer: Any
    renderer: PromptRenderer

    def tokens(self, group: AnswerGroup) -> tuple[list[list[int]], str | None]:
        """The tokens of every answer, and what was left out of the person, if anything."""
        facets = known(group.context)
        try:
            texts = self.renderer.render_together(facets, group.prompt, group.texts)
        except TooLongError as error:
            raise Unanswerable(
                f"{self.name} cannot read the answers to '{group.prompt:.60}': {error}."
            ) from error
        dropped = max(text.dropped for text in texts)
        said = f"{dropped} of {len(facets)} facets left out to keep to {self.renderer.max_tokens:,} tokens"
        return [text.tokens for text in texts], said if dropped else None


class Readers:
    """Readers for many asks at once."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        renderer = _renderer(weights)
        self.settings = {"weights": weights.fingerprint, "rendering": renderer.fingerprint}
        self.fitted_on = frozenset((weights.trained or {}).get("fitted_on", ()))
        self._max_tokens = renderer.max_tokens
        self._threads = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1), "tokens")
        self._own = threading.local()

    async def do(self, work: Callable[[Reader], R]) -> R:
        """What is made with a reader, off the loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(self._reader()))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _reader(self) -> Reader:
        if not hasattr(self._own, "reader"):
            tokenizer = copy.deepcopy(self._weights.tokenizer)
            renderer = PromptRenderer(tokenizer, self._max_tokens)
            self._own.reader = Reader(self._weights.spec.text, tokenizer, renderer)
        reader: Reader = self._own.reader
        return reader


def _renderer(weights: Weights) -> PromptRenderer:
    """How answers are put before the model; a model trained on another rendering is refused unless told."""
    spec = weights.spec
    renderer = PromptRenderer(weights.tokenizer, weights.max_tokens)
    try:
        renderer.render({}, "Which?", "This one.")
    except TooLongError:
        raise UserError(f"{spec.text}: {weights.max_tokens} tokens are too few for any answer.") from None
    except Exception as error:  # chat templates are programs
        raise UserError(f"{spec.text}: its chat template cannot be used ({one_line(error)}).") from error
    wanted = spec.options.get("rendering", "trained")
    if wanted not in ("trained", "any"):
        raise UserError(f"{spec.text}: rendering is trained or any, not '{wanted}'.")
    trained = (weights.trained or {}).get("rendering", renderer.fingerprint)
    if trained != renderer.fingerprint and wanted == "trained":
        raise UserError(
            f"{spec.text}: it was trained on people rendered otherwise ({str(trained)[:8]}, here {renderer.fingerprint[:8]}), so its "
            "scores may mean little; use the version and max_tokens it was trained with, or add ,rendering=any."
        )
    return renderer
