"""What data may say of how it is run: data never chooses code, hosts, keys or paths. See docs/guides/security.md.

A benchmark folder and a log come from others, so what they name is held against fixed lists before anything is made of it. What a
user types, or writes into a suite or a build config that they name, is theirs and passes by here.
"""

import re
from pathlib import Path

from personafit._errors import UserError, located
from personafit._names import RULE, is_name
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.contexts import PLAIN, is_plain

_RATER = re.compile(
    r"rule:[a-z0-9-]{1,40}|embedding"
)  # the embedder that comes along: no address, no model named
_SHOWN = 80  # characters of what is refused


class Refused(UserError):
    """Data that names what is not for data to name; unlike other faults nothing goes on beside it."""


def refuse_reach(info: BenchmarkInfo, path: Path) -> None:
    """Refuse a benchmark.toml that names more than rules, plain contexts and a plain name; the sentence names the field."""
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
    """Refuse a context that is more than the person's record."""
    if not is_plain(context):
        raise Refused(
            f"{place}: '{context[:_SHOWN]}' is not for data to name, only {PLAIN}; take it out, and name it with --context if you want it."
        )
