"""Runs of different kinds go one way: they share command, API, plan and engine, and differ in reader and kind."""

import runpy
from pathlib import Path
from typing import Any

import pytest

WALK = Path(__file__).parents[2] / "docs" / "imports" / "walk.py"
SHARED = ("cli/", "api/", "run.py", "engine/")


@pytest.mark.slow
def test_three_kinds_of_run_share_their_way() -> None:
    walk: dict[str, Any] = runpy.run_path(str(WALK))
    ways = {way: walk["entered"](given) for way, given in walk["COMMANDS"].items()}
    shared = set.intersection(*ways.values())
    assert "run.py" in shared
    for way, files in ways.items():
        alone = files - shared
        assert not [name for name in alone if name.startswith(SHARED)], way
        kinds = {
            name.removesuffix(".py").removesuffix("_scores") for name in alone if name.startswith("kinds/")
        }
        assert len(kinds) == 1, way
