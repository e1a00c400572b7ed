"""Setting studies up: which pages there are, of which kind, and what is refused in a sentence."""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from personafit import Store, UserError
from personafit.api.places import find_run
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.extract.records import (
    ExtractedAttribute,
    StagedConversation,
    StagedTurn,
    StageFile,
    write_lines,
)
from personafit.label import ExtraPages, Studies, StudyConfig, make_study
from personafit.label.agreement import study_source
from personafit.label.forms import FORMS
from personafit.label.making import StudySetup, stratified
from personafit.label.records import Arrangement, Page, Role
from personafit.label.texts import QUIZZES, TEXTS
from tests.label.served import starter_store
from tests.scripted import invoke


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of its own."""
    with Store(starter_store(tmp_path / "store.db")) as opened:
        yield opened


def make(
    store: Store,
    question: str | None,
    source: str = "starter",
    count: int | None = 3,
    stratify: str | None = None,
    besides: ExtraPages = ExtraPages(),
    **config: object,
) -> StudySetup:
    settings = StudyConfig.model_validate({"overlap": 2, "seats": 2, "source": source} | config)
    return make_study(
        store, "s", source, question, settings, find_run, stratify=stratify, count=count, besides=besides
    )


def pages(store: Store, *roles: Role) -> list[Page]:
    return Studies(store).pages("s", roles or tuple(Role))


def test_practice_gold_and_attention_are_besides_the_items(store: Store) -> None:
    made = make(store, "fit", besides=ExtraPages(2, attention=1, practice=2))
    assert made.pages == 3
    assert Counter(page.role for page in pages(store)) == {
        Role.ITEM: 3, Role.GOLD: 2, Role.PRACTICE: 2, Role.ATTENTION: 1,
    }  # fmt: skip
    practice = pages(store, Role.PRACTICE)
    assert all(item.startswith("practice/") for page in practice for item in page.items), (
        "practice never counts"
    )
    assert all(page.key and page.why for page in practice)
    shown = {page.id.removeprefix("practice/") for page in pages(store)}
    assert len(shown) == 8, "nothing is asked twice"
    for seat in (0, 1):
        first = Studies(store).assigned("s", seat)[:2]
        assert {one.page for one in first} == {page.id for page in practice}, "practice comes first"


@pytest.mark.parametrize("name", [name for name in FORMS if name != "chat"])
def test_attention_pages_can_be_answered_rightly(name: str) -> None:
    form = FORMS[name]
    for language in TEXTS:
        page = form.attention(1, language)
        for seed in range(3):
            arrangement = Arrangement.drawn(page, f"r{seed}", seed)
            for field in form.fields(page, arrangement):
                if field.required:
                    answers = (form.answered(page, arrangement, field, one.value) for one in field.options)
                    labels = {answer.label for answer in answers if answer}
                    assert form.right(page, field) in labels


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_choice_is_stored_as_the_answer_that_stood_under_the_letter(count: int) -> None:
    form = FORMS["fit"]
    page = Page(
        id="p", items=["i"], sides=count, content={"profile": "", "prompt": "?", "answers": [*"wxyz"][:count]}
    )
    orders = set()
    for rater in range(20):
        arrangement = Arrangement.drawn(page, f"r{rater}", 0)
        orders.add(arrangement.order)
        (field,) = form.fields(page, arrangement)
        texts = {one["letter"]: one["text"] for one in form.shown(page, arrangement)["answers"]}
        for option in field.options:
            answered = form.answered(page, arrangement, field, option.value)
            assert answered is not None
            assert page.content["answers"][int(answered.label or "")] == texts[option.value]
            assert (answered.value is None) == (count > 2)
    assert len(orders) > 1


@pytest.mark.parametrize(("sides", "stored"), [([0, 1], "5"), ([1, 0], "1")])
def test_a_mark_for_b_is_turned_where_b_is_the_generic_answer(sides: list[int], stored: str) -> None:
    form = FORMS["preference"]
    content = {
        "prompt": "?",
        "answers": ["generic", "personal"],
        "attributes": ["likes tea"],
        "reasons": [None],
    }
    page = Page(id="p", items=["i"], sides=2, places=1, targets=["a"], content=content)
    arrangement = Arrangement(sides=sides, places=[0])
    (field,) = form.fields(page, arrangement)
    assert form.shown(page, arrangement)["answers"][1]["text"] == ("personal" if stored == "5" else "generic")
    assert form.answered(page, arrangement, field, "5") == (stored, float(stored))
    assert field.target == "a"


def test_pages_are_keyed_by_the_gold_that_the_benchmark_names(store: Store, tmp_path: Path) -> None:
    """Others may have said something too, such as models whose votes were published beside it."""
    folder = tmp_path / "bench"
    shutil.copytree(STARTER, folder)
    gold = [orjson.loads(line) for line in (folder / "gold.jsonl").read_bytes().splitlines()]
    right = {row["item"]: row["label"] for row in gold if row["question"] == "fit"}
    others = [
        {"item": item, "question": "fit", "rater": "zeta", "label": str(1 - int(label))}
        for item, label in right.items()
    ]
    (folder / "gold.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in [*gold, *others]))
    make(store, "fit", str(folder), count=None)
    assert {page.id: page.key["fit"] for page in pages(store)}.items() <= right.items()


def test_the_answer_that_a_run_tested_is_not_known_to_be_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    row = {"question": "What on Sunday?", "answer": "A short hike.", "generic": "Read a book."}
    people = [{"person": {"id": name, "job": "nurse"}} for name in ("ann", "bob")]
    log.write_bytes(b"".join(orjson.dumps(row | one) + b"\n" for one in people))
    url = str(tmp_path / "store.db")
    invoke(monkeypatch, tmp_path, "run", str(log), "--rater", "rule:length", "--store", url)
    with Store(url) as store, pytest.raises(UserError, match="only 0 more pages have a known answer"):
        make(store, "fit", "last", count=1, besides=ExtraPages(1))


def test_who_was_forgotten_does_not_come_back_with_their_conversations(store: Store) -> None:
    make(store, "attributes", count=1)
    store.forget("joel", elsewhere=True)
    settings = StudyConfig(overlap=1, seats=1, source="starter")
    make_study(store, "t", "starter", "attributes", settings, find_run)
    people = {page.person for page in Studies(store).pages("t")}
    assert people
    assert "joel" not in people


def test_raters_get_texts_in_the_language_they_read(store: Store) -> None:
    made = make(store, "fit", count=None, language="zh")
    people = store.languages(Studies(store).study("s").dataset)
    assert {people[page.person] for page in pages(store)} == {"zh"}
    assert "143 pages in other languages are left out" in made.notes[0]


def test_the_question_follows_from_the_items(store: Store, tmp_path: Path) -> None:
    assert make(store, None).form == "fit"
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "text": "Plan a trip."}\n{"id": "b", "text": "Plan a party."}\n')
    settings = StudyConfig(overlap=1, seats=1, model="replay:none.jsonl", source=str(tasks))
    attacked = make_study(store, "attacked", "injection", None, settings, find_run, count=2)
    assert (attacked.form, attacked.pages) == ("fit", 2), "items of hostile text are choices"
    made = make_study(store, "talk", str(tasks), None, settings, find_run)
    assert (made.form, made.pages) == ("chat", 2)
    study = Studies(store).study("talk")
    assert (study.config.perspective, study.dataset) == ("self", "chat@talk")


def test_what_stages_wrote_can_be_asked_about(store: Store, tmp_path: Path) -> None:
    files = StageFile(tmp_path)
    turns = [StagedTurn(role="user", text="I keep bees.")]
    write_lines(files.conversations, [StagedConversation(id="c1", person="p", turns=turns)])
    found = {"person": "p", "confidence": 1, "conversation": "c1"}
    write_lines(
        files.attributes, [ExtractedAttribute(id="a1", text="Keeps bees.", evidence=["c1#0"], **found)]
    )
    assert make(store, None, str(tmp_path)).form == "attributes"
    (page,) = pages(store)
    assert (page.id, page.items, page.key) == ("c1", ["a1"], {})
    assert study_source(Studies(store), "s").raters == {}, "it is no data set of the store, and has no gold"


@pytest.mark.parametrize(
    ("question", "source", "besides", "said"),
    [
        ("dialogue", "starter", ExtraPages(), "name one with --from RUN"),
        ("chat", "own", ExtraPages(), "needs --model SPEC"),
        ("grade", "starter", ExtraPages(gold=1), "only 0 more pages have a known answer"),
        ("which", "starter", ExtraPages(), "there are fit, grade, dialogue"),
    ],
)
def test_what_cannot_be_made_is_said(
    store: Store, question: str, source: str, besides: ExtraPages, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        make(store, question, source, besides=besides)
    assert Studies(store).names() == []


def test_a_faulty_line_of_tasks_is_named(store: Store, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "text": "Plan a trip."}\n{"id": "b"}\n')
    with pytest.raises(UserError, match=r"tasks\.jsonl, line 2, field 'text'"):
        make(store, "chat", str(tasks), model="replay:none.jsonl")


def test_a_sample_of_a_run_is_even_over_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = tmp_path / "store.db"
    command = ("run", "starter", "--rater", "rule:length", "--context", "profile", "--store", str(url))
    invoke(monkeypatch, tmp_path, *command)
    with Store(url) as store:
        with pytest.raises(UserError, match="there are: accuracy"):
            make(store, "fit", source="last", stratify="beauty")
        with pytest.raises(UserError, match="say how many with --limit"):
            make(store, "fit", source="last", count=None, stratify="accuracy")
        make(store, "fit", source="last", count=20, stratify="accuracy", language="en")
        kept = pages(store, Role.ITEM)
        assert len(kept) == 20
        right = Counter(_longer_is_right(store, page) for page in kept)
        assert min(right.values()) >= 5, "a rule that is mostly wrong or right is seen to be both"


def _longer_is_right(store: Store, page: Page) -> bool:
    lengths = [len(answer) for answer in page.content["answers"]]
    return page.key["fit"] == str(lengths.index(max(lengths)))


def test_strata_are_served_in_turn() -> None:
    values = {f"low-{n}": 1.0 for n in range(90)} | {f"high-{n}": 4.0 for n in range(10)}
    chosen = stratified(values, 10, seed=0)
    assert Counter(one.partition("-")[0] for one in chosen) == {"low": 5, "high": 5}
    assert {one.partition("-")[0]: weight for one, weight in chosen.items()} == {"low": 18.0, "high": 2.0}
    assert sum(chosen.values()) == len(values), "the drawn stand for all"
    assert stratified(values, 10, seed=0) == chosen
    assert stratified(values, 10, seed=1) != chosen


def test_every_form_has_guidelines_and_a_check_in_both_languages() -> None:
    assert set(QUIZZES["en"]) == set(QUIZZES["zh"]) == {*FORMS, "question"}
    for name, form in FORMS.items():
        if not form.as_models and name != "screen":  # there is no answer there that could mention anything
            assert "mention is not merit" in form.guidelines["en"].lower()
            assert "提到不等于贴合" in form.guidelines["zh"]
        english, chinese = QUIZZES["en"][name], QUIZZES["zh"][name]
        assert [one["right"] for one in english] == [one["right"] for one in chinese]
        assert all(0 <= one["right"] < len(one["options"]) for one in english)
