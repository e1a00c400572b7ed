"""`@pf.rater`, `@pf.context`, `@pf.benchmark`, and the same by entry point: loaded only when named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from personafit import _plugins
from personafit.benchmarks.benchmark import BenchmarkInfo, HeldBenchmark
from personafit.people import Person
from personafit.store import Item, Product
from tests.api.world import pairs
from tests.scripted import invoke


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    before = dict(_plugins._registered)
    yield
    _plugins._registered.clear()
    _plugins._registered.update(before)


def test_a_named_rater_is_found_by_object_and_by_name(tmp_path: Path) -> None:
    orders = []

    @pf.rater("mine", version="2", order_matters=True)
    def judge(shown: pf.Shown) -> pf.Rating:
        orders.append(shown.order)
        return [len(answer) for answer in shown.answers]

    asked: dict[str, Any] = {"contexts": "profile", "store": tmp_path / "s.db", "progress": False}
    run = pf.evaluate(pairs(), raters=judge, **asked)
    assert len(orders) == 16  # both orders
    assert set(orders) == {(0, 1), (1, 0)}
    assert run.verdict.first.subject == "mine"
    assert run.results.filter(rater="mine", metric="accuracy", slice="")["value"].to_list() == [1.0]
    named = pf.evaluate(pairs(), raters=["mine"], **asked)
    assert (named.name, named.asked) == (run.name, 0)

    @pf.rater("mine", version="2", order_matters=True)
    def edited(shown: pf.Shown) -> pf.Rating:
        return 0

    assert pf.evaluate(pairs(), raters="mine", **asked).asked == 0  # the version stands for what it says

    @pf.rater("mine", version="3", order_matters=True)
    def raised(shown: pf.Shown) -> pf.Rating:
        return 0

    assert pf.evaluate(pairs(), raters="mine", **asked).asked == 16


def test_a_named_context_tells_what_its_function_says(tmp_path: Path) -> None:
    seen = set()

    @pf.context("initial")
    def initial(person: Person) -> str:
        return f"The first letter is {str(person.facets['About'])[0]}"

    def judge(person: str, answers: list[str]) -> int:
        seen.add(person)
        return 0

    run = pf.evaluate(
        pairs(),
        raters=judge,
        contexts=[initial, "wrong:initial", "none"],
        store=tmp_path / "s.db",
        progress=False,
    )
    assert seen == {"The first letter is A", ""}
    assert set(run.judgments["context"]) == {"initial", "wrong:initial", "none"}

    @pf.context("broken")
    def broken(person: Person, item: Any) -> Any:
        return item.prompt if person.id is None else 3

    with pytest.raises(pf.UserError, match="context broken must return a text, not int"):
        pf.evaluate(pairs(), raters=judge, contexts="broken", store=tmp_path / "s.db", progress=False)


def test_a_named_benchmark_is_rows_or_a_benchmark(tmp_path: Path) -> None:
    @pf.benchmark("cats")
    def cats() -> list[dict[str, Any]]:
        return pairs(6)

    @pf.benchmark("again")
    def again(data: Path | None) -> Any:
        from personafit.benchmarks import starter

        assert data == Path("here")
        return starter()

    run = pf.evaluate(cats, raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert (run.benchmark, run.items.height) == ("cats", 6)
    other = pf.evaluate(
        "again", data="here", raters="rule:length", limit=3, store=tmp_path / "s.db", progress=False
    )
    assert (other.benchmark, other.items.height) == ("starter", 3)


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ("people", "Item tea of drinks is about 'ann', who is not among its people"),
        ("products", "The items name product [0-9a-f]+, which is not among the benchmark's products"),
        ("items", "drinks has no items"),
        ("", ""),
    ],
)
def test_a_benchmark_object_is_taken_as_it_is(gone: str, sentence: str, tmp_path: Path) -> None:
    @pf.benchmark("drinks")
    class Drinks(HeldBenchmark):
        """Two drinks for one person."""

        def __init__(self, data: Path | None = None) -> None:
            answers = [Product(kind="answer", text=text) for text in ("Tea.", "Coffee.")]
            item = Item(id="tea", person="ann", prompt="A drink?", products=[one.id for one in answers])
            info = BenchmarkInfo(name="drinks", version="1", layout=[])
            super().__init__(
                info, [Person(id="ann", language="en", facets={"Likes": "tea"})], [item], answers
            )

    made = Drinks()
    if gone:
        setattr(made, gone, lambda: iter(()))
    asked: dict[str, Any] = {"raters": "rule:length", "contexts": "profile", "progress": False}
    if not gone:
        assert pf.evaluate(Drinks, store=tmp_path / "s.db", **asked).items.height == 1
        return
    with pytest.raises(pf.UserError, match=sentence):
        pf.evaluate(made, store=tmp_path / "s.db", **asked)


def test_what_goes_wrong_in_a_benchmark_is_a_sentence(tmp_path: Path) -> None:
    @pf.benchmark("broken")
    def broken() -> list[dict[str, Any]]:
        raise LookupError("the disk is away")

    with pytest.raises(pf.UserError, match="benchmark broken raised LookupError: the disk is away"):
        pf.evaluate("broken", raters="rule:length", store=tmp_path / "s.db")


@pytest.mark.parametrize("name", ["", "a:b", "a,b", "a b"])
def test_a_name_that_no_spec_can_say_is_refused(name: str) -> None:
    with pytest.raises(pf.UserError, match="is no name for one of your raters"):
        pf.rater(name)(lambda answers: 0)


@pytest.mark.parametrize(
    ("decorator", "name"),
    [(pf.rater, "rule"), (pf.context, "profile"), (pf.benchmark, "starter"), (pf.kind, "choice")],
)
def test_a_name_that_the_package_uses_itself_is_refused(decorator: Any, name: str) -> None:
    with pytest.raises(pf.UserError, match=f"{name} is one of the .* that personafit brings; choose another"):
        decorator(name)(type("Mine", (pf.Kind,), {}))


def test_entry_points_are_loaded_only_when_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme.py").write_text(
        "import personafit as pf\n"
        "print('loaded')\n"
        "@pf.rater('longest')\n"
        "def longest(answers):\n"
        "    return [len(answer) for answer in answers]\n"
        "@pf.context('hello')\n"
        "def hello(person):\n"
        "    return 'hello ' + person.id\n"
        "@pf.benchmark('tea')\n"
        "def tea():\n"
        "    return [{'person': f'likes tea {n}', 'question': 'what?', 'chosen': 'some tea', 'rejected': 'no'} for n in range(3)]\n"
    )
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[personafit.raters]\nlongest = acme:longest\nbroken = acme:nothing\n"
        "[personafit.contexts]\nhello = acme:hello\n[personafit.benchmarks]\ntea = acme:tea\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import sys

    run = pf.evaluate(pairs(), raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert "acme" not in sys.modules
    run = pf.evaluate(
        "tea", raters="longest", contexts=["hello", "none"], store=tmp_path / "s.db", progress=False
    )
    assert "acme" in sys.modules
    assert run.verdict.first.subject == "longest"
    assert set(run.judgments["context"]) == {"hello", "none"}
    with pytest.raises(pf.UserError, match="broken: the entry point acme:nothing cannot be loaded"):
        pf.evaluate(pairs(), raters="broken", store=tmp_path / "s.db", progress=False)
    del sys.modules["acme"]


def test_the_command_runs_a_file_of_rows_as_the_api_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs()))
    invoke(monkeypatch, tmp_path, "run", "mine.jsonl", "--rater", "rule:length", "--json")
    body = json.loads(capsys.readouterr().out)
    run = pf.evaluate(
        tmp_path / "mine.jsonl", raters="rule:length", store=tmp_path / ".personafit" / "store.db"
    )
    assert run.asked == 0
    assert body == json.loads(json.dumps(run.as_dict()))


@pytest.mark.parametrize("named", [pf.rater, pf.context, pf.benchmark, pf.kind])
def test_a_decorator_without_a_name_says_how_it_is_written(named: Any) -> None:
    with pytest.raises(pf.UserError, match=rf"write @pf\.{named.__name__}\(NAME\) above pairs"):
        named(pairs)
