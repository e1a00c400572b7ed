"""Names of benchmarks, studies and runs, which come from data. A name is a single part of a path and never leads out of its folder."""

import re
from pathlib import Path

from personafit._errors import UserError

RULE = "use letters, digits, dots, dashes and underscores, 80 at the most, no dot or dash first"
LONGEST = 80
_NAME = re.compile(r"\w[\w.-]{0,79}")


def is_name(text: str) -> bool:
    """Return whether a text can name a benchmark or a study, which is used in URLs and as a folder."""
    return _NAME.fullmatch(text) is not None


def as_name(text: str) -> str:
    """Turn any text, such as a file name, into a name: characters that a name cannot hold become a dash."""
    return re.sub(r"[^\w.-]+", "-", text).lstrip(".-")[:LONGEST] or "unnamed"


def inside(folder: Path, name: str) -> Path:
    """Return the path of that name directly in a folder; raise an error if it leads anywhere else, even by a link."""
    try:
        place = (folder / name).resolve()
        stays = place.parent == folder.resolve() and Path(name).name == name
    except (ValueError, OSError, RuntimeError):  # a NUL, or circular links
        stays = False
    if not stays:
        raise UserError(f"'{name[:80]}' names a place outside {folder}; say with --out where to write.")
    return folder / name
