"""What may stand in a file: any JSON, records that are nearly right, and bytes that are nothing at all."""

from typing import Any

import orjson
from hypothesis import settings
from hypothesis import strategies as st

from personafit import UserError

# The files are tiny and the readers pure: many examples, no deadline (other work shares the machine), the same each time.
THOROUGH = settings(max_examples=100, deadline=None, derandomize=True)

TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", " ", "\x00", "a\x00b", "é", "一", "\ufeff", "\u2028", "\U0001f600", "=1+1", "p0", "x"]
    ),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


def one_sentence(error: UserError, start: str = "") -> None:
    """What a refusal must be: one sentence, or a heading above one sentence for each fault."""
    said = str(error)
    heading, *faults = said.splitlines()
    assert said.startswith(start), said
    assert heading.endswith("faults:" if faults else "."), said
    assert len(faults) != 1, said
    assert all(fault.startswith("  ") and fault.endswith(".") for fault in faults), said


def nearly(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these fields, each right, wrong or missing, and now and then one more."""
    each = {
        name: st.one_of(st.just(value) if not isinstance(value, st.SearchStrategy) else value, JSON)
        for name, value in fields.items()
    }
    base = st.fixed_dictionaries({}, optional=each)
    return st.builds(lambda row, more: {**more, **row}, base, st.dictionaries(TEXTS, JSON, max_size=1))


def lines(rows: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """A JSONL file of a few such rows, possibly with a line that is none, a BOM or another line ending."""
    line = st.one_of(rows.map(orjson.dumps), rows.map(orjson.dumps), st.binary(max_size=20), st.just(b""))
    return st.builds(
        lambda bom, end, found: (b"\xef\xbb\xbf" if bom else b"") + end.join(found) + end,
        st.booleans(),
        st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
        st.lists(line, max_size=4),
    )
