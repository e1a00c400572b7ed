"""The guide on worlds: its example of a domain makes a world in which the controls part, and its agent plays."""

import re
from pathlib import Path

import pytest

import personafit as pf
from personafit import UserError
from personafit.benchmarks.world import open_world
from personafit.worlds import play, score, told_to

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "worlds.md"
MOST_LINES = 60


def block(title: str) -> str:
    """A block of the page by its title."""
    found = re.search(
        rf'```\w+ title="{re.escape(title)}"\n(.*?)```', GUIDE.read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    return found[1]


@pytest.fixture
def cafes(tmp_path: Path) -> Path:
    folder = tmp_path / "cafes"
    folder.mkdir()
    (folder / "cafes.toml").write_text(block("cafes/cafes.toml"), encoding="utf-8-sig")  # as on Windows
    return folder


def test_a_domain_of_few_lines_makes_a_world(cafes: Path) -> None:
    assert len(block("cafes/cafes.toml").splitlines()) < MOST_LINES
    world = open_world(cafes).world
    assert world.name == "cafes"
    assert len(world.requests) > 200
    regret = {
        agent: [
            score(play(world, one, agent), told_to(agent, one)).regret
            for one in list(world.requests.values())[:80]
        ]
        for agent in ("oracle", "profile", "wrong-person")
    }
    mean = {agent: sum(found) / len(found) for agent, found in regret.items()}
    assert mean["oracle"] == pytest.approx(0.0)
    assert 0.1 < mean["profile"] < 0.7 < mean["wrong-person"]


def test_the_agent_and_the_memory_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("my_agent.py", "my_memory.py"):
        (tmp_path / f"guide_{name}").write_text(block(name), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    run = pf.evaluate(
        "world",
        systems=["python:guide_my_agent:agent"],
        system_contexts=["profile", "python:guide_my_memory:recall"],
        limit=8,
        store=tmp_path / "s.db",
        progress=False,
    )
    assert run.summary is not None
    assert run.summary.failed == 0
    assert "did what was asked in" in str(run.verdict)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("label = 3", r"cafes\.toml, field 'label': Input should be a valid dictionary"),
        ("label =", r"cafes\.toml is not a domain in TOML"),
        ('label = { en = "Cafés" }', r"cafes\.toml, field '\w+': Field required"),
    ],
)
def test_a_domain_that_is_none_is_named(cafes: Path, text: str, why: str) -> None:
    (cafes / "cafes.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=why):
        open_world(cafes)


def test_a_language_that_nobody_speaks_is_named(cafes: Path) -> None:
    text = block("cafes/cafes.toml").replace("{ en =", "{ fr =").replace("en = [", "fr = [")
    (cafes / "cafes.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="the people of a world speak en and zh, not 'fr'"):
        open_world(cafes)


def test_a_domain_with_one_value_has_nothing_to_choose(cafes: Path) -> None:
    text = re.sub(
        r'values = \{ en = \["([^"]+)"[^\]]*\]', r'values = { en = ["\1"]', block("cafes/cafes.toml")
    )
    (cafes / "cafes.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="has no requests: no two of its 40 people differ enough"):
        open_world(cafes)
