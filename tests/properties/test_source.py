"""The source as a whole: a class name means one class, and no two modules of a room need each other."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

# Names that still have two classes, and imports that still close a cycle. Take out what is mended; add nothing.
DOUBLED: set[str] = set()
CYCLES: set[tuple[str, str]] = set()

TARGET = re.compile(r"""["'](personafit(?:\.\w+)+)(?::\w+)?["']""")  # how registries name what they load late

Import = tuple[str, str]


def test_a_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for module, text in source_texts().items():
        for node in statements(text):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{module}:{node.lineno}")
    doubled = {name: found for name, found in places.items() if len(found) > 1}
    new = {name: found for name, found in doubled.items() if name not in DOUBLED}
    assert not new, f"Defined more than once; name each class by what it is: {new}"
    assert doubled.keys() == DOUBLED, f"Take out of DOUBLED: {DOUBLED - doubled.keys()}"


def test_no_modules_of_a_room_import_each_other() -> None:
    """Imports in functions and in registries count too: they would only put a cycle off until it is run into."""
    found = room_imports(source_texts())
    cycle = first_cycle(found - CYCLES)
    assert not cycle, f"These import each other; move what they share below both: {' -> '.join(cycle)}"
    for one in CYCLES:
        assert one in found, f"Take out of CYCLES: {one}"
        assert first_cycle((found - CYCLES) | {one}), f"Take out of CYCLES, it closes none: {one}"


def test_every_way_to_import_is_seen() -> None:
    late = "def open():\n    try:\n        from personafit.store import b\n    except ImportError:\n        pass\n"
    registry = "READERS = {'b': 'personafit.store.b:Reader'}"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from personafit.store.b import Reader\n"
    cases = {"import personafit.store.b": True, late: True, registry: True, typed: False, "'some.b'": False}
    for text, cyclic in cases.items():
        texts = {
            "personafit.store": "",
            "personafit.store.a": text,
            "personafit.store.b": "from personafit.store.a import name",
        }
        assert bool(first_cycle(room_imports(texts))) is cyclic, text


@cache
def source_texts() -> dict[str, str]:
    """Every module's name with its source."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path.read_text(
            encoding="utf-8"
        )
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def statements(text: str) -> tuple[ast.AST, ...]:
    """All statements of a source, those within others too, but for what only type checkers read."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(ast.parse(text).body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        typed = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ("orelse",) if typed else ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(node, part, [])
            waiting += inner if isinstance(inner, list) else []
    return tuple(found)


def room_imports(texts: dict[str, str]) -> set[Import]:
    """Every import of a module by another of its room."""
    packages = {module.rpartition(".")[0] for module in texts}
    return {
        (module, target)
        for module, text in texts.items()
        for target in named_modules(text, texts, packages)
        if target in texts and target != module and _room(target) == _room(module)
    }


def named_modules(text: str, modules: Iterable[str], packages: set[str]) -> Iterator[str]:
    """What a source imports, at its top, in a function or by a registry; a package in quotes is a folder of templates."""
    for node in statements(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "imports here are absolute"
            assert not node.level, "imports here are absolute"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in inner)
    yield from (name for name in TARGET.findall(text) if name not in packages)


def first_cycle(imports: Iterable[Import]) -> list[str]:
    """The modules of some cycle, the first again at the end; empty where there is none."""
    graph = defaultdict(set)
    for module, target in imports:
        graph[module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle[::-1]
    return []


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])
