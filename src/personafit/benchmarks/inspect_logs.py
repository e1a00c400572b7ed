"""Logs of Inspect AI, `.eval` or `.json`: a task's answers as an answer log, and our own task's replies as a recording.

Any task whose samples say in their metadata whom they are for can be judged by `run answers`. Logs of `personafit/choices` hold
judgments already: their replies are read again by the same parser, under the names that `replay:` looks for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks.reach import refuse_view
from personafit.items import FIT
from personafit.models import one_line

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SUFFIXES = (".eval", ".json")
OURS = "personafit/choices"
UNREAD = {"events", "store", "attachments", "timelines", "events_data"}


@dataclass(frozen=True)
class Choices:
    """What a log of our own task was about."""

    benchmark: str
    data: str | None
    """Where its data was when the log was made: to be told to the user, never to be opened."""
    view: str
    seed: int
    model: str


class InspectLog:
    """One log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header = _header(path)
        self.model = str(self._header.eval.model)

    @property
    def choices(self) -> Choices | None:
        """What it was about where it is a log of our own task; None for anybody else's."""
        spec = self._header.eval
        if OURS not in (spec.task, spec.task_registry_name):
            return None
        about = spec.metadata or {}
        if about.get("question") != FIT.fingerprint:
            raise UserError(
                f"{self.path} was made with other prompts or another parser than this version has, so its replies are not comparable."
            )
        arguments = spec.task_args
        data, view, seed = arguments.get("data"), str(about.get("view", "profile")), about.get("seed", 0)
        refuse_view(view, located(self.path, field="eval.metadata.view"))
        if type(seed) is not int:
            raise UserError(f"{located(self.path, field='eval.metadata.seed')} must be a whole number.")
        return Choices(
            benchmark=str(arguments.get("benchmark", "starter")),
            data=str(data) if data else None,
            view=view,
            seed=seed,
            model=self.model,
        )

    def replies(self) -> Iterator[dict[str, Any]]:
        """Our own task's replies as lines of a recording; samples that failed have none."""
        for sample in self._samples():
            if sample.error is None and sample.output.choices:
                usage = sample.output.usage
                yield {
                    "key": str(sample.id),
                    "reply": sample.output.completion,
                    "tokens_in": usage.input_tokens if usage else 0,
                    "tokens_out": usage.output_tokens if usage else 0,
                }

    @property
    def ending(self) -> str:
        """How the evaluation ended, in words: Inspect's status, and the error that stopped it."""
        error = self._header.error
        return self._header.status + (f": {one_line(Exception(error.message))}" if error is not None else "")

    def answers(self, person: str, generic: "InspectLog | None" = None) -> Iterator[dict[str, Any]]:
        """A task's answers as lines of an answer log; `person` names the field that says whom for.

        A sample that failed or said nothing has no answer, and loses to the generic one.
        """
        plain = {_key(sample): _answer(sample) or "" for sample in generic._samples()} if generic else {}
        for sample in self._samples():
            more = {"generic": plain.get(_key(sample)), "expect": (sample.metadata or {}).get("expect")}
            yield {
                "id": _key(sample),
                "person": self._person(sample, person),
                "question": self._question(sample),
                "answer": _answer(sample),
                **{name: value for name, value in more.items() if value is not None},
                "system": self.model,
            }

    def _person(self, sample: "EvalSample", field: str) -> dict[str, Any]:
        found = (sample.metadata or {}).get(field)
        if isinstance(found, str) and found.strip():
            return {"id": hash_text(found.strip())[:12], "About": found.strip()}
        if isinstance(found, dict) and found:
            return {"id": hash_text(repr(sorted(found.items())))[:12], **found}
        known = ", ".join(sorted(sample.metadata or {})) or "nothing"
        raise UserError(
            f"{self.path}, sample '{sample.id}': metadata has no '{field}' that says whom the answer is for, only {known}; name the "
            "field with --person."
        )

    def _question(self, sample: "EvalSample") -> str:
        asked = sample.input
        if not isinstance(asked, str):
            asked = next((message.text for message in reversed(asked) if message.role == "user"), "")
        if not asked.strip():
            raise UserError(f"{self.path}, sample '{sample.id}' has no question of a user.")
        return asked

    def _samples(self) -> Iterator["EvalSample"]:
        from inspect_ai.log import read_eval_log, read_eval_log_samples

        try:
            if self.path.suffix == ".json":
                log = read_eval_log(str(self.path), resolve_attachments="core")
                yield from log.samples or []
                return
            yield from read_eval_log_samples(
                str(self.path), all_samples_required=False, resolve_attachments="core", exclude_fields=UNREAD
            )
        except UserError:
            raise
        except Exception as error:  # a damaged archive fails in many ways
            raise UserError(f"{self.path}: a sample cannot be read ({one_line(error)}).") from error


def _header(path: Path) -> "EvalLog":
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise UserError(f"{path} needs Inspect AI: pip install 'personafit[inspect]'.") from error
    if not path.is_file():
        raise UserError(f"{path} is not there; check the path.")
    try:
        return read_eval_log(str(path), header_only=True)
    except Exception as error:  # whatever is no log fails in its own way
        raise UserError(f"{path} is not a log of Inspect ({one_line(error)}).") from error


def _key(sample: "EvalSample") -> str:
    return str(sample.id) if sample.epoch == 1 else f"{sample.id}/{sample.epoch}"


def _answer(sample: "EvalSample") -> str | None:
    """What the system answered; None where it failed or said nothing."""
    if sample.error is not None or not sample.output.choices:
        return None
    return sample.output.completion if sample.output.completion.strip() else None
