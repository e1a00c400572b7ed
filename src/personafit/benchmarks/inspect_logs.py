"""Read Inspect AI logs (`.eval` or `.json`) as answer logs, if the samples' metadata say who each answer is for."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models import one_line

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SUFFIXES = (".eval", ".json")
OURS = "personafit/choices"
UNREAD = {"events", "store", "attachments", "timelines", "events_data"}


class InspectLog:
    """The answers in an Inspect log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header = _header(path)
        if OURS in (self._header.eval.task, self._header.eval.task_registry_name):
            raise UserError(
                f"{path} is a log of personafit/choices, which holds no answers of a system; `run BENCHMARK --rater inspect:MODEL` reports those."
            )
        self.model = str(self._header.eval.model)

    @property
    def ending(self) -> str:
        """The status of the evaluation, with the error that stopped it, if any."""
        error = self._header.error
        return self._header.status + (f": {one_line(Exception(error.message))}" if error is not None else "")

    def answers(self, person: str, generic: "InspectLog | None" = None) -> Iterator[dict[str, Any]]:
        """Iterate over the answers as lines of an answer log; `person` is the metadata field with the person.

        A sample that failed or has no text has no answer, and loses to the generic one.
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
            raise UserError(f"{self.path}, sample '{sample.id}' has no message of a user.")
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
        except Exception as error:  # a damaged archive can raise anything
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
    except Exception as error:  # reading a non-log can raise anything
        raise UserError(f"{path} is not an Inspect log ({one_line(error)}).") from error


def _key(sample: "EvalSample") -> str:
    return str(sample.id) if sample.epoch == 1 else f"{sample.id}/{sample.epoch}"


def _answer(sample: "EvalSample") -> str | None:
    """Return the system's answer; None if the sample failed or has no text."""
    if sample.error is not None or not sample.output.choices:
        return None
    return sample.output.completion if sample.output.completion.strip() else None
