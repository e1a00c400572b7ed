"""--where in runs of every kind: it narrows what is judged, and a name nobody has is said before anything is spent."""

from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.benchmarks.config import RunConfig
from personafit.store import Store
from tests.scripted import run

STARTER = Path("starter")


def selected(store: Store, config: RunConfig) -> list[str]:
    """The ids of what a run judges."""
    found: list[str] = run(store, config).run.config["selected"]
    return found


@pytest.mark.parametrize("benchmark", ["recentering", "responses"])
def test_items_of_a_slice(benchmark: str, tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        config = RunConfig(benchmark, data=STARTER, raters=["rule:length"] * (benchmark == "responses"))
        config.where = ["language=zh"]
        narrowed = selected(store, config)
        slices = {item.id: item.slices for item in store.items(run(store, config).run.dataset)}
        assert narrowed
        assert {slices[item]["language"] for item in narrowed} == {"zh"}
        assert len(narrowed) == sum(one["language"] == "zh" for one in slices.values())


@pytest.mark.parametrize("benchmark", ["recentering", "responses", "personalens"])
def test_a_name_nobody_has(benchmark: str, tmp_path: Path) -> None:
    config = RunConfig(benchmark, data=STARTER, systems=["canned"] if benchmark == "personalens" else [])
    config.where = ["nothing=1"]
    with Store(tmp_path / "store.db") as store, pytest.raises(UserError, match="items have no 'nothing'"):
        run(store, config)


@pytest.mark.parametrize("benchmark", ["answers", "responses"])
def test_nothing_is_answered_where_the_name_is_wrong(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "def answer(messages):\n    raise AssertionError('nobody was to be asked')\n"
    (tmp_path / "never_asked.py").write_text(said, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    config = RunConfig(benchmark, systems=["python:never_asked:answer"], where=["nothing=1"])
    config.data = STARTER if benchmark == "responses" else None
    config.raters = ["rule:length"] if benchmark == "answers" else []
    with Store(tmp_path / "store.db") as store, pytest.raises(UserError, match="--where nothing=1"):
        run(store, config)


def test_systems_answer_only_the_questions_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brief.py").write_text("def answer(messages):\n    return 'Yes.'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    config = RunConfig("answers", systems=["python:brief:answer"], raters=["rule:length"], views=["none"])
    config.where, config.limit = ["half=specific", "against=generic"], 3
    with Store(tmp_path / "store.db") as store:
        finished = run(store, config)
        items = {item.id: item for item in store.items(finished.run.dataset)}
    judged = finished.run.config["selected"]
    assert len(items) == 6  # three questions, against generic and against somebody else's
    assert [items[name].slices["against"] for name in judged] == ["generic"] * 3
