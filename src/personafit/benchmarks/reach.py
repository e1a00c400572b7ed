"""Limits on what data may configure: it never chooses code, hosts, keys or paths. See docs/guides/security.md.

Benchmark folders and logs come from others, so the raters and contexts they name are checked against fixed lists first. What users type, or
write into a suite or build config that they name, is trusted and not checked here.
"""

import re
from pathlib import Path

from personafit._errors import UserError, located
from personafit._names import RULE, is_name
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.contexts import PLAIN, is_plain

_RATER = re.compile(r"rule:[a-z0-9-]{1,40}|embedding")  # the bundled embedder: no address, no model name
_SHOWN = 80  # characters quoted in an error message


class Refused(UserError):
    """Data that names what it may not name; unlike other faults this ends reading at once."""


def refuse_reach(info: BenchmarkInfo, path: Path) -> None:
    """Raise `Refused` if a benchmark.toml names more than rules, plain contexts and a plain name."""
    if not is_name(info.name):
        raise Refused(
            f"{located(path, field='name')}: '{info.name[:_SHOWN]}' cannot name a benchmark: {RULE}."
        )
    for rater in info.controls.raters:
        if not _RATER.fullmatch(rater):
            raise Refused(
                f"{located(path, field='controls.raters')}: '{rater[:_SHOWN]}' is not for data to name, only rule:NAME is; "
                "take it out, and name it with --rater if you want it."
            )
    refuse_context(info.context, located(path, field="context"))
    for context in info.controls.contexts:
        refuse_context(context, located(path, field="controls.contexts"))


def refuse_context(context: str, place: str) -> None:
    """Raise `Refused` if a context is more than the person's record."""
    if not is_plain(context):
        raise Refused(
            f"{place}: '{context[:_SHOWN]}' is not for data to name, only {PLAIN}; take it out, and name it with --context if you want it."
        )
