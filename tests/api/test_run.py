"""A run read back: its frames, verdict and report; loading, comparing, agreeing, auditing; and what importing costs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import text

import personafit as pf
from personafit import Store
from personafit.reports.result import Result, results_frame
from personafit.reports.verdict import run_verdict
from tests.api.world import answers, by_length, pairs

HOSTILE = "<script>alert(1)</script> & tea"


@pytest.fixture
def run(tmp_path: Path) -> pf.Run:
    rows = [row | {"question": HOSTILE} for row in pairs(6)]
    return pf.evaluate(rows, raters=[by_length, "rule:length"], store=tmp_path / "s.db", progress=False)


def test_frames_have_their_columns_and_rows(run: pf.Run) -> None:
    assert run.results.columns[:8] == [
        "rater",
        "system",
        "system_context",
        "context",
        "metric",
        "slice",
        "value",
        "low",
    ]
    assert run.results["slice"].null_count() == 0
    assert len(run.results) == len(run.figures)
    assert run.judgments.height == 6 * 3 * 3  # two that were named and a control, under three contexts
    assert run.judgments["rater"].unique().sort().to_list() == ["by_length", "rule:length", "rule:overlap"]
    assert run.items.height == 6
    gold = run.items.with_columns(pl.col("answers").list.get(pl.col("gold").cast(pl.Int64)).alias("right"))
    assert all("cats" in right for right in gold["right"])
    by_hand = run.judgments.filter(rater="by_length", context="profile").join(run.items, on="item")
    mean = (by_hand["label"] == by_hand["gold"]).mean()
    told = run.results.filter(rater="by_length", context="profile", metric="accuracy", slice="")
    assert told["value"].to_list() == [mean]


def test_the_verdict_is_about_whoever_was_asked_for_first(run: pf.Run) -> None:
    verdict = run.verdict.first
    assert (verdict.subject, verdict.metric) == ("by_length", "lift")
    lift = next(r for r in run.figures if r.rater == "by_length" and r.metric == "lift" and not r.slice)
    assert (verdict.value, verdict.low, verdict.high) == (lift.value, lift.low, lift.high)
    assert (verdict.n, verdict.people) == (lift.n, lift.people)
    assert verdict.sentence.startswith("by_length chooses the right answer in ")
    assert verdict.sentence.rstrip(".") in repr(run)
    assert run.as_dict()["verdict"]["sentence"] == run.verdict.sentence


def result(**given: Any) -> Result:
    plain: dict[str, Any] = dict.fromkeys(Result.__slots__)
    plain |= {
        "rater": "a",
        "metric": "f1",
        "slice": {},
        "value": 0.5,
        "n": 9,
        "people": 3,
        "met_people": False,
    }
    return Result(**plain | given)


def test_a_verdict_speaks_last_of_whoever_met_the_people_and_claims_nothing() -> None:
    met = [
        result(rater="fitted", fingerprint="f", met_people=True),
        result(rater="honest", value=0.25, low=0.125, high=0.375),
    ]
    verdict = run_verdict("run-1", "ranking", met)
    assert [one.subject for one in verdict.subjects] == ["honest", "fitted"]
    assert verdict.sentences[0] == "honest has F1 25.0 % (12.5–37.5) on 9 items of 3 people."
    assert verdict.sentences[1].endswith("; no claim, as it was fitted on people of this run.")
    controls = [
        result(rater="low", control="rule", value=0.1),
        result(rater="high", control="rule", value=0.9),
    ]
    assert run_verdict("run-1", "relevance", controls).first.subject == "high"
    nothing = run_verdict("run-1", "choice", [])
    assert (nothing.first.value, nothing.sentence) == (None, "Nothing has been judged in run-1 yet.")


def test_a_notebook_and_a_report_show_texts_as_texts(run: pf.Run, tmp_path: Path) -> None:
    shown = run._repr_html_()
    assert "<table>" in shown
    assert "by_length" in shown
    page = run.report(tmp_path / "deep" / "report.html")
    assert page.is_file()
    assert "<script>alert(1)" not in shown + page.read_text()
    with pytest.raises(pf.UserError, match="cannot be written"):
        run.report(tmp_path / "s.db" / "report.html")
    hostile = results_frame([result(rater="<b>x</b>")])
    assert hostile["rater"].to_list() == ["<b>x</b>"]


def test_a_run_is_loaded_by_name_by_folder_and_as_the_last(run: pf.Run, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    run.write(tmp_path / "files")
    for name in (run.name, "last", str(tmp_path / "files")):
        loaded = pf.load(name, store=store)
        assert (loaded.name, loaded.summary, loaded.asked) == (run.name, None, 0)
        assert loaded.results.equals(run.results)
        assert loaded.verdict == run.verdict
    with pytest.raises(pf.UserError, match=r"There is no run 'nothing' in .*; there are pairs-"):
        pf.load("nothing", store=store)


def test_loading_imports_nothing_that_a_store_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in a store are data: a stranger's store must not choose what is imported here."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    store = tmp_path / "s.db"
    run = pf.evaluate(pairs(6), raters=by_length, store=store, progress=False)
    run.close()

    def rewrite(**changes: Any) -> None:
        with Store(store) as opened, opened.engine.begin() as connection:
            config = json.loads(connection.execute(text("SELECT config FROM runs")).scalar_one())
            config |= changes
            config["raters"][0]["name"] = "python:evil:judge"
            connection.execute(text("UPDATE runs SET config = :config"), {"config": json.dumps(config)})

    rewrite()
    monkeypatch.syspath_prepend(tmp_path)
    run = pf.load("last", store=store)
    assert run.verdict.first.subject == "python:evil:judge"
    assert (run.judgments.height, run.items.height) == (54, 6)
    run.report(tmp_path / "report.html")
    assert "evil" not in sys.modules
    for kind in ("evil:judge", "../evil", 7):
        rewrite(kind=kind)
        loaded = pf.load("last", store=store)
        with pytest.raises(pf.UserError, match="which nothing here knows"):
            _ = loaded.results
        assert "which nothing here knows" in repr(loaded)
        assert "which nothing here knows" in loaded._repr_html_()


def test_runs_are_compared(run: pf.Run, tmp_path: Path) -> None:
    rows = [row | {"question": HOSTILE} for row in pairs(6)]

    def short(answers: list[str]) -> list[int]:
        return [-len(answer) for answer in answers]

    other = pf.evaluate(rows, raters=short, store=tmp_path / "s.db", progress=False)
    found = pf.compare(run, other)
    row = found.results.filter(pl.col("first") == "by_length (profile)").row(0, named=True)
    assert (row["second"], row["value"], row["n"]) == ("short (profile)", 1.0, 6)
    by_name = pf.compare(run.name, other.name, store=tmp_path / "s.db")
    assert by_name.results.equals(found.results)
    assert found.sentences[0] in found._repr_html_().replace("&#x27;", "'")
    (alone,) = pf.compare(run).results.iter_rows(named=True)  # the raters of one run
    assert (alone["first"], alone["second"]) == ("by_length (profile)", "rule:length (profile)")
    with pytest.raises(pf.UserError, match="compare needs two runs"):
        pf.compare()


def test_raters_agreement_is_said(run: pf.Run, tmp_path: Path) -> None:
    found = pf.agree(run)
    pair = found.results.filter(pl.col("part") == "pair", pl.col("figure") == "percent")
    shown = {frozenset((row["first"], row["second"])): row["value"] for row in pair.to_dicts()}
    assert shown[frozenset(("by_length", "rule:length"))] == 1.0  # they are one rule
    assert found.sentences == [
        "Of 2 raters by_length has the highest kappa with author: 1.00 (no interval); 0 is what chance gives.",
    ]
    with pytest.raises(pf.UserError, match="agree takes one run, or one study or folder"):
        pf.agree(run, run.name, store=tmp_path / "s.db")
    with pytest.raises(pf.UserError, match="agree needs a run"):
        pf.agree()


def test_a_benchmark_and_rows_are_audited(tmp_path: Path) -> None:
    found = pf.audit(pairs(40))
    longest = found.results.filter(rater="rule:length", metric="accuracy", slice="")
    assert longest["value"].to_list() == [1.0]
    assert any(sentence.startswith("Length rule: ") for sentence in found.sentences)
    assert found.report(tmp_path / "audit.html").is_file()
    assert found.as_dict()["benchmark"] == "pairs"
    assert pf.audit("starter").results.height > 0


def test_a_run_of_answers_says_whose_they_are(tmp_path: Path) -> None:
    rows = answers(6, system="v2", given="profile")
    run = pf.evaluate(rows, raters=by_length, store=tmp_path / "s.db", progress=False)
    assert run.verdict.first.subject == "by_length on v2 (profile)"
    assert set(run.results["system"].drop_nulls()) == {"v2"}
    assert set(run.results["system_context"].drop_nulls()) == {"profile"}


def test_importing_the_package_is_cheap_and_its_names_are_there() -> None:
    code = (
        "import sys, personafit as pf\n"
        "heavy = {'polars', 'sqlalchemy', 'numpy', 'pydantic', 'rich', 'aiohttp'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
        "assert set(pf.__all__) <= set(dir(pf))\n"
        "pf.UserError\n"
        "assert not {'polars', 'sqlalchemy'} & sys.modules.keys()\n"
        "assert all(getattr(pf, name) is not None for name in pf.__all__)\n"
        "try:\n    pf.nothing\nexcept AttributeError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert done.stdout == "module 'personafit' has no attribute 'nothing'\n", done.stderr
    assert (Path(pf.__file__).parent / "py.typed").is_file()


def test_a_run_is_looked_into_as_the_commands_do(run: pf.Run, tmp_path: Path) -> None:
    found = pf.analyze(run, "bias")
    by_name = pf.analyze(run.name, "bias", store=tmp_path / "s.db")
    assert found.as_dict() == by_name.as_dict()
    assert found.as_dict()["results"]
    planned = pf.analyze(run, "power", people=50).as_dict()
    assert planned["plans"][0]["people"] == 50
    with pytest.raises(pf.UserError, match="There is no analysis 'mood'; there are bias, calibration"):
        pf.analyze(run, "mood")
    assert str(pf.agree(run)).splitlines() == pf.agree(run).sentences
