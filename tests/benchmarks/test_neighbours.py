"""Benchmarks of others, read from their own layouts: the right answer, who is told what, and what is said when a file is wrong."""

import json
from pathlib import Path

import pytest

from personafit import Store
from personafit.benchmarks import Benchmark, RunConfig, open_benchmark
from personafit.benchmarks.hostile import hostile_note
from personafit.contexts import People, make_context
from personafit.reports.run_report import open_report
from tests.benchmarks import neighbours_world as world
from tests.benchmarks.hub_world import contents, get, hub
from tests.benchmarks.stub_hub import Repo, StubHub
from tests.raters.reward.tiny import save_reward
from tests.scripted import invoke, run

__all__ = ["hub"]


def right_answers(benchmark: Benchmark) -> dict[str, str]:
    texts = {product.id: product.text for product in benchmark.products()}
    items = {item.id: item for item in benchmark.items()}
    return {row.item: texts[items[row.item].products[int(row.label or "")]] for row in benchmark.gold()}


def told(benchmark: Benchmark, context: str) -> dict[str, str]:
    people = People({person.id: person for person in benchmark.people()})
    builder = make_context(context, people, 0)
    return {item.id: builder.build(people[item.person], item).text for item in benchmark.items()}


def test_prefeval_asks_about_each_preference_in_every_form(tmp_path: Path) -> None:
    benchmark = open_benchmark("prefeval", world.prefeval(tmp_path))
    assert hostile_note(benchmark) is None, "who said what is no attempt to steer a judge"
    assert len(list(benchmark.people())) == 5
    right = right_answers(benchmark)
    assert len(right) == 15
    assert right["prefeval/travel_hotel/2/persona"] == "quiet travel_hotel 1"
    contexts = told(benchmark, "history")
    assert contexts["prefeval/travel_hotel/2/explicit"].endswith(
        "User: I never want thing 1 of travel_hotel."
    )
    assert "User: Quiet.\nAssistant: Noted." in contexts["prefeval/travel_hotel/2/choice"]
    assert "I never want" not in contexts["prefeval/travel_hotel/2/persona"]
    assert contexts["prefeval/travel_hotel/3/persona"].endswith("Assistant: Good day 1."), (
        "a turn that is null is none"
    )
    assert {row.scores["explicit"] for row in benchmark.published()} >= {95.0, 85.0}
    assert any("copy" in note for note in benchmark.notes())
    # The right one stands first in the file; here its place tells nothing.
    assert len({row.label for row in benchmark.gold()}) > 1


def test_prefeval_finds_its_conversations_in_files_of_another_order(tmp_path: Path) -> None:
    folder = world.prefeval(tmp_path)
    before = list(open_benchmark("prefeval", folder).people())
    world.edited(folder / "benchmark_dataset/implicit_preference/choice-based/shop_home.json", list.reverse)
    assert list(open_benchmark("prefeval", folder).people()) == before


def test_prefeval_says_which_topics_lack_a_form(tmp_path: Path) -> None:
    folder = world.prefeval(tmp_path)
    talks = folder / "benchmark_dataset" / "implicit_preference" / "persona-driven"
    (talks / "travel_hotel.json").unlink()
    (folder / "benchmark_dataset" / "mcq_options" / "._travel_hotel.json").write_bytes(b"\x00\x05")
    benchmark = open_benchmark("prefeval", folder)
    assert benchmark.notes()[0].startswith(
        "The form 'persona' is missing for 1 of 2 topics, such as travel_hotel"
    )
    forms = {item.slices["form"] for item in benchmark.items() if item.slices["topic"] == "travel_hotel"}
    assert forms == {"explicit", "choice"}


def test_personamem_sees_nothing_beyond_the_question(tmp_path: Path) -> None:
    benchmark = open_benchmark("personamem", world.personamem(tmp_path))
    assert {person.id for person in benchmark.people()} == {"persona-0", "persona-1"}
    assert right_answers(benchmark)["personamem/32k/q1"] == "right reply 1"
    contexts = told(benchmark, "history")
    assert "Note: Current user persona:" in contexts["personamem/32k/q0"]
    assert contexts["personamem/32k/q0"].count("tea said") == 2
    assert contexts["personamem/32k/q1"].count("tea said") == 5
    assert "coffee" in contexts["personamem/32k/q2"]
    assert "tea" not in contexts["personamem/32k/q2"]
    found = told(benchmark, "memory:k=9,by=bm25")
    assert "tea said 4" not in found["personamem/32k/q0"]
    assert "cocoa" in told(benchmark, "wrong:history")["personamem/32k/q0"]
    assert told(benchmark, "history:budget=8")["personamem/32k/q1"].count("tea said") < 5


def test_personamem_takes_another_size_by_its_file(tmp_path: Path) -> None:
    world.personamem(tmp_path)
    world.personamem(tmp_path, "128k")
    benchmark = open_benchmark("personamem", tmp_path / "questions_128k.csv")
    assert next(benchmark.items()).id == "personamem/128k/q0"
    assert any("questions_32k.csv" in note for note in benchmark.notes())


def test_personamem_as_republished_for_memory_systems(tmp_path: Path) -> None:
    benchmark = open_benchmark("personamem", world.personamem_copy(tmp_path))
    assert [person.id for person in benchmark.people()] == ["persona-0"]
    assert right_answers(benchmark) == {f"personamem/q{number}": f"right reply {number}" for number in (0, 1)}
    first = next(benchmark.items())
    assert first.prompt == "User: Ann\n\nWhat shall I drink, number 0?"
    texts = {product.id: product.text for product in benchmark.products()}
    assert {texts[product] for product in first.products} == {
        "right reply 0",
        "plain reply\n\nin two paragraphs",
    }
    contexts = told(benchmark, benchmark.info.context)
    assert "tea said" in contexts["personamem/q0"]
    assert "coffee" not in contexts["personamem/q0"]
    assert "Note: Current user persona:" in contexts["personamem/q1"]
    assert "does not say at which point" in benchmark.notes()[0]
    assert benchmark.published() == []
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(reversed(documents.read_text(encoding="utf-8").splitlines(keepends=True))))
    again = open_benchmark("personamem", tmp_path)
    assert told(again, benchmark.info.context) == contexts, "sessions stand in the order of their ids"


PERSONAMEM = Path(__file__).parents[3] / "shared" / "data" / "personamem-32k"


@pytest.mark.skipif(not PERSONAMEM.is_dir(), reason=f"the republished questions are not at {PERSONAMEM}")
def test_every_republished_question_is_read(tmp_path: Path) -> None:
    benchmark = open_benchmark("personamem", PERSONAMEM)
    lines = (PERSONAMEM / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = {f"personamem/{row['id']}": row for row in map(json.loads, lines)}
    right = right_answers(benchmark)
    twice = next(note for note in benchmark.notes() if "word for word" in note)
    assert len(asked) - len(right) == int(twice.rpartition(": ")[2].rstrip("."))
    for item, text in right.items():
        letter = asked[item]["gold_answers"][1]
        assert f"({letter}) {text}" == asked[item]["gold_answers"][0]


def test_personamem_tells_whole_histories(tmp_path: Path) -> None:
    world.personamem(tmp_path, "128k")
    # As long as the longest published: 700,000 letters in 700 turns.
    turns = [
        {"role": ("user", "assistant")[n % 2], "content": f"turn {n} " + "word " * 198} for n in range(700)
    ]
    path = tmp_path / "shared_contexts_128k.jsonl"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "ctx-c" not in line]
    lines += [json.dumps({"ctx-c": turns}), json.dumps({"unused": "not even a list"})]
    path.write_text("\n".join(lines), encoding="utf-8")
    world.spoil_csv("end_index_in_shared_context", "700", row=3, name="questions_128k.csv")(tmp_path)
    benchmark = open_benchmark("personamem", tmp_path)
    context = benchmark.info.context
    assert context == "history:budget=192000"
    assert "turn 0 " in told(benchmark, context)["personamem/128k/q3"]
    assert "turn 0 " not in told(benchmark, "history")["personamem/128k/q3"]
    assert benchmark.info.controls.contexts == ["none", f"wrong:{context}"]


def test_lamp_becomes_choices(tmp_path: Path) -> None:
    benchmark = open_benchmark("lamp", world.lamp(tmp_path))
    right = right_answers(benchmark)
    assert right["lamp/LaMP_1/10"] == "Stars 0"
    assert right["lamp/LaMP_1/11"] == "Yeast 1"
    assert right["lamp/LaMP_2/21"] == "tag b"
    assert right["lamp/LaMP_3/30"] == "4 out of 5"
    sizes = {item.id: len(item.products) for item in benchmark.items()}
    assert [sizes[f"lamp/LaMP_{task}/{task}0"] for task in (1, 2, 3)] == [2, 15, 5]
    assert "Good. — 5" in told(benchmark, "history")["lamp/LaMP_3/30"]
    assert {row.scores["LaMP_1"] for row in benchmark.published()} >= {62.9, 62.6}
    assert {row.scores.get("LaMP_2") for row in benchmark.published()} >= {38.7}


def test_lamp_tells_four_entries_whole(tmp_path: Path) -> None:
    world.lamp(tmp_path)
    long = [{"id": str(n), "title": f"Dough {n}", "abstract": "dough " * 250} for n in range(6)]
    world.edited(tmp_path / "LaMP_1/dev_questions.json", lambda rows: rows[0].update(profile=long))
    benchmark = open_benchmark("lamp", tmp_path)
    context = told(benchmark, benchmark.info.context)["lamp/LaMP_1/10"]
    assert context.count("dough " * 249) == 4


def test_lamp_reads_the_older_news_and_prefers_the_newer_films(tmp_path: Path) -> None:
    world.lamp(tmp_path / "films")
    news = tmp_path / "all" / "LaMP_2" / "dev"
    sections = "Which section? categories: [women, crime, food & drink] article: Rye is back."
    profile = [{"id": "0", "title": "Rye", "text": "Rye bread.", "category": "food & drink"}]
    world.write(news / "dev_questions.json", [{"id": "1", "input": sections, "profile": profile}])
    world.write(
        news / "dev_outputs.json", {"task": "LaMP_2", "golds": [{"id": "1", "output": "food & drink"}]}
    )
    older = open_benchmark("lamp", tmp_path / "all")
    assert right_answers(older) == {"lamp/LaMP_2/1": "food & drink"}
    assert next(older.items()).slices["task"] == "LaMP_2_news"
    assert "Rye — Rye bread. — food & drink" in told(older, "history")["lamp/LaMP_2/1"]
    for name in ("dev_questions.json", "dev_outputs.json"):
        place = tmp_path / "all" / "LaMP_2" / "new" / "dev" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((tmp_path / "films" / "LaMP_2" / name).read_bytes())
    newer = open_benchmark("lamp", tmp_path / "all")
    assert {item.slices["task"] for item in newer.items()} == {"LaMP_2"}


def test_a_malformed_question_among_hundreds_is_left_out_and_named(tmp_path: Path) -> None:
    world.lamp(tmp_path)
    body = json.loads((tmp_path / "LaMP_3/dev_questions.json").read_text(encoding="utf-8"))
    rows = [{**body[0], "id": str(n)} for n in range(200)]
    rows[110]["input"] = "A review without its question."
    world.write(tmp_path / "LaMP_3/dev_questions.json", rows)
    golds = [{"id": str(n), "output": 4} for n in range(200)]
    world.write(tmp_path / "LaMP_3/dev_outputs.json", {"task": "LaMP_3", "golds": golds})
    benchmark = open_benchmark("lamp", tmp_path)
    assert sum(item.slices["task"] == "LaMP_3" for item in benchmark.items()) == 199
    (note,) = [note for note in benchmark.notes() if "malformed" in note]
    assert "LaMP_3: 1 of 200 questions" in note
    assert "entry 111, field 'input'" in note


def test_rewardbench_in_both_versions_and_helpsteer2(tmp_path: Path) -> None:
    first = open_benchmark("rewardbench", world.rewardbench(tmp_path / "one"))
    assert right_answers(first)["rewardbench/hep-python/5"] == "Better 5"
    assert {item.slices["section"] for item in first.items()} == {"Chat", "Chat Hard", "Reasoning"}
    assert {row.scores["Chat"] for row in first.published()} >= {97.5}
    second = open_benchmark("rewardbench", world.rewardbench2(tmp_path / "two"))
    assert [len(item.products) for item in second.items()] == [4, 4]
    assert {row.scores["Precise IF"] for row in second.published()} >= {41.9}, "by subset, not by section"
    assert "1 rows of the subset Ties" in " ".join(second.notes())
    steered = open_benchmark("helpsteer2", world.helpsteer2(tmp_path / "three"))
    assert list(right_answers(steered).values()) == ["One? 0", "Two? 1"]
    prompts = [item.prompt for item in steered.items()]
    assert prompts == ["One?", "User: Two?\n\nAssistant: Which two?\n\nUser: Both."]


def test_rewardbench_ids_are_kept_though_they_repeat(tmp_path: Path) -> None:
    world.rewardbench(tmp_path)
    for path in (tmp_path / "data").glob("*"):
        path.unlink()
    pair = {"chosen": "a", "rejected": "b", "subset": "mt-bench-easy"}
    rows = [{"prompt": f"Q{n}", "id": number, **pair} for n, number in enumerate((3, 0, 1, 3))]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    names = [item.id.rpartition("/")[2] for item in open_benchmark("rewardbench", tmp_path).items()]
    assert names == ["3", "0", "1", "3.2"]


@pytest.mark.parametrize("name", world.WORLDS)
def test_every_neighbour_runs_with_its_controls(name: str, tmp_path: Path) -> None:
    world.WORLDS[name](tmp_path / "data")
    config = RunConfig(benchmark=name, data=tmp_path / "data", raters=["rule:name"])
    with Store(tmp_path / "store.db") as store:
        finished = run(store, config)
        every = open_report(store, finished.run).results
    results = [result for result in every if result.metric == "accuracy" and not result.slice]
    assert {result.rater for result in results} >= {"rule:name", "rule:length"}
    assert all(result.coverage == 1.0 for result in results)
    benchmark = open_benchmark(name, tmp_path / "data")
    assert benchmark.info.licence
    if name in ("rewardbench", "helpsteer2"):
        assert {result.context for result in results} == {"profile"}
        return
    # Nobody is named: a rule that ties on all answers scores what guessing would, not ½.
    sizes = [len(item.products) for item in benchmark.items()]
    expected = sum(1 / size for size in sizes) / len(sizes)
    blind = [result.value for result in results if result.rater == "rule:name"]
    assert blind == [pytest.approx(expected)] * 3
    debiased = [
        r.value for r in every if r.metric == "accuracy_debiased" and not r.slice and r.rater == "rule:name"
    ]
    assert max(value for value in debiased if value is not None) <= 0.5
    assert {result.control for result in results if result.rater == "rule:length"} == {"longest answer"}


def test_a_reward_model_is_checked_where_nobody_is_known(tmp_path: Path) -> None:
    spec = f"reward:{save_reward(tmp_path / 'model')}"
    for make in (world.rewardbench, world.rewardbench2):
        data = make(tmp_path / make.__name__)
        with Store(tmp_path / "store.db") as store:
            finished = run(store, RunConfig(benchmark="rewardbench", data=data, raters=[spec]))
            results = open_report(store, finished.run).results
        (total,) = [r for r in results if r.rater == spec and r.metric == "accuracy" and not r.slice]
        assert (total.coverage, total.control) == (1.0, None)
        assert total.value is not None
        assert total.value * total.n == pytest.approx(round(total.value * total.n)), "no two scores are equal"


@pytest.mark.parametrize(
    ("name", "repo", "left"),
    [
        ("personamem", "bowen-upenn/PersonaMem-v1", "questions_1M.csv"),
        ("rewardbench", "allenai/reward-bench", "data/raw-00000-of-00001.parquet"),
        ("helpsteer2", "nvidia/HelpSteer2", "preference/preference.jsonl.gz"),
    ],
)
def test_the_hub_copy_is_found_by_name(hub: StubHub, name: str, repo: str, left: str, tmp_path: Path) -> None:
    world.WORLDS[name](tmp_path / "world")
    stored = hub.repos[repo] = Repo()
    stored.files = contents(tmp_path / "world") | {left: b"not for us", "train.jsonl.gz": b""}
    fetched = get(name)
    assert left not in contents(fetched.folder)
    assert next(open_benchmark(name).items())


def test_published_scores_are_shown_as_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.rewardbench(tmp_path / "data")
    invoke(monkeypatch, tmp_path, "run", "rewardbench", "--data", "data", "--out", "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "published, not measured here" in page
    assert "ArmoRM-Llama3-8B-v0.1" in page


def test_check_and_list_know_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.lamp(tmp_path / "data")
    invoke(monkeypatch, tmp_path, "data", "check", "lamp", "--data", "data")
    assert "6 people, 6 items, 6 gold: nothing wrong." in capsys.readouterr().out
    invoke(monkeypatch, tmp_path, "data", "list")
    listed = capsys.readouterr().out
    assert all(name in listed for name in world.WORLDS)
    invoke(monkeypatch, tmp_path, "run", "personamem", code=2)
    assert "data get personamem" in capsys.readouterr().err


def test_an_answer_that_is_right_and_wrong_is_left_out(tmp_path: Path) -> None:
    world.rewardbench(tmp_path)
    row = {"prompt": "Q", "chosen": "a", "rejected": "a", "id": "1"}
    world.only_row(tmp_path, row)
    benchmark = open_benchmark("rewardbench", tmp_path)
    assert list(benchmark.items()) == []
    assert "a wrong answer is the right one word for word: 1." in benchmark.notes()[-1]
