"""From a build to raters and back: what most of them drop is replaced, the rest stays, and the card says so."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from personafit import Store, UserError
from personafit.api.places import find_run
from personafit.build.review import describe_review, read_review, write_review
from personafit.label import (
    ExtraPages,
    Studies,
    StudyConfig,
    decide_item,
    make_study,
    simulate_votes,
    write_decisions,
)
from personafit.label.records import Arrangement, Page
from tests.build.builds import calls, lines, own_writer, run_build
from tests.build.questions.asking import write_questions
from tests.conftest import Command
from tests.label.served import RaterClient, invitation, serving_here

Votes = Mapping[str, str | None]


@pytest.fixture(scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("screened")
    config = write_questions(
        folder, "specific = 2\ngeneral = 0\nsimilarity = 1.0\n", quota=3, languages='["en", "zh"]'
    )
    with own_writer(folder):
        run_build(config, folder / "out")
    return folder


@pytest.fixture
def out(_built: Path, tmp_path: Path) -> Iterator[Path]:
    """A build of three people, one of them in Chinese, with two questions each: a copy of its own."""
    shutil.copytree(_built, tmp_path, dirs_exist_ok=True)
    with own_writer(tmp_path):
        yield tmp_path / "out"


@pytest.fixture
def studies(tmp_path: Path) -> Iterator[Studies]:
    with Store(tmp_path / "store.db") as opened:
        yield Studies(opened)


def screen(studies: Studies, out: Path, name: str = "screening", **config: Any) -> list[Page]:
    """A study of a build."""
    settings = StudyConfig(**{"overlap": 3, "seats": 3, "check": False} | config)
    make_study(studies.store, name, str(out), None, settings, find_run)
    return studies.pages(name)


def vote(
    studies: Studies, address: str, seat: int, votes: Votes, reason: str = "", study: str = "screening"
) -> None:
    """Have a rater answer every page; what is not among the votes is kept, and None is 'can't tell'."""
    form = studies.form(study)
    with RaterClient(address, invitation(str(studies.store.url), study, seat)) as rater:
        for one in studies.assigned(study, seat):
            for field in form.fields(studies.page(study, one.page), one.arrangement):
                if field.kind == "choice":
                    said = votes.get(field.item, "keep")
                    more = {} if said else {"why": "cannot tell"}
                    reply = rater.answer(one.position, said, field.code, **more)
                elif reason and votes.get(field.item) == "drop":
                    reply = rater.answer(one.position, reason, field.code)
                assert reply.status_code == 200, reply.text


def test_what_most_raters_drop_is_replaced_and_the_card_says_so(
    out: Path, tmp_path: Path, personafit: Command
) -> None:
    store = ("--store", "store.db")
    made = personafit("label", "new", "screening", "--from", "out", "--overlap", "3", "--no-quiz", *store)
    assert "2 pages (screen), 3 raters each" in made.out
    assert "1 page in another language is left out" in made.err
    with Store(tmp_path / "store.db") as opened:
        studies = Studies(opened)
        (first, second) = studies.pages("screening")
        gone, other = first.person, second.items[0]
        tied, bad = second.items[1], other
        with serving_here(tmp_path / "store.db") as server:
            vote(studies, server.address, 0, {gone: "drop", bad: "drop", tied: "drop"}, "too good to be true")
            vote(studies, server.address, 1, {gone: "drop", bad: "drop"})
            vote(studies, server.address, 2, {bad: "drop", tied: None})
    told = personafit("label", "export", "screening", "--benchmark", "out", *store)
    assert "1 of 2 people and 1 of 4 questions are marked as dropped" in told.out
    assert "1 are tied and so kept" in told.err
    row = read_review(out, "people")[gone]
    assert sorted(row["votes"].values()) == ["drop", "drop", "keep"]
    assert all(re.fullmatch(r"human:r-[0-9a-f]{8}", rater) for rater in row["votes"])
    assert row["reasons"] == ["too good to be true"]
    asked = calls(tmp_path)
    assert run_build(tmp_path / "build.toml", out).done == ["people", "questions"]
    assert calls(tmp_path) > asked
    people = {one["id"] for one in lines(out / "people.jsonl")}
    assert len(people) == 3
    assert gone not in people
    keys = {one["key"] for one in lines(out / "steps/questions/questions.jsonl")}
    assert len(keys) == 6
    assert bad not in keys
    assert tied in keys, "a tie keeps"
    dropped = [one["id"] for one in lines(out / "rejected.jsonl") if one["reason"] == "dropped in review"]
    assert set(dropped) == {gone, bad}
    card = (out / "card.md").read_text(encoding="utf-8")
    # The new person and the one of the other language were seen by nobody; questions of who is gone are gone.
    assert "| people | 3 | 2 | 6 | 1 | 0 | 2 | 67% | 0.38 |" in card
    assert "| questions | 3 | 2 | 5 | 1 | 0 | 5 |" in card
    assert "simulated" not in card.partition("## Screening by people")[2].partition("##")[0]
    again = personafit("label", "export", "screening", "--benchmark", "out", *store)
    assert "1 of 2 people and 1 of 2 questions" in again.out, "the same study once more"
    assert run_build(tmp_path / "build.toml", out).done == []
    (fresh,) = (
        people - {one["id"] for one in lines(out / "review/people.jsonl") if "votes" in one} - _other(out)
    )
    personafit("label", "new", "again", "--from", "out", "--overlap", "3", *store)
    with Store(tmp_path / "store.db") as opened:
        assert fresh in {page.person for page in Studies(opened).pages("again")}
        assert gone not in {page.person for page in Studies(opened).pages("again")}


def _other(out: Path) -> set[str]:
    return {one["id"] for one in lines(out / "review/people.jsonl") if one.get("language") == "zh"}


def test_a_page_has_the_person_each_question_and_a_reason_for_each(out: Path, studies: Studies) -> None:
    (page, _) = screen(studies, out)
    form = studies.form("screening")
    fields = form.fields(page, Arrangement(places=[1, 0]))
    assert [(one.code, one.item) for one in fields if one.kind == "choice"] == [
        ("screen.person", page.person),
        ("screen.question.1", page.items[1]),
        ("screen.question.2", page.items[0]),
    ]
    assert [one.item for one in fields[::2]] == [one.item for one in fields[1::2]]
    assert all(one.kind == "text" and not one.required for one in fields[1::2])
    assert [option.key for option in fields[0].options] == ["1", "2"]
    assert form.shown(page, Arrangement.stored(page)).keys() == {"profile"}


def test_a_long_list_of_questions_goes_on_on_a_page_that_asks_nothing_about_the_person(
    out: Path, studies: Studies
) -> None:
    person = next(iter(read_review(out, "people")))
    rows = [{"id": f"{person}/s{n}", "person": person, "question": f"What about {n}?"} for n in range(41)]
    write_review(out, "questions", rows)
    first, second, *_ = screen(studies, out)
    assert (len(first.items), len(second.items)) == (41, 1)
    assert second.person == person
    form = studies.form("screening")
    assert {one.question for one in form.fields(second, Arrangement.stored(second))} == {
        "screen.question",
        "screen.reason",
    }


def test_simulated_raters_and_attention_pages_and_decisions(out: Path, studies: Studies) -> None:
    settings = StudyConfig(overlap=4, seats=4, check=False, simulated=True)
    besides = ExtraPages(attention=1)
    make_study(studies.store, "dry", str(out), None, settings, find_run, besides=besides)
    simulate_votes(studies.store, "dry")
    found = write_decisions(studies, "dry", out)
    queue = {**read_review(out, "people"), **read_review(out, "questions")}
    assert all(rater.startswith("simulated:") for row in queue.values() for rater in row.get("votes", {}))
    assert "**4 of the raters are simulated**" in describe_review(out)
    split = next(key for key, row in queue.items() if len(set(row.get("votes", {}).values())) > 1)
    for label in ("keep", "drop"):
        decide_item(studies, "dry", split, label)
        write_decisions(studies, "dry", out)
        row = ({**read_review(out, "people"), **read_review(out, "questions")})[split]
        assert row["decision"] == ("drop" if label == "drop" else ""), "the researcher's word counts"
    assert found["people"].screened == 2


def test_drops_by_hand_stay_and_are_counted_apart(out: Path, studies: Studies) -> None:
    screen(studies, out, simulated=True)
    simulate_votes(studies.store, "screening")
    path = out / "review" / "people.jsonl"
    rows = [{**row, "decision": "drop"} for row in lines(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write_decisions(studies, "screening", out)
    assert all(row["decision"] == "drop" for row in read_review(out, "people").values())
    assert "| people | 3 | 2 | 6 | 2 | 1 | 0 |" in describe_review(out)


def test_votes_stay_with_the_text_that_they_are_about(out: Path) -> None:
    rows = list(read_review(out, "questions").values())
    rows[0]["votes"] = rows[1]["votes"] = {"human:r-1": "keep"}
    (out / "review" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fresh = [{"id": row["id"], "person": row["person"], "question": row["question"]} for row in rows]
    fresh[1]["question"] = "Something else?"
    write_review(out, "questions", fresh)
    after = list(read_review(out, "questions").values())
    assert ["votes" in row for row in after[:2]] == [True, False]


def test_one_rater_alone_has_no_agreement(out: Path, studies: Studies) -> None:
    screen(studies, out, overlap=1, seats=1, simulated=True)
    simulate_votes(studies.store, "screening")
    write_decisions(studies, "screening", out)
    assert "| – | – |" in describe_review(out)


def test_a_folder_that_is_no_build_is_a_sentence(out: Path, studies: Studies, tmp_path: Path) -> None:
    for folder in ("starter", str(tmp_path / "nowhere")):
        with pytest.raises(
            UserError, match=r"is no folder in which `personafit build` has made people: it has no review"
        ):
            make_study(studies.store, "none", folder, "screen", StudyConfig(), find_run)
    screen(studies, out, simulated=True)
    simulate_votes(studies.store, "screening")
    with pytest.raises(UserError, match="is no folder in which"):
        write_decisions(studies, "screening", tmp_path)


def test_a_study_of_another_build_decides_nothing(out: Path, studies: Studies) -> None:
    screen(studies, out, simulated=True)
    with pytest.raises(UserError, match="screening has no votes yet"):
        write_decisions(studies, "screening", out)
    simulate_votes(studies.store, "screening")
    queue = out / "review" / "people.jsonl"
    before = queue.read_text(encoding="utf-8")
    first = lines(queue)[0]
    for changed, said in (
        (before.replace(first["person"]["Name"], "Somebody Else"), "which is another in"),
        (before.replace(first["id"], "p999999"), "which is not in"),
    ):
        queue.write_text(changed, encoding="utf-8")
        with pytest.raises(UserError, match=rf"asks about '{first['id']}', {said}.*another build"):
            write_decisions(studies, "screening", out)
        assert queue.read_text(encoding="utf-8") == changed
    queue.write_text(before, encoding="utf-8")
    make_study(studies.store, "fitting", "starter", "fit", StudyConfig(overlap=1, seats=1), find_run, count=1)
    with pytest.raises(UserError, match="fitting asks fit and screens nothing"):
        write_decisions(studies, "fitting", out)


@pytest.mark.parametrize("votes", ["3", '{"human:r-1": "maybe"}', '["drop"]'])
def test_votes_that_are_none_are_a_sentence(out: Path, votes: str) -> None:
    (out / "review" / "people.jsonl").write_text(f'{{"id": "p1", "votes": {votes}}}\n', encoding="utf-8")
    with pytest.raises(
        UserError, match=r"people.jsonl, line 1, field 'votes': must be keep or drop by rater"
    ):
        run_build(out.parent / "build.toml", out)
