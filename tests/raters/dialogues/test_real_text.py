"""The counting rules on the published people's own histories: texts nobody here has written, skipped where they are absent."""

from pathlib import Path

import pytest

from personafit.benchmarks.personalens import PersonaLens
from personafit.raters.counting import Said, mark_turns, preferences_of

SHARED = Path(__file__).parents[4] / "shared" / "data" / "personalens"
PEOPLE = 8


@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"there is no PersonaLens at {SHARED}: the rules are not tried on real text"
)
def test_histories_made_from_profiles_are_seen_to_agree_with_them() -> None:
    benchmark = PersonaLens(SHARED)
    attributes = covered = against = invented = 0
    for number, (person, _) in enumerate(benchmark.users):
        if number == PEOPLE:
            break
        for domain, text in person.summaries.items():
            paths = [path for path in person.facets if path.startswith(f"{domain}.")]
            preferences = preferences_of(person.facets, paths, benchmark.info.metrics["closed_values"])
            marks = mark_turns([Said("user", "Hello."), Said("assistant", text)], preferences, text)
            listed = {one.path for one in preferences if one.others}
            attributes += len(listed)
            covered += len(listed & {mark.path for mark in marks if mark.kind == "covers"})
            against += len({mark.path for mark in marks if mark.kind == "contradicts"})
            invented += sum(mark.kind == "invents" for mark in marks)
    assert attributes > 300
    assert covered / attributes > 0.88
    assert (
        against / attributes < 0.08
    )  # an upper bound on false alarms: some histories do mention other values
    assert invented == 0  # everything in a text is in that text
