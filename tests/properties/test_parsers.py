"""Every parser of what people and models write: a value or a UserError, whatever comes in."""

import math
from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from personafit import ChatReply, UserError
from personafit._secrets import masked
from personafit.contexts import People, make_context
from personafit.items import FIT
from personafit.models import ChatRequest, Transient, make_model, parse_spec
from personafit.models.openai import OpenAIModel, decoded, error_text, letter_scores, pause_asked
from personafit.people import Person, flatten
from personafit.store.records import storable
from tests.properties.strategies import JSON, TEXTS, THOROUGH, nearly, one_sentence

LETTERS = ("A", "B")
ASKED = ChatRequest(({"role": "user", "content": "A or B?"},), letters=LETTERS)
MODEL = OpenAIModel(parse_spec("openai:m@http://h/v1,price=1/2"))
TOKEN = nearly(token="A", logprob=-0.1, top_logprobs=st.lists(nearly(token="B", logprob=-2.0), max_size=2))
REPLY = nearly(
    choices=st.lists(
        nearly(
            message=nearly(content=TEXTS, reasoning_content=TEXTS, refusal=TEXTS),
            finish_reason="stop",
            logprobs=nearly(content=st.lists(TOKEN, max_size=2)),
        ),
        max_size=2,
    ),
    usage=nearly(prompt_tokens=5, completion_tokens=st.integers(-(10**30), 10**30)),
)


@THOROUGH
@given(st.text(max_size=60), st.integers(2, 8))
@example("The answer is: **A**", 2)
@example("\x00", 2)
@example("\ud83d", 2)
def test_a_reply_names_a_letter_or_none(reply: str, count: int) -> None:
    assert FIT.parse(reply, count) in (None, *FIT.letters(count))


@THOROUGH
@given(st.sampled_from("ABCDEFGH"), st.text(alphabet="*_`\"'()[] .\n", max_size=6))
def test_a_letter_alone_is_found_whatever_stands_around_it(letter: str, around: str) -> None:
    found = FIT.parse(f"{around}{letter}", 8)
    assert found in (letter, None)
    assert FIT.parse(f"Some thoughts.\n\n{letter}.", 8) == letter


@THOROUGH
@given(st.one_of(TEXTS, st.text(alphabet="openai:m@http/,=?#&.1 ", max_size=40)))
@example("openai:m@http://[::1/v1")
@example("openai:m@http://h/v1,price=1/2/3")
@example("openai:m@http://h/v1,timeout=1e400")
@example("python:" + "a." * 2000)
def test_specs(text: str) -> None:
    try:
        spec = parse_spec(text)
        assert spec.kind
        if spec.kind == "openai":
            make_model(spec)
    except UserError as error:
        one_sentence(error)


@THOROUGH
@given(st.one_of(JSON, REPLY))
@example({"choices": [{"message": {"content": "A"}}], "usage": {"prompt_tokens": 10**400}})
@example(
    {
        "choices": [
            {
                "message": {"content": "A"},
                "logprobs": {"content": [{"token": "A", "logprob": 10**400, "top_logprobs": []}]},
            }
        ]
    }
)
def test_replies_of_endpoints(payload: Any) -> None:
    try:
        reply = MODEL._read(payload, ASKED)
    except Transient:
        return
    assert isinstance(reply, ChatReply)
    assert 0 <= reply.tokens_in < 2**31
    assert 0 <= reply.tokens_out < 2**31
    assert math.isfinite(reply.cost)
    assert reply.letter_scores is None or set(reply.letter_scores) == set(LETTERS)
    storable(reply.text).encode()


@THOROUGH
@given(st.one_of(st.binary(max_size=60), JSON.map(orjson.dumps)))
@example(b'{"a": "\\ud83d"}')
@example(b"[" * 100_000)
@example(b"1" * 5000)
def test_bytes_of_endpoints(data: bytes) -> None:
    assert len(error_text(decoded(data))) <= 200


@THOROUGH
@given(JSON)
def test_letter_scores(logprobs: Any) -> None:
    assert letter_scores(logprobs, LETTERS) is None


@THOROUGH
@given(st.one_of(TEXTS, st.floats().map(str), st.datetimes().map(str)), TEXTS)
@example("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT")
@example("Mon, 01 Jan 0001 00:00:00 -2359", "")
@example("1" * 400, "")
def test_retry_after(value: str, date: str) -> None:
    seconds = pause_asked({"Retry-After": value, "Date": date})
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@THOROUGH
@given(st.dictionaries(TEXTS, JSON, max_size=4))
def test_profiles(profile: dict[str, Any]) -> None:
    person = Person(id="p", language="en", facets=flatten(profile))
    assert Person.model_validate_json(person.model_dump_json()).version == person.version


@THOROUGH
@given(st.one_of(TEXTS, st.text(alphabet="profilewngne:,+ DIS", max_size=20)))
def test_context_names(name: str) -> None:
    people = People({key: Person(id=key, language="en", facets={"Job": "x"}) for key in "ab"})
    try:
        make_context(name, people, 0)
    except UserError as error:
        one_sentence(error)


@THOROUGH
@given(st.text(max_size=80))
def test_masking_never_fails_and_settles(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@THOROUGH
@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=30))
def test_whatever_is_stored_is_unicode_without_nul(text: str) -> None:
    clean = storable(text)
    clean.encode()
    assert "\x00" not in clean
    assert storable(clean) == clean
