"""PersonaLens as published, read and put right; small worlds of our own, and the real thing where it is at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit import Store, UserError
from personafit.benchmarks import ingest
from personafit.benchmarks.personalens import PersonaLens, open_tasks
from personafit.benchmarks.tasks import FolderTasks
from personafit.people import Task
from personafit.simulate import task_items
from tests.benchmarks.published_lens import ONTOLOGY, profile, task, write_json, write_lens, write_user
from tests.conftest import Command
from tests.simulate.talking import write_tasks

SHARED = Path(__file__).parents[3] / "shared" / "data" / "personalens"


def repairs(folder: Path) -> dict[str, tuple[int, list[str]]]:
    """What was put right, by kind."""
    return {row["kind"]: (row["count"], row["users"]) for row in PersonaLens(folder).repairs()}  # type: ignore[misc]


def tasks_of(folder: Path, user: str) -> dict[str, Task]:
    """One user's tasks by id."""
    return {task.id: task for task in PersonaLens(folder).tasks() if task.person == user}


def test_people_are_what_they_care_about(tmp_path: Path) -> None:
    benchmark = PersonaLens(write_lens(tmp_path))
    person, tasks = benchmark.users[0]
    assert list(person.facets) == [
        "Demographics.age",
        "Books.Genre",
        "Books.Favourite Authors",
        "Books.Format",
        "Music.Genre",
        "Music.Favorite Bands",
    ]
    assert person.summaries == {"Books": "user0 talks about books.", "Music": "user0 talks about music."}
    assert [task.id for task in tasks] == [
        "SD-Books-task-1",
        "SD-Books-task-2",
        "SD-Music-task-1",
        "MD-task-1",
    ]
    assert [task.kind for task in tasks] == ["SD", "SD", "SD", "MD"]
    assert tasks[0].preferences == ["Books.Genre", "Books.Favourite Authors"]
    assert tasks[3].preferences == ["Books.Genre", "Music.Genre"]
    assert benchmark.info.metrics["closed_values"]["Food.Spice"] == ("mild", "hot")
    assert "Music.Favorite Bands" not in benchmark.info.metrics["closed_values"]


def test_a_regular_world_has_only_the_repairs_of_its_definitions(tmp_path: Path) -> None:
    both = ["user0", "user1"]
    assert repairs(write_lens(tmp_path)) == {
        "reference spelling": (2, both),
        "reference shared": (2, both),
        "reference unknown": (2, both),
        "value missing": (2, both),
    }


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("interest name", {"interests": {"Books": 1, "Music": 1, "Food**": 0}}),
        ("domain order", {"interests": {"Music": 1, "Books": 1, "Food": 0}}),
        ("reference changed", {"named": ("Genre", "Genre")}),
        ("value empty", {"affinities": profile("x")["affinities"] | {"Food": {"Diet": [], "Spice": "hot"}}}),
        ("value case", {"affinities": profile("x")["affinities"] | {"Food": {"Diet": [], "Spice": "Hot"}}}),
        ("value foreign", {"affinities": profile("x")["affinities"] | {"Food": {"Diet": [], "Spice": "none"}}}),
        ("situation brackets", {"situation": {"Environment": "[Quiet]"}}),
        ("situation placeholder", {"situation": {"Location": "[Home town], Portugal"}}),
        ("situation wording", {"situation": {"Time of Day": "Monday Afternoon"}}),
        ("situation unclear", {"situation": {"Day of the Week": "Friday or Saturday"}}),
        ("preamble", {"interactions": dict.fromkeys(ONTOLOGY, "Here is a summary of the talks:\n\nShe reads.")}),
        ("summary placeholder", {"interactions": dict.fromkeys(ONTOLOGY, "She likes [book title] a lot.")}),
    ],
)  # fmt: skip
def test_each_irregularity_is_counted_with_its_user(
    tmp_path: Path, kind: str, change: dict[str, Any]
) -> None:
    write_user(write_lens(tmp_path), "user2", **change)
    assert repairs(tmp_path)[kind][1] == ["user2"]


def test_what_can_be_put_right_is(tmp_path: Path) -> None:
    situation = {
        "Environment": "[Quiet]",
        "Location": "[Your city]",
        "Time of Day": "Mid-afternoon (around 2 PM)",
        "Device": "Gaming laptop",
        "Day of the Week": "Weekday (e.g., Tuesday)",
    }
    affinities = profile("x")["affinities"]
    affinities["Books"] = {"Genre": ["Crime", "haiku"], "Favourite Authors": [], "Format": "paper"}
    summary = "Based on the profile, here is a realistic summary:\n\nShe reads.\n\nA lot: daily."
    write_user(
        write_lens(tmp_path),
        "user2",
        situation=situation,
        affinities=affinities,
        interactions=dict.fromkeys(ONTOLOGY, summary),
        named=("Genre", "Genre"),
    )
    tasks = tasks_of(tmp_path, "user2")
    assert tasks["SD-Books-task-1"].situation == {
        "Device": "Gaming Laptop",
        "Time of Day": "Afternoon",
        "Day of the Week": "Weekday (e.g., Tuesday)",  # not guessed
        "Environment": "Quiet",
    }
    assert tasks["SD-Books-task-1"].preferences == [
        "Books.Genre"
    ]  # nobody is the favourite: nothing to look for
    assert tasks["MD-task-1"].preferences == ["Books.Genre", "Music.Genre"]  # as defined, not as damaged
    person = next(person for person in PersonaLens(tmp_path).people() if person.id == "user2")
    assert person.facets["Books.Genre"] == ["crime", "haiku"]
    assert "Books.Favourite Authors" not in person.facets
    assert person.summaries["Books"] == "She reads.\n\nA lot: daily."


def test_users_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write_user(write_lens(tmp_path), "user10")
    write_user(tmp_path, "user9")
    assert [person.id for person in PersonaLens(tmp_path).people()] == ["user0", "user1", "user9", "user10"]


def test_faults_name_their_place(tmp_path: Path) -> None:
    folder = write_lens(tmp_path)
    home = folder / "data" / "profile" / "user1"

    def fails(message: str) -> None:
        with pytest.raises(UserError, match=message):
            _ = PersonaLens(folder).users
        write_user(folder, "user1")

    write_json(home / "tasks.json", {"Task 1": task("SD-Books-task-9", ("Books",), ("Genre",))})
    fails(r"tasks.json, field 'Task 1.task_id': no task 'SD-Books-task-9' is defined")
    again = task("SD-Books-task-1", ("Books",), ("Genre",))
    write_json(home / "tasks.json", {"Task 1": again, "Task 2": again})
    fails("tasks.json, field 'Task 2.task_id': 'SD-Books-task-1' occurs twice")
    write_json(home / "tasks.json", {"Task 1": again | {"situations": 3}})
    fails("tasks.json, Task 1, field 'situations' must be an object, not")
    write_json(home / "profile.json", profile("user1", interests={"Chess": 1}))
    fails("knows no domain 'Chess'")
    (home / "profile.json").write_text("{", encoding="utf-8")
    fails("profile.json is not JSON")
    write_json(home / "tasks_md.json", {"Task 1": None})
    fails("tasks_md.json, Task 1 must be an object, not null")
    definitions = folder / "data" / "task" / "Multi-Domain" / "task.jsonl"
    definitions.write_text(definitions.read_text().replace('"Music"', '"Chess"'), encoding="utf-8")
    fails("line 1: the ontology knows no domain 'Chess'")
    (folder / "res" / "schema.json").write_text('[{"name": "x"}]', encoding="utf-8")
    fails("schema.json, entry 1, field 'domain' is missing")
    (folder / "res" / "schema.json").unlink()
    fails("holds no data of personalens: expected res/schema.json")


def test_tasks_go_into_the_store_and_come_back(tmp_path: Path) -> None:
    benchmark = PersonaLens(write_lens(tmp_path / "lens"))
    with Store(tmp_path / "store.db") as store:
        dataset = ingest(store, benchmark)
        assert [item.task for item in task_items(store, dataset)] == list(benchmark.tasks())
        chosen = frozenset(["user1/MD-task-1"])
        assert [item.id for item in task_items(store, dataset, chosen)] == sorted(chosen)
        info = store.dataset_info(dataset)
        assert info["metrics"]["closed_values"]["Books.Genre"] == ["crime", "poetry"]
        assert any("that none of the task's domains has, left out: " in note for note in info["notes"])


def test_folders_and_the_starter_set_are_read_alike(tmp_path: Path) -> None:
    folder = open_tasks(write_tasks(tmp_path / "mine"))
    assert isinstance(folder, FolderTasks)
    assert [(person.id, len(tasks)) for person, tasks in folder.users] == [("p0", 2), ("p1", 2), ("p2", 2)]
    shipped = open_tasks(Path("starter"))
    people = {person.id: (person, tasks) for person, tasks in shipped.users}
    assert {task.kind for _, tasks in people.values() for task in tasks} == {"SD", "MD"}
    for person, tasks in people.values():
        for each in tasks:
            assert set(each.domains) <= set(person.summaries)
            assert set(each.preferences) <= set(person.facets)
    assert shipped.info.metrics["closed_values"]
    (tmp_path / "mine" / "tasks.jsonl").unlink()
    with pytest.raises(UserError, match="holds no data of personalens"):
        open_tasks(tmp_path / "mine")


def test_the_check_names_users_and_counts_everything(personafit: Command, tmp_path: Path) -> None:
    write_user(write_lens(tmp_path), "user2", named=("Genre",))
    said = personafit("data", "check", "personalens", "--data", str(tmp_path), "--json").out
    body = json.loads(said)
    assert body["counts"] == {"people": 3, "SD": 9, "MD": 3}
    assert body["users"]["user2"] == {"SD": 3, "MD": 1}
    assert {row["kind"]: row["users"] for row in body["repairs"]}["reference changed"] == ["user2"]
    assert body["problems"] == []


def test_a_copy_without_tasks_of_one_sort_is_read_and_says_so(tmp_path: Path) -> None:
    folder = write_lens(tmp_path)
    before = {person.id: len(tasks) for person, tasks in PersonaLens(folder).users}
    (folder / "data" / "profile" / "user1" / "tasks_md.json").unlink()
    benchmark = PersonaLens(folder)
    after = {person.id: len(tasks) for person, tasks in benchmark.users}
    assert before["user1"] > after.pop("user1") > 0
    assert after == {person: count for person, count in before.items() if person != "user1"}
    assert any(
        "whose tasks of this sort are not in the copy: 1 (user1)." in note for note in benchmark.notes()
    )


def test_the_check_lists_every_fault_and_goes_on(personafit: Command, tmp_path: Path) -> None:
    folder = write_lens(tmp_path)
    profiles = folder / "data" / "profile"
    write_user(
        folder, "user2", affinities=profile("x")["affinities"] | {"Food": None}, interactions={"Books": 1}
    )
    unknown = task("SD-Books-task-9", ("Books",), ("Genre",))
    sound = task("SD-Books-task-1", ("Books",), ("Genre",))
    write_json(profiles / "user1" / "tasks.json", {"Task 1": unknown, "Task 2": sound})
    (profiles / "user1" / "tasks_md.json").write_text("[]", encoding="utf-8")
    (profiles / "user0" / "profile.json").write_text("{", encoding="utf-8")
    definitions = folder / "data" / "task" / "Multi-Domain" / "task.jsonl"
    first, second = definitions.read_text().splitlines()
    definitions.write_text(f"{first}\n{second.replace('Food', 'Chess')}\n", encoding="utf-8")
    command = ("data", "check", "personalens", "--data", str(folder), "--json")
    body = json.loads(personafit(*command, code=1).out)
    assert [fault.removeprefix(f"{folder}/data/") for fault in body["problems"]] == [
        "profile/user0/profile.json is not JSON (unexpected end of data: line 1 column 2 (char 1)).",
        "task/Multi-Domain/task.jsonl, line 2: the ontology knows no domain 'Chess'.",
        "profile/user1/tasks.json, field 'Task 1.task_id': no task 'SD-Books-task-9' is defined in data/task.",
        "profile/user1/tasks_md.json must be a JSON object, not a list.",
        "profile/user2/profile.json, field 'affinities.Food' must be an object, not null.",
        "profile/user2/profile.json, field 'interactions.Books' must be a text, not a number.",
    ]


def test_numbers_and_nothing_in_a_profile_are_counted_and_stop_nobody(tmp_path: Path) -> None:
    folder = write_lens(tmp_path)
    own = profile("user2")
    write_user(
        folder,
        "user2",
        affinities=own["affinities"] | {"Books": {"Genre": [None, "crime"], "Pages": 300, "Format": None}},
        demographics=own["demographics"] | {"age": 31, "religion": None},
        interactions={"Books": None},
        situation={"Device": None, "Guests": 4},
    )
    (person,) = (one for one in PersonaLens(folder).people() if one.id == "user2")
    about_books = {path: value for path, value in person.facets.items() if not path.startswith("Music.")}
    assert about_books == {"Demographics.age": "31", "Books.Genre": ["crime"], "Books.Pages": "300"}
    situation = tasks_of(folder, "user2")["SD-Books-task-1"].situation
    assert (situation["Guests"], "Device" in situation) == ("4", False)
    found = repairs(folder)
    assert found["value number"] == (3, ["user2"])
    assert found["value empty"] == (1, ["user2"])
    assert found["situation placeholder"] == (1, ["user2"])


def test_lists_and_objects_where_texts_belong_are_counted_and_stop_nobody(tmp_path: Path) -> None:
    folder = write_lens(tmp_path)
    own = profile("user2")
    write_user(
        folder,
        "user2",
        affinities=own["affinities"] | {"Books": {"Genre": {"Fiction": ["crime", ["war"]], "Other": None}}},
        demographics=own["demographics"] | {"nationality": ["Chile", "Peru"]},
        situation={"Guests": {"family": 2, "friends": "a few"}},
    )
    (person,) = (one for one in PersonaLens(folder).people() if one.id == "user2")
    assert person.facets["Books.Genre"] == ["crime", "war"]
    assert person.facets["Demographics.nationality"] == "Chile, Peru"
    assert tasks_of(folder, "user2")["SD-Books-task-1"].situation["Guests"] == "2, a few"
    assert repairs(folder)["value nested"] == (3, ["user2"])


def test_folders_of_tools_beside_the_people_are_no_people(tmp_path: Path) -> None:
    folder = write_lens(tmp_path / "lens")
    before = len(PersonaLens(folder).users)
    (folder / "data" / "profile" / ".ipynb_checkpoints").mkdir()
    assert len(PersonaLens(folder).users) == before > 0


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published PersonaLens data is not at hand")
def test_thirty_published_users() -> None:
    benchmark = PersonaLens(SHARED)
    kinds = [task.kind for _, tasks in benchmark.users for task in tasks]
    assert (kinds.count("SD"), kinds.count("MD")) == (1960, 481)
    found = {row["kind"]: row for row in benchmark.repairs()}
    assert found["interest name"]["users"] == ["user874"]
    assert found["domain order"]["users"] == ["user300", "user874"]
    assert found["reference changed"]["users"] == ["user217"]
    assert found["situation placeholder"]["users"] == ["user723"]
    assert found["preamble"]["count"] == 12
    resolved = {task.id: task.preferences for _, tasks in benchmark.users for task in tasks}
    assert "Books.Favourite Authors" in resolved["SD-Books-task-1"]
    assert "Media.Preferred Genres" in resolved["MD-task-4"]
    assert all(preferences for preferences in resolved.values())
