"""LaMP's writing tasks: systems write what people wrote, told of them, of nobody and of somebody else; copying is the control."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from personafit import Store, UserError
from personafit.benchmarks import RunConfig, open_benchmark
from personafit.reports.report_page import write_page
from personafit.reports.run_report import open_report
from personafit.statistics.clusters import too_few
from tests.benchmarks import neighbours_world as world
from tests.reports.unpacking import unpacked
from tests.scripted import invoke, run

SYSTEM = '''
import re


def write(messages):
    """Writes as the person does where it is told of them, and plainly where it is not."""
    told, asked = (re.search(r"(?:Baker|number) ([0-9])", message["content"]) for message in messages)
    return f"Spelt is back {asked[1]}" if told and told[1] == asked[1] else "News about spelt"
'''


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "lamp_scribe.py").write_text(SYSTEM, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "python:lamp_scribe:write"


def test_each_text_keeps_what_needs_no_writing(tmp_path: Path) -> None:
    benchmark = open_benchmark("lamp-writing", world.lamp_writing(tmp_path))
    texts = {product.id: product.text for product in benchmark.products()}
    items = {item.id: item for item in benchmark.items()}
    assert len(items) == 8
    kept = [texts[product] for product in items["lamp/LaMP_4/40"].products]
    assert kept == ["Spelt is back 0", "Rye is back"], (
        "the entry about bread is nearer than the one about stars"
    )
    tweet = [texts[product] for product in items["lamp/LaMP_7/71"].products]
    assert tweet == ["Spelt is back 1", "rye bread again today Baker 1", "Spelt bread is baked: number 1."]
    person = next(person for person in benchmark.people() if person.id == "LaMP_5/50")
    assert person.memories[1].text == "Title: On rye Abstract: We study rye bread. Baker 0"
    assert items["lamp/LaMP_6/60"].prompt.endswith("Spelt bread is baked: number 0.")


def test_a_run_is_measured_with_its_controls(tmp_path: Path, system: str) -> None:
    data = world.lamp_writing(tmp_path / "data", ("LaMP_4",))
    config = RunConfig(benchmark="lamp-writing", data=data, systems=[system])
    with Store(tmp_path / "store.db") as store:
        finished = run(store, config)
        report = open_report(store, finished.run)
        write_page([report.part()], tmp_path / "report.html")
        browser = report.items() or {}
        texts = [text for block in browser["blocks"]["texts"] for text in unpacked(block)]
        assert "Spelt is back 0" in texts
        again = run(store, config)
        assert again.run.name == finished.run.name
        assert sum(lane.finished for lane in again.summary.lanes) == 0, "nothing is written twice"
    found = {(r.system, r.system_context, r.metric, r.slice.get("task")): r for r in report.results}
    context = "memory:k=4,by=bm25,budget=4000"
    told = found[system, context, "rouge_1", None]
    assert (told.value, told.coverage, told.control, told.people) == (1.0, 1.0, None, 2)
    for system_context, control in (("none", "no view"), (f"wrong:{context}", "wrong person")):
        plain = found[system, system_context, "rouge_1", "LaMP_4"]
        assert plain.value == pytest.approx(2 / 7)
        assert plain.control == control
    lift = found[system, context, "lift", None]
    assert lift.value == pytest.approx(5 / 7)
    assert lift.note == f"{too_few(2)}; over none, the larger of the two controls; of ROUGE-1"
    entry = found["their nearest earlier words", None, "rouge_1", None]
    assert entry.value == pytest.approx(4 / 7)
    assert entry.control == "copied entry"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "LaMP: would this person have written it so?" in page
    assert "published, not measured here" in page
    assert "their nearest earlier words" in page


def test_what_some_tasks_alone_have_is_no_total(tmp_path: Path) -> None:
    data = world.lamp_writing(tmp_path / "data", ("LaMP_4", "LaMP_7"))
    with Store(tmp_path / "store.db") as store:
        results = open_report(store, run(store, RunConfig("lamp-writing", data=data)).run).results
    given = [r for r in results if r.system == "the text as it was given" and r.metric == "rouge_l"]
    assert [(r.slice, r.control) for r in given] == [({"task": "LaMP_7"}, "copied text")]


def test_without_a_system_copying_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.lamp_writing(tmp_path / "data", ("LaMP_4",))
    invoke(monkeypatch, tmp_path, "run", "lamp-writing", "--data", "data")
    printed = capsys.readouterr().out
    assert "The best of them, rouge (copied entry), reaches ROUGE-1 57.1 % on 2 items of 2 people." in printed
    invoke(monkeypatch, tmp_path, "data", "check", "lamp-writing", "--data", "data")
    assert "2 people, 2 items" in capsys.readouterr().out


def test_bars_junit_and_what_means_nothing(
    tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.lamp_writing(tmp_path / "data", ("LaMP_5",))
    start = ("run", "lamp-writing", "--data", "data", "--system", system)
    invoke(monkeypatch, tmp_path, *start, "--dry-run")
    assert "6 texts would be written" in capsys.readouterr().out
    invoke(monkeypatch, tmp_path, *start, "--json", "--fail-under", "lift=0.9", "--junit", "j.xml", code=1)
    said = capsys.readouterr()
    assert json.loads(said.out)["benchmark"] == "lamp-writing"
    assert "reaches 0.9" in said.err
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    for options, counts in (
        (("--fail-under", "lift=0.9"), (6, 0)),
        ((), (0, 6)),
    ):  # a gate has them written anew
        invoke(monkeypatch, tmp_path, *start, "--json", *options, code=len(options) // 2)
        body = json.loads(capsys.readouterr().out)
        assert (body["made"], body["reused"]) == counts
    for option, name in (("--rater", "rule:length"), ("--context", "none"), ("--samples", "2")):
        invoke(monkeypatch, tmp_path, *start, option, name, code=2)
        assert f"{option} means nothing in `run lamp-writing`" in capsys.readouterr().err


def test_emails_as_published_are_ids_alone(tmp_path: Path) -> None:
    world.lamp_writing(tmp_path, ("LaMP_6",))
    path = tmp_path / "LaMP_6" / "dev_questions.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    for row in rows:
        row["input"] = "038-000001-EM"
    world.write(path, rows)
    with pytest.raises(UserError) as caught:
        list(open_benchmark("lamp-writing", tmp_path).items())
    assert "entry 1, field 'input' is not a question of LaMP_6; as published it holds ids alone" in str(
        caught.value
    )


def test_copies_as_they_are_downloaded_are_found(tmp_path: Path) -> None:
    world.lamp_writing(tmp_path / "a", ("LaMP_4",))
    for name in ("dev_questions.json", "dev_outputs.json"):
        place = tmp_path / "b" / "time" / "LaMP_4" / "dev" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((tmp_path / "a" / "LaMP_4" / name).read_bytes())
    assert len(list(open_benchmark("lamp-writing", tmp_path / "b").items())) == 2
    assert len(list(open_benchmark("lamp-writing", tmp_path / "a" / "LaMP_4").items())) == 2
