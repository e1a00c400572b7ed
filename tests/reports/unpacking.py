"""Reading a report's page back: what its item browser was given, every block unpacked."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from personafit.reports.browse import RAW


def unpacked(block: str) -> Any:
    """What a block holds."""
    return json.loads(zlib.decompress(base64.b64decode(block), RAW))


def browser_blocks(page: Path) -> dict[str, list[Any]]:
    """The blocks of a page with one item browser by kind, all values of a kind in order."""
    text = page.read_text(encoding="utf-8")
    (data,) = re.findall(r'id="(?:b\w+-)?browser-data">(.*?)</script>', text, re.S)
    blocks = json.loads(data)["blocks"]
    return {name: [value for block in kind for value in unpacked(block)] for name, kind in blocks.items()}
