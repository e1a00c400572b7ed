"""Draws which room imports which from the code, or with --check says whether the drawing has drifted.

The layers are those of the import-linter contract in pyproject.toml, the imports those that grimp finds. The upper part
shows the rooms with the imports that no longer way implies, the lower part every import, row imports column.
"""

import re
import sys
import tomllib
from html import escape
from pathlib import Path

import grimp

FOLDER = Path(__file__).parent
DRAWING = FOLDER / "rooms.svg"
PROJECT = FOLDER.parents[1] / "pyproject.toml"

WIDTH, TOP, STEP = 860, 40, 74
BOX_WIDTH, BOX_HEIGHT = 118, 34
CELL, NAMES, SLANT = 26, 190, 110

STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #20262e }
  .title { font-weight: 600 }
  .box { fill: #f1f4f7; stroke: #68717d }
  .way { fill: none; stroke: #2a5f8f; stroke-width: 1.4; marker-end: url(#head) }
  .head, .dot { fill: #2a5f8f }
  .grid { stroke: #dadde2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e8eb } .box { fill: #2a3038; stroke: #9aa3ae } .grid { stroke: #444b55 }
    .way { stroke: #8fbce6 } .head, .dot { fill: #8fbce6 }
  }
"""

Imports = dict[str, set[str]]


def layers() -> list[list[str]]:
    """Rooms from the uppermost layer down, as the contract has them."""
    contract = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def imports(rooms: set[str]) -> Imports:
    """Which other rooms each room imports anything from."""
    graph = grimp.build_graph("personafit", cache_dir=None)
    found: Imports = {room: set() for room in rooms}
    for module in graph.modules:
        room = module.split(".")[1:2]
        for target in graph.find_modules_directly_imported_by(module):
            other = target.split(".")[1:2]
            if room and other and room != other and room[0] in rooms and other[0] in rooms:
                found[room[0]].add(other[0])
    return found


def reached(start: str, found: Imports) -> set[str]:
    """All rooms that can be come to from one."""
    seen: set[str] = set()
    waiting = list(found[start])
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting += found[room]
    return seen


def needed(found: Imports) -> list[tuple[str, str]]:
    """The imports that no longer way implies."""
    beyond = {room: reached(room, found) for room in found}

    def implied(room: str, other: str) -> bool:
        between = (via for via in found[room] if room not in beyond[via] and via not in beyond[other])
        return any(other in beyond[via] for via in between if via != other)

    return [
        (room, other) for room in sorted(found) for other in sorted(found[room]) if not implied(room, other)
    ]


def drawn(rows: list[list[str]], found: Imports) -> str:
    """The whole drawing."""
    order = [room for row in rows for room in row]
    top = TOP + STEP * len(rows) + SLANT + 40
    height = top + CELL * len(order) + 20
    body = [*house(rows, needed(found)), *table(order, found, top)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>Which room of personafit imports which</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
            *body,
            "</svg>\n",
        ]
    )


def house(rows: list[list[str]], ways: list[tuple[str, str]]) -> list[str]:
    """The rooms in their layers, with arrows to what they import."""
    middle: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        for place, room in enumerate(row):
            middle[room] = (WIDTH * (place + 1) / (len(row) + 1), TOP + STEP * level + BOX_HEIGHT / 2)
    lines = ['<text class="title" x="20" y="24">Rooms, and what they import (longer ways left out)</text>']
    for room, other in ways:
        (x, y), (to_x, to_y) = middle[room], middle[other]
        between = any(
            y == to_y == beside and min(x, to_x) < at < max(x, to_x) for at, beside in middle.values()
        )
        if between:
            low = y + BOX_HEIGHT / 2
            lines.append(
                f'<path class="way" d="M{x:.0f} {low:.0f} C{x:.0f} {low + 34:.0f} {to_x:.0f} {low + 34:.0f} {to_x:.0f} {low:.0f}"/>'
            )
        elif y == to_y:
            side = BOX_WIDTH / 2 if to_x > x else -BOX_WIDTH / 2
            lines.append(f'<path class="way" d="M{x + side:.0f} {y:.0f} L{to_x - side:.0f} {to_y:.0f}"/>')
        else:
            low, high = y + BOX_HEIGHT / 2, to_y - BOX_HEIGHT / 2
            bend = (high - low) / 2
            lines.append(
                f'<path class="way" d="M{x:.0f} {low:.0f} C{x:.0f} {low + bend:.0f} {to_x:.0f} {high - bend:.0f} {to_x:.0f} {high:.0f}"/>'
            )
    for room, (x, y) in middle.items():
        lines.append(
            f'<rect class="box" x="{x - BOX_WIDTH / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" '
            f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{escape(room)}</text>'
        )
    return lines


def table(order: list[str], found: Imports, top: int) -> list[str]:
    """Every import as a dot: the row's room imports the column's."""
    lines = [
        f'<text class="title" x="20" y="{top - SLANT - 14}">Every import: the row imports the column</text>'
    ]
    for place, room in enumerate(order):
        x, y = NAMES + CELL * place + CELL / 2, top + CELL * place + CELL / 2
        lines += [
            f'<text transform="translate({x + 4:.0f} {top - 6}) rotate(-55)">{escape(room)}</text>',
            f'<text x="{NAMES - 10}" y="{y + 5:.0f}" text-anchor="end">{escape(room)}</text>',
            f'<path class="grid" d="M{NAMES} {y:.0f} H{NAMES + CELL * len(order)} M{x:.0f} {top} V{top + CELL * len(order)}"/>',
        ]
    for row, room in enumerate(order):
        for column, other in enumerate(order):
            if other in found[room]:
                lines.append(
                    f'<circle class="dot" cx="{NAMES + CELL * column + CELL / 2:.0f}" cy="{top + CELL * row + CELL / 2:.0f}" r="6">'
                    f"<title>{escape(room)} imports {escape(other)}</title></circle>"
                )
    return lines


def main() -> int:
    """Write or check."""
    rows = layers()
    drawing = drawn(rows, imports({room for row in rows for room in row}))
    if "--check" in sys.argv:
        stale = not DRAWING.is_file() or DRAWING.read_text(encoding="utf-8") != drawing
        if stale:
            print("docs/imports/rooms.svg has drifted from the code: run `make schema`.")
        return int(stale)
    DRAWING.write_text(drawing, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
