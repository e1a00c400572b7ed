"""Names that data gives to what is written: benchmarks, studies and runs. A name is one part of a path and never a way out of it."""

import re
from pathlib import Path

from personafit._errors import UserError

RULE = "use letters, digits, dots, dashes and underscores, 80 at the most, no dot or dash first"
LONGEST = 80
_NAME = re.compile(r"\w[\w.-]{0,79}")


def is_name(text: str) -> bool:
    """Whether a text can name a benchmark or a study: it stands in addresses and names folders."""
    return _NAME.fullmatch(text) is not None


def as_name(text: str) -> str:
    """A name made of any text, such as a file's: what a name cannot hold becomes a dash."""
    return re.sub(r"[^\w.-]+", "-", text).lstrip(".-")[:LONGEST] or "unnamed"


def inside(folder: Path, name: str) -> Path:
    """The place of that name directly in a folder; a name that leads anywhere else, by a link too, is refused."""
    try:
        place = (folder / name).resolve()
        stays = place.parent == folder.resolve() and Path(name).name == name
    except (ValueError, OSError, RuntimeError):  # a NUL, or links in a circle
        stays = False
    if not stays:
        raise UserError(f"'{name[:80]}' names a place outside {folder}; say with --out where to write.")
    return folder / name
