"""A small world in the published layout of PersonaLens, in words of our own, with every irregularity it is known for."""

import json
from pathlib import Path
from typing import Any

Attributes = dict[str, tuple[bool, bool, list[str]]]
Names = tuple[str, ...]

ONTOLOGY: dict[str, Attributes] = {
    "Books": {
        "Genre": (True, True, ["crime", "poetry"]),
        "Favourite Authors": (False, True, []),
        "Format": (True, False, ["paper", "audio"]),
    },
    "Music": {"Genre": (True, True, ["folk", "jazz"]), "Favorite Bands": (False, True, [])},
    "Food": {"Diet": (True, True, ["vegan"]), "Spice": (True, False, ["mild", "hot"])},
}
TASKS: dict[str, list[Names]] = {
    "Books": [("Genre", "Favorite Authors"), ("Format",)],
    "Music": [("Genre",)],
    "Food": [("Diet", "Spice")],
}
MULTI: list[tuple[Names, Names]] = [
    (("Books", "Music"), ("Genre", "Seat Preference")),
    (("Books", "Music", "Food"), ("Genre (Music)", "Spice")),
]
SITUATION = {
    "Location": "Porto",
    "Device": "Laptop",
    "Time of Day": "Evening",
    "Day of the Week": "Monday",
    "Environment": "Quiet",
}


def write_json(path: Path, value: Any) -> None:
    """A JSON file as the release writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4), encoding="utf-8")


def task(task_id: str, domains: tuple[str, ...], names: tuple[str, ...], **situation: str) -> dict[str, Any]:
    """One task of one user."""
    return {
        "Task Description": f"About {task_id}.",
        "User Intent": f"Do {task_id}.",
        "Task Goal": f"{task_id} is done.",
        "Relevant Affinity Types": list(names),
        "task_id": task_id,
        "situations": SITUATION | situation,
        "Relevant Domains": list(domains),
    }


def profile(user: str, **change: Any) -> dict[str, Any]:
    """One profile; everyone cares about books and music only."""
    regular = {
        "affinities": {
            "Books": {"Genre": ["crime"], "Favourite Authors": ["A. Nyone"], "Format": "paper"},
            "Music": {"Genre": ["jazz"], "Favorite Bands": ["The Placeholders"]},
            "Food": {"Diet": ["vegan"], "Spice": "hot"},
        },
        "demographics": {"user_id": user, "age": "25-34", "religion": "N/A"},
        "interests": {"Books": 1, "Music": 1, "Food": 0},
        "interactions": {domain: f"{user} talks about {domain.lower()}." for domain in ONTOLOGY},
    }
    return regular | change


def write_user(folder: Path, user: str, **change: Any) -> None:
    """One user's three files."""
    home = folder / "data" / "profile" / user
    raw = profile(user, **{key: change[key] for key in profile(user) if key in change})
    write_json(home / "profile.json", raw)
    single = {
        "Task 1": task("SD-Books-task-1", ("Books",), TASKS["Books"][0], **change.get("situation", {})),
        "Task 2": task("SD-Books-task-2", ("Books",), TASKS["Books"][1]),
        "Task 3": task("SD-Music-task-1", ("Music",), TASKS["Music"][0]),
    }
    write_json(home / "tasks.json", single)
    named = change.get("named", MULTI[0][1])
    write_json(home / "tasks_md.json", {"Task 1": task("MD-task-1", MULTI[0][0], named)})


def write_lens(folder: Path) -> Path:
    """A regular world of two users."""
    schema = [
        {
            "domain": domain,
            "description": "",
            "tasks": [],
            "affinities": [
                {"name": name, "description": "", "is_categorical": closed, "has_multiple_values": several, "possible_values": values}
                for name, (closed, several, values) in attributes.items()
            ],
        }
        for domain, attributes in ONTOLOGY.items()
    ]  # fmt: skip
    write_json(folder / "res" / "schema.json", schema)
    for domain, rows in TASKS.items():
        _write_definitions(folder, domain, [((domain,), names) for names in rows])
    _write_definitions(folder, "Multi-Domain", MULTI)
    for user in ("user0", "user1"):
        write_user(folder, user)
    return folder


def _write_definitions(folder: Path, area: str, rows: list[tuple[Names, Names]]) -> None:
    path = folder / "data" / "task" / area / "task.jsonl"
    path.parent.mkdir(parents=True)
    lines = []
    for number, (domains, names) in enumerate(rows, 1):
        prefix = "MD-task-" if area == "Multi-Domain" else f"SD-{area}-task-"
        row = task(f"{prefix}{number}", domains, names)
        kept = {name: row[name] for name in row if name[0].isupper()} | {"Task Number": number}
        lines.append(
            json.dumps(
                kept if area == "Multi-Domain" else {k: v for k, v in kept.items() if k != "Relevant Domains"}
            )
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
