"""docs/extend.md does what it says: its files are written, registered as a package would be, and its commands run."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.helpers import run_cli

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


def blocks() -> list[tuple[str, str, str]]:
    return re.findall(
        r'^```(\w+) title="([^"]+)"\n(.*?)^```', PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.slow
def test_every_example_on_the_page_runs(tmp_path: Path) -> None:
    commands = []
    for language, title, body in blocks():
        if language == "python":
            (tmp_path / title).write_text(body, encoding="utf-8")
        elif title == "entry-points":
            # What installing the package would leave behind: its metadata with the entry points.
            groups = tomllib.loads(body)["project"]["entry-points"]
            info = tmp_path / "acme_personafit-1.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-personafit\nVersion: 1\n")
            lines = [
                f"[{group}]\n" + "\n".join(f"{name} = {target}" for name, target in entries.items())
                for group, entries in groups.items()
            ]
            (info / "entry_points.txt").write_text("\n\n".join(lines))
        else:
            commands += body.strip().splitlines()
    assert len(commands) == 3
    outputs = []
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "personafit"
        outputs.append(json.loads(run_cli(*arguments, "--json", cwd=tmp_path, path=tmp_path).stdout))
    polite, tea, dinners = outputs
    assert any(
        r["rater"] == "python:polite:prefer_polite" and r["coverage"] == 1.0 for r in polite["results"]
    )
    overlap = {
        r["context"]: r["value"]
        for r in tea["results"]
        if r["rater"] == "rule:overlap" and r["metric"] == "accuracy" and not r["slice"]
    }
    assert overlap == {"facts:1": 1.0, "none": 0.5, "wrong:facts:1": 0.0}
    shortest = {r["value"] for r in tea["results"] if r["rater"] == "shortest" and r["metric"] == "accuracy"}
    assert shortest == {0.5}
    ranked = {
        (r["rater"], r["context"], r["metric"]): r for r in dinners["results"] if r["rater"] == "rule:overlap"
    }
    knowing = ranked["rule:overlap", "profile", "pairs_in_order"]
    assert knowing["n"] == knowing["people"] == 8
    assert knowing["coverage"] == 1.0
    lift = ranked["rule:overlap", "profile", "lift"]
    assert lift["value"] > 0
    assert lift["low"] < lift["value"] < lift["high"]
    assert ("rule:overlap", "none", "lift") not in ranked, "a control has no lift over itself"


def test_the_kind_on_the_page_is_short() -> None:
    body = next(body for _, title, body in blocks() if title == "ranking.py")
    assert len(body.splitlines()) < 120
