"""A suite: several benchmarks in one TOML file, with shared raters and systems, run together.

Each `[[run]]` takes the options of `personafit run`, under the same names in the plural; entries above the first `[[run]]` are shared.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError
from personafit.benchmarks import is_file
from personafit.benchmarks.lines import validated


class SuiteRun(BaseModel):
    """One run of a suite."""

    model_config = ConfigDict(extra="forbid")

    benchmark: str = Field(
        description="A benchmark, a folder or a .jsonl log of answers, as on the command line; a path is relative to the suite's file."
    )
    data: Path | None = Field(None, description="Its data; a path is relative to the suite's file.")
    raters: list[str] | None = Field(None, description="Who judges here, in place of the shared raters.")
    systems: list[str] | None = Field(
        None, description="Systems under test here, in place of the shared ones."
    )
    contexts: list[str] = Field(default_factory=list, description="What raters are told about the person.")
    system_contexts: list[str] = Field(
        default_factory=list, description="What systems are told about the person."
    )
    user: str | None = Field(None, description="The model that plays the user in dialogues.")
    options: dict[str, str] = Field(
        default_factory=dict, description="Options of one kind of item only, as -K NAME=VALUE gives them."
    )
    kind: str | None = Field(
        None,
        description="Which items of a folder are meant; default is all kinds it holds, one after the other.",
    )
    people: str | None = Field(None, description="Evaluate N people (sampled), or the ids listed in a file.")
    where: list[str] = Field(
        default_factory=list, description="NAME=VALUE: evaluate only items of this slice."
    )
    limit: int | None = Field(None, ge=1, description="Evaluate a stratified sample of N items.")
    samples: int = Field(1, ge=1, description="Ask every question N times.")
    fail_under: list[str] = Field(
        default_factory=list, description="METRIC=X: the suite fails unless METRIC is shown to be at least X."
    )


class SuiteFile(BaseModel):
    """The contents of a suite file."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field("", description="A line for people.")
    raters: list[str] = Field(default_factory=list, description="Who judges in every run that names nobody.")
    systems: list[str] = Field(
        default_factory=list, description="Systems under test in every run that takes systems."
    )
    seed: int = Field(0, description="Seed of all draws.")
    limit: int | None = Field(
        None, ge=1, description="Evaluate N items of every benchmark that sets no limit."
    )
    run: list[SuiteRun] = Field(min_length=1, description="The runs, in order.")


UNJUDGED = ("lamp-writing",)  # benchmarks without judges, which get no shared raters
TAKE_SYSTEMS = ("answers", "responses", "personalens", "lamp-writing")
"""Benchmarks that the shared systems are applied to."""


@dataclass(frozen=True)
class SuiteEntry:
    """One run of a suite, ready to be started."""

    benchmark: str
    arguments: dict[str, Any]
    """Arguments for `evaluate`."""
    bars: list[str]
    """Conditions METRIC=X that it must meet."""


@dataclass(frozen=True)
class Suite:
    """A suite, ready to be run."""

    title: str
    runs: list[SuiteEntry]


def read_suite(path: Path) -> Suite:
    """Read a suite from a file."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML ({error}).") from error
    file = validated(SuiteFile, raw, path, None)
    runs = []
    for one in file.run:
        here = Path(one.benchmark)
        place = _place(path, here) if is_file(here) or "/" in one.benchmark else here
        arguments: dict[str, Any] = {
            "raters": [] if one.benchmark in UNJUDGED else file.raters,
            "systems": file.systems if one.benchmark in TAKE_SYSTEMS else [],
            "limit": file.limit,
            "seed": file.seed,
            "command": f"personafit run {path}",
        } | one.model_dump(exclude={"benchmark", "fail_under"}, exclude_none=True)
        if one.data is not None:
            arguments["data"] = _place(path, one.data)
        runs.append(SuiteEntry(place.as_posix(), arguments, one.fail_under))
    return Suite(file.title or path.stem, runs)


def _place(suite: Path, named: Path) -> Path:
    """Return a path relative to the suite's file if it exists there, otherwise the path as given."""
    beside = suite.parent / named.expanduser()
    return beside if beside.exists() else named
