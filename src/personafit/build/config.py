"""The config of a build: a TOML file whose sections are checked before anything is spent.

`[build]` and `[models]` are here; every other section is defined beside the steps it configures.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from personafit._errors import UserError, field_name
from personafit._hashing import hash_stream
from personafit._names import RULE, is_name
from personafit.build.prompts import DATA, PromptTemplate, own_prompts, read_toml

S = TypeVar("S", bound="ConfigSection")

Language = Literal["en", "zh"]
MOST_ANSWERERS = 4
TEMPLATE = "template"
"""Used in place of a model: templates write and answer, and a checker finds no fault."""
EXAMPLE = DATA / "example.toml"
"""The config `personafit build --example` writes: small, commented, and offline as it is."""


class ConfigSection(BaseModel):
    """Base of every section: an unknown key is an error that suggests the closest known one."""

    model_config = ConfigDict(extra="forbid")

    def faults(self, config: "BuildConfig") -> Iterator[str]:
        """Yield a sentence for each conflict with other sections or files; single keys are checked by validators."""
        yield from ()


class BuildSection(ConfigSection):
    """`[build]`: what is built, with which seed and budget."""

    name: str = Field("my-benchmark", description="Short name.")
    title: str = Field("", description="A line for people.")
    licence: str = Field("unknown", description="Licence of what is built.")
    seed: int = Field(0, description="Seed of all draws.")
    languages: list[Language] = Field(["en"], min_length=1, max_length=2, description="en, zh or both.")
    budget: float | None = Field(None, ge=0, description="USD that one command may spend.")
    elements: dict[Language, str] = Field(
        default_factory=dict,
        description="TOML file that people of a language are drawn from, such as {en = 'my.toml'}.",
    )
    prompts: str = Field("", description="TOML file with prompts of your own; those it leaves out are ours.")
    takes: dict[str, int] = Field(
        default_factory=dict,
        description="Steps to do another time, with other draws, such as {memories = 1}.",
    )

    @field_validator("name")
    @classmethod
    def _names(cls, name: str) -> str:
        if not is_name(name):
            raise ValueError(f"'{name}' cannot name a benchmark: {RULE}")
        return name

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        _named_once("languages", self.languages)
        return self


class ModelsSection(ConfigSection):
    """`[models]`: the models that write, check and answer; an unset role uses the writer's model.

    `template` in place of a model makes templates write and answer, and skips checking.
    """

    writer: str = Field("embedded", description="Writes people, memories, questions.")
    checker: str = Field("", description="Says what does not hold together.")
    profiler: str = Field("", description="Infers features from memories.")
    answerers: list[str] = Field(
        default_factory=list, max_length=MOST_ANSWERERS, description="The pool of answer models."
    )

    def spec(self, role: str) -> str:
        found = getattr(self, role)
        assert isinstance(found, str)
        return found or self.writer

    def pool(self) -> list[str]:
        return self.answerers or [self.writer]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        _named_once("answerers", self.answerers)
        if TEMPLATE in self.answerers and len(self.answerers) > 1:
            raise ValueError(f"answerers: '{TEMPLATE}' answers alone; leave it out, or the others")
        return self


def _named_once(key: str, names: Sequence[str]) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{key} names '{twice}' twice")


@dataclass(frozen=True)
class BuildConfig:
    """A parsed config file."""

    path: Path
    build: BuildSection
    models: ModelsSection
    sections: Mapping[str, ConfigSection]
    prompts: Mapping[str, PromptTemplate]
    """The user's own prompts, by name."""

    def prompt(self, ours: PromptTemplate) -> PromptTemplate:
        return self.prompts.get(ours.name, ours)

    def section(self, kind: type[S]) -> S:
        """Return the section of a type; steps run only if their section exists."""
        for section in self.sections.values():
            if isinstance(section, kind):
                return section
        raise KeyError(kind.__name__)

    def place(self, path: str) -> Path:
        return (self.path.parent / Path(path).expanduser()).resolve()

    def own(self, path: str, ours: Path) -> Path:
        return self.place(path) if path else ours

    def missing(self, key: str, *names: str) -> Iterator[str]:
        """Yield a sentence for each file named by a key that does not exist."""
        for path in (self.place(name) for name in names if name):
            if not path.is_file():
                yield f"{key}: there is no file {path}"

    def hashes(self, paths: Iterable[str | Path]) -> list[str]:
        """Return content hashes of the files named in the config, skipping missing ones."""
        found = []
        for path in (self.place(str(path)) for path in paths):
            if path.is_file():
                with path.open("rb") as file:
                    found.append(hash_stream(iter(lambda: file.read(1 << 20), b"")))
        return found


def config_of(path: Path, kinds: Mapping[str, type[ConfigSection]]) -> BuildConfig:
    """Read a config file; the first error is one sentence that names the key."""
    tree = read_toml(path, "`personafit build --example` writes one")
    known: dict[str, type[ConfigSection]] = {"build": BuildSection, "models": ModelsSection, **kinds}
    for name, table in tree.items():
        if name not in known:
            raise UserError(f"{path}: there is no section [{name}]; {meant(name, known)}.")
        if not isinstance(table, dict):
            raise UserError(f"{path}: '{name}' is a section; write [{name}] and its keys below it.")
    read = {name: _section(path, name, known[name], tree[name]) for name in known if name in tree}
    build, models = read.pop("build", None), read.pop("models", None)
    build = build if isinstance(build, BuildSection) else BuildSection.model_validate({})
    models = models if isinstance(models, ModelsSection) else ModelsSection.model_validate({})
    prompts = own_prompts((path.parent / Path(build.prompts).expanduser()).resolve()) if build.prompts else {}
    config = BuildConfig(path, build, models, read, prompts)
    for name, section in read.items():
        for fault in section.faults(config):
            raise UserError(f"{path}, [{name}]: {fault.rstrip('.')}.")
    return config


def _section(path: Path, name: str, kind: type[ConfigSection], table: dict[str, Any]) -> ConfigSection:
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place, said = field_name(first["loc"]), first["msg"].removeprefix("Value error, ").rstrip(".")
        said = f"{place}: {said[0].lower()}{said[1:]}" if place else said
        if first["type"] == "extra_forbidden":
            said = f"has no key '{place}'; {meant(place, kind.model_fields)}"
        raise UserError(f"{path}, [{name}] {said}.") from error


def meant(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """Suggest the closest known name for a misspelt one, or else list the known names."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean '{close[0]}'" if close else f"there are {', '.join(known)}"
