"""Models that call nobody: recorded replies by key, and a function of the user's own."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from personafit import ChatReply, Store, UserError
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.items import FIT
from personafit.items.reading import replay_key
from personafit.models import ChatRequest, Unanswerable, make_model
from personafit.reports.run_report import open_report
from tests.scripted import run, shown, simple_pairs, write_lines, write_pairs, write_recording


def ask(spec: str, key: str = "", messages: tuple[dict[str, str], ...] = ()) -> ChatReply:
    """One call, with the model closed behind it."""

    async def once() -> ChatReply:
        model = make_model(spec)
        try:
            return await model.chat(ChatRequest(messages, key=key))
        finally:
            await model.close()

    return asyncio.run(once())


def test_a_recorded_reply_comes_back_whole(tmp_path: Path) -> None:
    row = {
        "key": "i|profile|01|0",
        "reply": "A",
        "reasoning": "It fits.",
        "letter_scores": {"A": -0.1, "B": -2.5},
        "tokens_in": 120,
        "tokens_out": 9,
        "tokens_reasoning": 8,
    }
    path = write_lines(tmp_path / "said.jsonl", [row, {"key": "other", "reply": ""}])
    reply = ask(f"replay:{path}", key=replay_key("i", "profile", "01", 0))
    assert (reply.text, reply.reasoning, reply.letter_scores) == ("A", "It fits.", {"A": -0.1, "B": -2.5})
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_reasoning) == (120, 9, 8)
    assert (reply.cost, reply.refused, reply.cut) == (0.0, False, False)
    assert ask(f"replay:{path}", key="other").text == ""


def test_the_keys_are_those_raters_ask_by(tmp_path: Path) -> None:
    one = shown(order=(1, 0), sample=2)
    assert FIT.recorded_as(one) == "item-1|profile|10|2"
    assert FIT.letters(len(one.order)) == ("A", "B")


def test_another_recording_is_another_instrument(tmp_path: Path) -> None:
    one = write_lines(tmp_path / "one.jsonl", [{"key": "k", "reply": "A"}])
    two = write_lines(tmp_path / "two.jsonl", [{"key": "k", "reply": "B"}])
    copy = write_lines(tmp_path / "copy.jsonl", [{"key": "k", "reply": "A"}])
    settings = [make_model(f"replay:{path}").settings for path in (one, two, copy)]
    assert settings[0] != settings[1]
    assert settings[0] == settings[2], "the name of the file is no part of it"


def test_an_unknown_key_is_unanswerable(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "said.jsonl", [{"key": "k", "reply": "A"}])
    with pytest.raises(Unanswerable, match=r"holds no reply for elsewhere\|none\|01\|0\."):
        ask(f"replay:{path}", key="elsewhere|none|01|0")


def test_an_unknown_key_fails_that_ask_only(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv", simple_pairs(4))
    write_folder(tmp_path / "mine", ImportedPairs(pairs))

    def decide(context: str, item: int, order: str) -> str | None:
        return None if (item, order) == (2, "10") else "right"

    path = write_recording(tmp_path / "said.jsonl", FolderBenchmark(tmp_path / "mine"), decide, ["profile"])
    with Store(tmp_path / "store.db") as store:
        config = RunConfig(str(tmp_path / "mine"), raters=[f"replay:{path}"], contexts=["profile"])
        finished = run(store, config)
        results = open_report(store, finished.run).results
    (lane,) = (lane for lane in finished.summary.lanes if lane.name.startswith("replay"))
    assert (lane.finished, lane.failed, lane.stopped) == (7, 1, None)
    (accuracy,) = (r for r in results if r.rater == f"replay:{path}" and r.metric == "accuracy")
    assert (accuracy.value, accuracy.n, accuracy.coverage) == (1.0, 3, 7 / 8), "an item needs both orders"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense\n", r"said.jsonl, line 1: Invalid JSON"),
        (
            '{"key": "k", "reply": "A"}\n\n{"key": "l"}\n',
            r"said.jsonl, line 3, field 'reply': Field required",
        ),
        ('{"key": 3, "reply": "A"}\n', r"said.jsonl, line 1, field 'key': Input should be a valid string"),
        ('["k", "A"]\n', r"said.jsonl, line 1: Input should be an object"),
        ('{"key": "k", "reply": "A", "tokens_in": "many"}\n', r"said.jsonl, line 1, field 'tokens_in'"),
        (
            '{"key": "k", "reply": "A", "letter_scores": ["A"]}\n',
            r"said.jsonl, line 1, field 'letter_scores'",
        ),
        ('{"key": "k", "reply": "A", "letter_scores": {"A": "x"}}\n', r"line 1, field 'letter_scores.A'"),
        ('{"key": "k", "reply": "A", "letter_scores": {"A": NaN}}\n', r"line 1, field 'letter_scores.A'"),
        ('{"key": "k", "reply": "A", "reasoning": 5}\n', r"said.jsonl, line 1, field 'reasoning'"),
    ],
)
def test_a_faulty_recording_is_named_with_file_line_and_field(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "said.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        make_model(f"replay:{tmp_path / 'said.jsonl'}")


def test_an_option_nobody_knows(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "said.jsonl", [])
    with pytest.raises(UserError, match=r"unknown option 'speed'; replay knows none"):
        make_model(f"replay:{path},speed=2")


MODULE = """
from personafit.models import ChatReply

def echo(messages):
    messages[0]["content"] += "!"
    return messages[-1]["content"]

async def later(messages):
    return "later"

def whole(messages):
    return ChatReply("A", letter_scores={"A": -0.1, "B": -3.0}, tokens_in=5)

class Assistant:
    def __call__(self, messages):
        return "from an object"

assistant = Assistant()

def number(messages):
    return 5

def broken(messages):
    raise ValueError("no idea.\\nnone at all")

def exhausted(messages):
    return next(iter([]))

def leaving(messages):
    raise SystemExit(3)

def textless(messages):
    return ChatReply(None)

def countless(messages):
    return ChatReply("A", tokens_in=2**70)

def priceless(messages):
    return ChatReply("A", cost=float("nan"))

def scoreless(messages):
    return ChatReply("A", letter_scores={"A": "high"})

nothing = None
"""
MESSAGES = ({"role": "system", "content": "told"}, {"role": "user", "content": "Q?"})


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"model_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(
    ("name", "text"), [("echo", "Q?"), ("later", "later"), ("assistant", "from an object"), ("whole", "A")]
)
def test_a_function_answers(module: str, name: str, text: str) -> None:
    assert ask(f"python:{module}:{name}", messages=MESSAGES).text == text
    assert MESSAGES[0]["content"] == "told", "a function may change its copy and nobody else's"


def test_a_function_may_return_a_whole_reply(module: str) -> None:
    reply = ask(f"python:{module}:whole", messages=MESSAGES)
    assert (reply.letter_scores, reply.tokens_in) == ({"A": -0.1, "B": -3.0}, 5)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("number", r"returned int; it must return a text"),
        ("broken", r"raised ValueError: no idea\. none at all\."),
        ("exhausted", r"raised RuntimeError: coroutine raised StopIteration\."),
        ("leaving", r"raised SystemExit: 3\."),
        ("textless", r"a ChatReply whose text or reasoning is no text\."),
        ("countless", r"a ChatReply whose tokens_in is no number of tokens\."),
        ("priceless", r"a ChatReply whose cost is no number of USD\."),
        ("scoreless", r"a ChatReply whose letter_scores do not map letters to numbers\."),
    ],
)
def test_a_function_that_fails_fails_that_request(module: str, name: str, sentence: str) -> None:
    with pytest.raises(Unanswerable, match=sentence):
        ask(f"python:{module}:{name}", messages=MESSAGES)


def test_a_function_is_known_by_its_code_and_its_name(module: str) -> None:
    settings: list[dict[str, Any]] = [
        make_model(f"python:{module}:{name}").settings for name in ("echo", "later", "echo")
    ]
    assert settings[0] == settings[2] != settings[1]
    assert make_model(f"python:{module}:echo,concurrency=3").max_concurrency == 3
    with pytest.raises(UserError, match="is not callable"):
        make_model(f"python:{module}:nothing")


SET_UP = {
    "an object": "from {library} import Assistant\nanswer = Assistant({mood!r})\n",
    "part of a function": "import functools\nfrom {library} import say\nanswer = functools.partial(say, {mood!r})\n",
}


@pytest.mark.parametrize("kind", SET_UP)
def test_what_is_set_up_in_one_module_and_written_in_another_is_known_by_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    stem = f"{tmp_path.name.replace('-', '_')}_{len(kind)}"
    code = "class Assistant:\n    def __init__(self, mood): self.mood = mood\n    def __call__(self, messages): return self.mood\n"
    code += "def say(mood, messages):\n    return mood\n"
    (tmp_path / f"library_{stem}.py").write_text(code, encoding="utf-8")
    codes = []
    for name, mood in (("one", "gruff"), ("two", "kind"), ("three", "kind")):
        text = SET_UP[kind].format(library=f"library_{stem}", mood=mood)
        (tmp_path / f"{name}_{stem}.py").write_text(text, encoding="utf-8")
        assert ask(f"python:{name}_{stem}:answer", messages=MESSAGES).text == mood
        codes.append(make_model(f"python:{name}_{stem}:answer").settings["code"])
    assert codes[0] != codes[1] == codes[2]


def test_functions_that_hang_keep_nobody_else_from_the_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"hanging_{tmp_path.name.replace('-', '_')}"
    code = "import threading\nend = threading.Event()\nall_here = threading.Barrier(41)\n"
    code += "def answer(messages):\n    all_here.wait(60)\n    end.wait(60)\n    return 'at last'\n"
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")

    async def scenario() -> list[str]:
        model = make_model(f"python:{name}:answer,concurrency=40")
        asked = [asyncio.create_task(model.chat(ChatRequest(MESSAGES))) for _ in range(40)]
        module = sys.modules[name]
        await asyncio.to_thread(module.all_here.wait, 60)  # all forty hang, and this thread was to be had
        module.end.set()
        return [reply.text for reply in await asyncio.gather(*asked)]

    assert asyncio.run(scenario()) == ["at last"] * 40
