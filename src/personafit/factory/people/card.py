"""What the card says of the people: how many, of which kinds, and whose words describe them."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from personafit.factory.bench import Bench
from personafit.factory.people.elements import elements
from personafit.factory.people.wording import TEMPLATE
from personafit.people import facet_values

SHOWN = 12


def people_card(bench: Bench) -> str:
    """The statistics of everyone made, read as a stream."""
    counts: dict[str, Counter[str]] = {
        name: Counter() for name in ("Language", "Age", "Gender", "Field of work", "Region", "MBTI")
    }
    people = length = facets = 0
    for person in _everyone(bench):
        people += 1
        facets += len(person["facets"])
        length += sum(map(len, facet_values(person["facets"])))
        for name, value in _kinds(person):
            counts[name][value] += 1
    sentences: Counter[str] = Counter()
    for row in bench.read_rows("people", "lineage"):
        sentences["template" if set(row["makers"].values()) == {TEMPLATE} else "writer"] += 1
        sentences["by template"] += sum(maker == TEMPLATE for maker in row["makers"].values())
        sentences["all"] += len(row["makers"])
    benchmark, training = bench.count("people"), bench.count("people", "training_people")
    lines = [
        "## People (simulated)",
        "",
        f"{benchmark:,} in the benchmark, {training:,} for training only. Mean profile: {facets / max(1, people):.1f} "
        f"facets, {length / max(1, people):,.0f} characters.",
        "",
        f"Of {sentences['all']:,} sentences about habits {sentences['all'] - sentences['by template']:,} are the writer's "
        f"words and {sentences['by template']:,} those of our template ({TEMPLATE}).",
        "",
        "| what | people |",
        "|---|---|",
    ]
    for name, counter in counts.items():
        shown = ", ".join(
            f"{value} {count:,}" for value, count in sorted(counter.items(), key=_frequent)[:SHOWN]
        )
        more = f", {len(counter) - SHOWN} more" if len(counter) > SHOWN else ""
        lines.append(f"| {name} | {shown}{more} |")
    return "\n".join(lines)


def _everyone(bench: Bench) -> Iterator[dict[str, Any]]:
    yield from bench.read_rows("people")
    yield from bench.read_rows("people", "training_people")


def _kinds(person: dict[str, Any]) -> Iterator[tuple[str, str]]:
    facets, language = person["facets"], person["language"]
    age = int(str(facets["Demographics.Age"])) // 10 * 10
    yield "Language", language
    yield "Age", f"{age}–{age + 9}"
    yield "Gender", str(facets["Demographics.Gender"])
    for name, table, path, kind in (
        ("Field of work", "jobs", "Demographics.Work", "field"),
        ("Region", "homes", "Demographics.Home", "region"),
    ):
        yield name, _by_text(language, table, kind).get(facets[path], "other")
    yield "MBTI", str(facets["Personality.MBTI"])


@cache
def _by_text(language: str, table: str, kind: str) -> dict[str, str]:
    return {one.text: one.get(kind) for one in elements(language)[table]}


def _frequent(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]
