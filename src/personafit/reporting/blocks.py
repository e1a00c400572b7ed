"""Much text in one page: compressed blocks that the page's script decodes one by one, when somebody asks for what is in them.

A block is a JSON array, deflated and written in base64: about a fifth of the size of the same as JSON, nothing for the browser to parse
until it is needed, and nothing in it that could be taken for markup. `page.js` has the other half.
"""

import base64
import os
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import polars as pl

LEVEL = 4  # 6 takes half as long again for 3 % less
RAW = -15  # deflate without a header, which is what `DecompressionStream("deflate-raw")` reads


def list_blocks(values: Sequence[Any], size: int) -> list[str]:
    """The values in order, so many to a block."""
    return _packed(orjson.dumps(values[start : start + size]) for start in range(0, len(values), size))


def frame_blocks(frame: pl.DataFrame, size: int) -> list[str]:
    """The rows of a frame in order as objects, so many to a block."""
    return _packed(_array(part) for part in frame.iter_slices(size))


def unpacked(block: str) -> Any:
    """What a block holds."""
    return orjson.loads(zlib.decompress(base64.b64decode(block), RAW))


def _array(rows: pl.DataFrame) -> bytes:
    return b"[" + rows.write_ndjson().encode().rstrip(b"\n").replace(b"\n", b",") + b"]"


def _packed(arrays: Iterable[bytes]) -> list[str]:
    """Compressed on all cores: zlib lets other threads run meanwhile."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_pack, arrays))


def _pack(array: bytes) -> str:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    return base64.b64encode(compressor.compress(array) + compressor.flush()).decode()
