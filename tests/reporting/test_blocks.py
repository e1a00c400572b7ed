"""Blocks of texts: what goes in comes out, whatever it is, and they are small."""

import orjson
import polars as pl

from personafit.reporting.browse import frame_blocks, list_blocks, unpacked

HOSTILE = [
    "</script><!-- & \u2028\u2029 \U0001f600",
    'quote " backslash \\ newline \n tab \t nul \x00 \x1f',
    "\u202eright to left\ufeff",
    "",
    "你好，世界",
]


def test_lists_come_back_in_order() -> None:
    values = [*HOSTILE, {"a": [1, None, 2.5]}, None]
    blocks = list_blocks(values, 3)
    assert len(blocks) == 3
    assert [value for block in blocks for value in unpacked(block)] == values
    assert list_blocks([], 3) == []


def test_rows_come_back_in_order() -> None:
    frame = pl.DataFrame(
        {
            "text": [[text] for text in HOSTILE],
            "value": [[0.1234, None], [float("nan")], [], [-1e-9], [float("inf")]],
            "order": [["01", "10"], [""], [], ["tie"], [None]],
        }
    )
    blocks = frame_blocks(frame, 2)
    rows = [row for block in blocks for row in unpacked(block)]
    assert len(blocks) == 3
    assert [row["text"] for row in rows] == [[text] for text in HOSTILE]
    assert [row["value"] for row in rows] == [[0.1234, None], [None], [], [-1e-9], [None]]
    assert [row["order"] for row in rows] == frame["order"].to_list()


def test_nothing_in_a_block_looks_like_markup() -> None:
    (block,) = list_blocks(HOSTILE, 10)
    assert block.isascii()
    assert not set("<>&\"'\\ \n") & set(block)


def test_a_block_is_much_smaller_than_its_json() -> None:
    texts = [f"Answer {n}: a plan for the week that fits what you like, step by step." for n in range(200)]
    assert sum(map(len, list_blocks(texts, 100))) < len(orjson.dumps(texts)) / 4
