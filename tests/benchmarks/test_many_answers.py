"""Fifteen answers to choose from, as LaMP's film tags are: from the prompt to the score, read again, as a folder, in the report."""

import re
from pathlib import Path

import pytest

import personafit as pf
from personafit import Store
from personafit.benchmarks import RunConfig, check_folder, open_benchmark, write_folder
from personafit.reports.run_report import open_report
from personafit.store import run_answers
from tests.benchmarks import neighbours_world as world
from tests.scripted import run
from tests.stub_endpoint import BEHAVIOURS, Body, StubEndpoint, completion, saying


def knows(body: Body) -> Body:
    """Says the letter of the right tag: that of the film's number."""
    prompt = body["messages"][0]["content"]
    number = re.search(r"film number (\d)", prompt)
    assert number is not None
    wanted = world.TAGS[int(number[1])]
    letters = dict(re.findall(r"<answer_([A-Z])>\n(.*)\n</answer", prompt))
    assert sorted(letters.values()) == world.TAGS, "all fifteen are shown"
    return completion(body, next(letter for letter, tag in letters.items() if tag == wanted))


def test_fifteen_tags_are_chosen_from_in_both_orders(
    tmp_path: Path, endpoint: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BEHAVIOURS, "tags", saying(knows))
    endpoint.behave("tags")
    data = world.lamp(tmp_path / "lamp")
    config = RunConfig("lamp", data=data, raters=[endpoint.spec()], where=["task=LaMP_2"], contexts=["none"])
    with Store(tmp_path / "store.db") as store:
        finished = run(store, config).run
        results = [r for r in open_report(store, finished).results if not r.slice]
        answers = run_answers(store, finished.id)
        assert pf.rescore(finished.name, store=store) == (4, 0)
    found = {r.metric: r.value for r in results if (r.rater or "").startswith("openai")}
    assert (found["accuracy"], found["consistency"]) == (1.0, 1.0)
    assert {len(order) for order in answers["order"] if order} == {15}
    folder = tmp_path / "folder"
    write_folder(folder, open_benchmark("lamp", data))
    assert check_folder(folder) == []
