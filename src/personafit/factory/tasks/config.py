"""`[tasks]`: people with preferences, histories and things they want done, for the dialogue benchmark."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from personafit.factory.config import BuildConfig, ConfigSection, meant
from personafit.factory.tasks.ontology import (
    OUR_TASKS,
    OURS,
    Ontology,
    TaskTemplate,
    read_definitions,
    read_ontology,
)


class TasksSection(ConfigSection):
    """What the steps of task profiles are asked for."""

    people: int = Field(24, ge=1, description="People to draw; with a section [people] it is those people.")
    ontology: str = Field("", description="TOML file with domains of your own; empty takes ours.")
    definitions: str = Field("", description="TOML file with tasks of your own; empty takes ours.")
    domains: tuple[int, int] = Field((5, 8), description="Fewest and most domains one person cares about.")
    single: int = Field(6, ge=0, description="Most tasks over one domain for each person.")
    multi: int = Field(2, ge=0, description="Most tasks over several domains for each person.")
    templates_only: bool = Field(False, description="Histories and wishes from templates; no model is asked.")
    refine: bool = Field(True, description="Let the writer exchange drawn preferences, within their shares.")
    shares: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="Shares of values, as in {'Books.Format' = {'audiobook' = 0.5}}."
    )
    slack: float = Field(0.1, gt=0, le=1, description="By how much of all a value may be off its share.")
    evenness: float = Field(0.8, ge=0, le=1, description="Lowest evenness of an attribute without shares.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Quotas that cannot be met, whoever the people are."""
        ontology = open_ontology(config)
        low, high = self.domains
        if not 1 <= low <= high <= len(ontology.domains):
            yield f"domains = [{low}, {high}] must go from 1 to at most {len(ontology.domains)}, the smaller first"
        if self.single == self.multi == 0:
            yield "single and multi are both 0, so nobody would want anything"
        yield from _share_faults(self.shares, ontology)


def open_ontology(config: BuildConfig) -> Ontology:
    """The domains of a build."""
    return read_ontology(_place(config, config.section(TasksSection).ontology, OURS))


def open_definitions(config: BuildConfig, ontology: Ontology) -> list[TaskTemplate]:
    """The tasks of a build."""
    return read_definitions(ontology, _place(config, config.section(TasksSection).definitions, OUR_TASKS))


def data_files(config: BuildConfig) -> list[Path]:
    """The files whose content shapes the steps."""
    section = config.section(TasksSection)
    ours = [Path(__file__).with_name(name) for name in ("demographics.toml", "situations.toml")]
    return [_place(config, section.ontology, OURS), _place(config, section.definitions, OUR_TASKS), *ours]


def _place(config: BuildConfig, named: str, ours: Path) -> Path:
    return config.place(named) if named else ours


def _share_faults(shares: Mapping[str, Mapping[str, float]], ontology: Ontology) -> Iterator[str]:
    paths = ontology.paths()
    for path, wanted in shares.items():
        if path not in paths:
            yield f"shares: there is no attribute '{path}'; {meant(path, paths)}"
            continue
        values = list(ontology.attribute(path).values)
        for value, share in wanted.items():
            if value not in values:
                yield f"shares, {path}: there is no value '{value}'; {meant(value, values)}"
            elif not 0 <= share <= 1:
                yield f"shares, {path}: {value} = {share:g} must be from 0 to 1"
        total = sum(wanted.values())
        if total > 1 + 1e-9 or (set(wanted) == set(values) and total < 1 - 1e-9):
            yield f"impossible quota: the shares of {path} add up to {total:g}, not to 1"
