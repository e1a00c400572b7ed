"""The command line as scripts rely on it: help, one JSON object, exit codes, samples, budget, resuming, bars."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import personafit as pf
from personafit import Store, __version__
from personafit.benchmarks import ImportedPairs, write_folder
from personafit.cli.app import app
from personafit.cli.lazy import LazyCommand
from tests.helpers import count_status, run_cli
from tests.scripted import invoke, simple_pairs, write_pairs
from tests.stub_endpoint import StubEndpoint

PEOPLE, QUESTIONS = 5, 2
ASKS = PEOPLE * QUESTIONS * 3 * 2  # three contexts, both orders


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Ten pairs of five people in a folder called `mine`."""
    rows = simple_pairs(PEOPLE, QUESTIONS)
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "pairs.csv", rows)))
    return tmp_path


def total(printed: str, rater: str, metric: str = "accuracy", context: str = "profile") -> dict[str, Any]:
    """The total of a rater in what `--json` printed."""
    body: dict[str, Any] = json.loads(printed)
    (found,) = (
        r
        for r in body["results"]
        if (r["rater"], r["metric"], r["context"], r["slice"]) == (rater, metric, context, {})
    )
    return dict(found)


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that is not a group of others."""
    command = command.load() if isinstance(command, LazyCommand) else command
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path
    for name, below in (inner or {}).items():
        yield from commands(below, (*path, name))


COMMANDS = list(commands(typer.main.get_command(app)))


def test_the_commands_are_found() -> None:
    assert {("run",), ("report",), ("compare",), ("rescore",), ("demo",), ("data", "check")} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    invoke(monkeypatch, tmp_path, *command, "--help")
    printed = capsys.readouterr().out
    assert "Example" in printed
    assert f"personafit {' '.join(command)} " in printed or f"personafit {' '.join(command)}\n" in printed
    assert list(tmp_path.iterdir()) == [], "asking for help leaves nothing behind"


def test_the_real_command_prints_one_json_object_and_nothing_else(world: Path) -> None:
    done = run_cli("run", "mine", "--json", cwd=world)
    body = json.loads(done.stdout)
    assert {"benchmark", "run", "verdict", "results"} <= set(body)
    assert body["benchmark"] == "pairs"
    (written,) = world.glob(f".personafit/runs/{body['run']}/results.json")
    assert json.loads(written.read_text("utf-8"))["results"] == body["results"]
    assert list(body["results"][0])[:5] == ["rater", "system", "system_context", "context", "metric"]


def test_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, tmp_path, "--version")
    assert capsys.readouterr().out == f"personafit {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "nothing"), "There is no benchmark 'nothing'"),
        (("run", "mine", "--rater", "rule:best"), "there is no such rule"),
        (("run", "mine", "--rater", "oracle:x"), "'oracle:x' names no rater"),
        (("run", "mine", "--context", "biography"), "Unknown context 'biography'"),
        (("run", "mine", "--people", "nobody.txt"), "--people nobody.txt"),
        (("run", "mine", "--people", "0"), "--people"),
        (("run", "mine", "--limit", "0"), "--limit"),
        (("run", "mine", "--fail-under", "accuracy"), "write METRIC=X"),
        (("run", "mine", "--fail-under", "accuracy=nan"), "write METRIC=X"),
        (("run", "mine", "--retry", "sometimes"), "--retry"),
        (("run", "mine", "--fail-under", "charm=0.5"), "there is no metric"),
        (("run", "personafeedback"), "personafeedback needs --data FOLDER"),
        (("run", "mine", "--store", "nodb://x"), "The store nodb://x cannot be used"),
        (("run", "mine", "--out", "pairs.csv"), "pairs.csv cannot be written"),
        (("report", "last"), "There is no run 'last'"),
        (("rescore", "last"), "There is no run 'last'"),
        (("fly",), "No such command"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_2(
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    invoke(monkeypatch, world, *arguments, code=2)
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert "Traceback" not in printed.err


def test_a_dry_run_says_what_it_would_cost_and_asks_nothing(
    world: Path,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for options, said in ((",price=10/20", " USD."), ("", "its price is unknown (add ,price=IN/OUT)")):
        invoke(monkeypatch, world, "run", "mine", "--rater", endpoint.spec(options), "--dry-run")
        printed = " ".join(capsys.readouterr().out.split())
        assert f"{ASKS} asks, about" in printed
        assert said in printed
        assert f"{ASKS + 2 * ASKS // 2} asks would be made" in printed
    invoke(monkeypatch, world, "run", "mine", "--rater", endpoint.spec(), "--dry-run", "--json")
    body = json.loads(capsys.readouterr().out)
    assert (body["benchmark"], body["results"]) == ("mine", [])
    assert f"{ASKS} asks, about" in body["plan"]
    assert endpoint.requests == []
    with Store(world / ".personafit" / "store.db") as store:
        assert store.runs() == []


def test_a_budget_without_a_price_is_refused_before_anything_is_asked(
    world: Path,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    invoke(monkeypatch, world, "run", "mine", "--rater", endpoint.spec(), "--budget", "1", code=2)
    error = capsys.readouterr().err
    assert f"--budget needs to know what {endpoint.spec()} costs" in error
    assert error.count("\n") == 1
    assert endpoint.requests == []


def test_a_budget_stops_the_run_early_and_a_larger_one_finishes_it(
    world: Path,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each ask costs 100 tokens × 1000 USD per million = 0.1 USD."""
    rater = endpoint.spec(",price=1000/0,concurrency=4")
    command = ("run", "mine", "--rater", rater, "--json", "--budget")
    invoke(monkeypatch, world, *command, "2.05", code=1)
    printed = capsys.readouterr()
    assert "The budget of 2.05 USD is too small" in printed.err
    early = len(endpoint.requests)
    assert 10 < early <= 20
    assert f"Spent {early / 10:.4f} USD" in printed.err
    assert total(printed.out, rater)["coverage"] < 1.0
    assert total(printed.out, "rule:overlap")["coverage"] == 1.0, "what costs nothing is not stopped"
    invoke(monkeypatch, world, *command, "0", code=1)
    capsys.readouterr()
    assert len(endpoint.requests) == early
    invoke(monkeypatch, world, *command, "100")
    printed = capsys.readouterr()
    assert len(endpoint.requests) == ASKS, "what was judged is not asked again"
    assert total(printed.out, rater)["coverage"] == 1.0
    invoke(monkeypatch, world, *command, "100")
    assert len(endpoint.requests) == ASKS


def test_coverage_below_the_bar_is_exit_1_and_retry_asks_again(
    world: Path,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    endpoint.behave("prose")
    command = ("run", "mine", "--rater", endpoint.spec(), "--json")
    invoke(monkeypatch, world, *command, code=1)
    printed = capsys.readouterr()
    assert (
        f"is 0.0 %, below the bar of 95 % ({ASKS} unparsed; a reply that was unparsed: 'Both have"
        in printed.err
    )
    unparsed = total(printed.out, endpoint.spec())
    assert (unparsed["value"], unparsed["coverage"]) == (None, 0.0)
    assert len(endpoint.requests) == 2 * ASKS, "one bounded re-ask each"
    endpoint.behave("letters")
    invoke(monkeypatch, world, *command, code=1)
    assert len(endpoint.requests) == 2 * ASKS, "unparsed is final"
    capsys.readouterr()
    invoke(monkeypatch, world, *command, "--retry", "unparsed")
    assert len(endpoint.requests) == 3 * ASKS
    assert total(capsys.readouterr().out, endpoint.spec())["coverage"] == 1.0
    with Store(world / ".personafit" / "store.db") as store:
        assert count_status(store, store.run("last").id)["unparsed"] == ASKS, "the old answers are kept"


def test_bars_hold_for_the_raters_asked_for_and_not_for_controls(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longer answer is right in this world; the judge prefers the shorter one."""
    name = f"bars_{world.name}"
    (world / f"{name}.py").write_text(
        "def short(person, question, answers):\n    return [-len(a) for a in answers]\n", encoding="utf-8"
    )
    rows = simple_pairs(8, 2)
    for number, row in enumerate(rows):
        row["question"] += str(number)
    write_folder(world / "eight", ImportedPairs(write_pairs(world / "eight.csv", rows)))
    command = ("run", "eight", "--rater", f"python:{name}:short", "--json", "--fail-under")
    invoke(monkeypatch, world, *command, "accuracy=0.5", code=1)
    printed = capsys.readouterr()
    assert f"accuracy of python:{name}:short (profile) is 0.000 (0.000 to 0.369), below 0.5." in printed.err
    assert "rule:" not in printed.err.split("accuracy of")[1]
    assert json.loads(printed.out)["results"], "the numbers are printed all the same"
    invoke(monkeypatch, world, *command, "accuracy=0")
    assert "accuracy of" not in capsys.readouterr().err
    invoke(monkeypatch, world, *command, "restraint=0.1", code=1)
    assert "restraint" in capsys.readouterr().err


def test_a_bar_that_cannot_be_told_to_be_reached_fails_unless_it_may_pass(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five people who are all right are too few to show anything."""
    name = f"gate_{world.name}"
    (world / f"{name}.py").write_text(
        "def long(person, question, answers):\n    return [len(a) for a in answers]\n", encoding="utf-8"
    )
    command = ("run", "mine", "--rater", f"python:{name}:long", "--json", "--fail-under", "accuracy=0.5")
    said = "reaches 0.5: it is 1.000 over 5 people, and at least 6 are needed."
    invoke(monkeypatch, world, *command, "--junit", "fail.xml", code=1)
    assert said in capsys.readouterr().err
    assert said in (world / "fail.xml").read_text(encoding="utf-8")
    invoke(monkeypatch, world, *command, "--undecided", "pass", "--junit", "pass.xml")
    assert said in capsys.readouterr().err, "it is let through, and said"
    assert "<failure" not in (world / "pass.xml").read_text(encoding="utf-8")


def test_samples_of_items_and_of_people(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "ids.txt").write_text("person1\n\nperson3\n", encoding="utf-8")

    def judged(**sample: Any) -> tuple[int, int]:
        items = pf.evaluate("mine", progress=False, **sample).items
        return len(items), items["person"].n_unique()

    monkeypatch.chdir(world)
    assert judged() == (PEOPLE * QUESTIONS, PEOPLE)
    assert judged(limit=4)[0] == 4
    assert judged(people=3) == (3 * QUESTIONS, 3)
    assert judged(people="ids.txt", limit=1) == (1, 1)
    invoke(monkeypatch, world, "run", "mine", "--json", "--people", "ids.txt")
    found = total(capsys.readouterr().out, "rule:length")
    assert (found["n"], found["people"]) == (2 * QUESTIONS, 2)
    (world / "ids.txt").write_text("person1\nnobody\n", encoding="utf-8")
    invoke(monkeypatch, world, "run", "mine", "--people", "ids.txt", code=2)
    assert "nobody is called 'nobody' in this benchmark" in capsys.readouterr().err


def test_report_and_compare_and_rescore_of_stored_runs(
    world: Path,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    endpoint.behave("plain")
    invoke(monkeypatch, world, "run", "mine", "--rater", "rule:length")
    with Store(world / ".personafit" / "store.db") as store:
        first = store.run("last").name
    invoke(monkeypatch, world, "run", "mine", "--rater", endpoint.spec())
    capsys.readouterr()
    asked = len(endpoint.requests)
    invoke(monkeypatch, world, "report", "last", "--format", "json")
    by_name = capsys.readouterr().out
    assert total(by_name, endpoint.spec())["coverage"] == 1.0
    folder = next(path for path in world.glob(".personafit/runs/*") if path.name != first)
    invoke(monkeypatch, world, "report", str(folder), "--format", "json")
    assert capsys.readouterr().out == by_name
    invoke(monkeypatch, world, "report", first, "last", "--format", "json")
    names = [part["name"] for part in json.loads(capsys.readouterr().out)["parts"]]
    assert names[-2:] == [first, folder.name], "both runs, after their comparison if there is one"
    before = (world / "pairs.csv").read_bytes()
    invoke(monkeypatch, world, "report", first, "--out", "pairs.csv", code=2)
    assert "pairs.csv does not end in .html" in capsys.readouterr().err
    assert (world / "pairs.csv").read_bytes() == before
    invoke(monkeypatch, world, "report", first, "--out", "elsewhere")
    assert (world / "elsewhere" / "report.html").stat().st_size > 10_000
    assert "rule:length" in capsys.readouterr().out
    invoke(monkeypatch, world, "compare", first, "last")
    assert "5 people: too few people to claim anything (6 are needed)." in capsys.readouterr().out
    invoke(monkeypatch, world, "compare", first, "last", "--json")
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (comparison["first"], comparison["n"]) == ("rule:length (profile)", PEOPLE * QUESTIONS)
    assert comparison["words"]
    invoke(monkeypatch, world, "rescore", "last")
    assert capsys.readouterr().out.startswith(f"{ASKS} replies read again, 0 now say something else")
    assert len(endpoint.requests) == asked, "nothing is asked to report, compare or read again"
