"""`docs/compose.yaml`: what can be seen of it without a container engine."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "compose.yaml"
yaml = pytest.importorskip(
    "yaml", reason="PyYAML is not installed here (it comes with the documentation's tools)"
)
DATABASE = {"PERSONAFIT_STORE", "PGPASSWORD"}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services with all that they take from elsewhere in the file."""
    made: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
    return made


def test_models_never_sit_where_the_password_of_the_database_is(services: dict[str, Any]) -> None:
    knowing = {name for name, service in services.items() if service["environment"].keys() >= DATABASE}
    assert knowing == {"label", "ray-head"}
    assert not DATABASE & services["ray-worker"]["environment"].keys()
    head = shlex.split(services["ray-head"]["command"])
    assert head[head.index("--num-cpus") + 1] == "0"


def test_all_nodes_have_the_same_token(services: dict[str, Any]) -> None:
    for name in ("ray-head", "ray-worker"):
        environment = services[name]["environment"]
        assert (environment["RAY_AUTH_MODE"], environment["RAY_AUTH_TOKEN"]) == (
            "token",
            "${RAY_AUTH_TOKEN:-}",
        )


def test_who_is_waited_for_says_when_it_is_ready(services: dict[str, Any]) -> None:
    for service in services.values():
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert services[other]["healthcheck"]["test"]


def test_images_are_made_of_what_there_is(services: dict[str, Any]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for service in services.values():
        if "build" not in service:
            continue
        context = (FILE.parent / service["build"]["context"]).resolve()
        recipe = service["build"]["dockerfile_inline"]
        copied = [line.split()[1:-1] for line in recipe.splitlines() if line.startswith("COPY")]
        assert copied
        assert all((context / path).exists() for paths in copied for path in paths)
        wanted = re.search(r"/source\[([\w,]+)\]", recipe)
        assert wanted is not None
        assert set(wanted[1].split(",")) <= extras.keys()
