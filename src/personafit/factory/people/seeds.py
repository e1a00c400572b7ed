"""Seed profiles: ours, or a user's own."""

from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.lines import read_lines, validated
from personafit.factory.people.elements import own_seeds
from personafit.people import Person


def read_seeds(path: Path | None, languages: list[str]) -> tuple[Person, ...]:
    """The seeds of a file, or ours; every language of the build needs one."""
    if path is None:
        return own_seeds()
    seeds = tuple(validated(Person, row, path, number) for number, row in read_lines(path))
    for language in languages:
        if not any(seed.language == language for seed in seeds):
            raise UserError(f"{path} has no seed profile in '{language}'; add one, or leave `seeds` out.")
    return seeds
