"""What is public is documented: every name in a room's `__all__` has a docstring and stands on the room's page."""

import ast
from pathlib import Path

import griffe
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
API = ROOT / "docs" / "api"
COMMANDS_ONLY = {"cli"}  # its one public name is the program itself


def public_rooms() -> list[str]:
    """Rooms whose `__init__` names anything."""
    found = []
    for path in [*SOURCE.glob("personafit/*/__init__.py"), SOURCE / "personafit" / "testing.py"]:
        names = [
            target.id
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        if "__all__" in names:
            found.append(path.stem if path.stem != "__init__" else path.parent.name)
    return sorted(set(found) - COMMANDS_ONLY)


@pytest.fixture(scope="module")
def package() -> griffe.Module:
    """The package as the site's own reader sees it."""
    loaded = griffe.load("personafit", search_paths=[SOURCE], resolve_aliases=True)
    assert isinstance(loaded, griffe.Module)
    return loaded


def test_every_room_with_public_names_has_a_page() -> None:
    pages = {path.stem for path in API.glob("*.md")} - {"index"}
    assert pages == set(public_rooms())
    table = (API / "index.md").read_text(encoding="utf-8")
    assert all(f"]({room}.md)" in table for room in pages)
    assert all(
        f"::: personafit.{room}\n" in (API / f"{room}.md").read_text(encoding="utf-8") for room in pages
    )


@pytest.mark.parametrize("room", public_rooms())
def test_every_public_name_has_a_docstring(room: str, package: griffe.Module) -> None:
    here = package[room]
    names = [str(name) for name in here.exports]
    assert names
    bare = [name for name in names if not here[name].has_docstring]
    assert not bare, f"personafit.{room} exports without a docstring: {', '.join(bare)}"


@pytest.mark.parametrize("room", public_rooms())
def test_a_name_that_is_also_a_file_is_named_on_the_page(room: str, package: griffe.Module) -> None:
    """The site's reader takes such a name for the file, and would leave the function out."""
    page = (API / f"{room}.md").read_text(encoding="utf-8")
    hidden = [str(name) for name in package[room].exports if package[room][name].is_module]
    missing = [name for name in hidden if f"::: personafit.{room}.{name}.{name}\n" not in page]
    assert not missing, f"docs/api/{room}.md leaves out {', '.join(missing)}"
