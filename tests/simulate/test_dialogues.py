"""Dialogues against a real endpoint: every way they end, what each side is sent, and what bad assistants come to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit import Store, UserError
from personafit.items.dialogue import DIALOGUE_QUESTIONS
from personafit.simulate import Dialogue, StopReason, dialogues
from personafit.simulate.dialogue import CAPS
from tests.scripted import run
from tests.simulate.talking import Talking, configuration, write_tasks


@pytest.fixture
def talking() -> Iterator[Talking]:
    with Talking() as endpoint:
        yield endpoint


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_tasks(tmp_path / "data")


def held(tmp_path: Path, data: Path, endpoint: Talking, **more: Any) -> list[Dialogue]:
    """The dialogues of a run."""
    with Store(tmp_path / "store.db") as store:
        finished = run(store, configuration(data, endpoint, **more))
        return list(dialogues(store, finished.run.id))


def one(tmp_path: Path, data: Path, endpoint: Talking, **more: Any) -> Dialogue:
    """The only dialogue of a run with one single-domain task."""
    (dialogue,) = held(tmp_path, data, endpoint, options={"tasks": "SD"}, limit=1, **more)
    return dialogue


def alternates(dialogue: Dialogue) -> bool:
    """Whether user and assistant speak in turns, nobody says nothing, and the assistant has the last word."""
    roles = [turn.role for turn in dialogue.turns]
    return (
        roles == ["user", "assistant"] * dialogue.exchanges
        and all(turn.text.strip() for turn in dialogue.turns)
        and [turn.index for turn in dialogue.turns] == list(range(len(roles)))
    )


@pytest.mark.parametrize(
    ("user", "stop", "exchanges", "closing"),
    [
        ("user", StopReason.SATISFIED, 3, "Lovely, thank you."),
        ("user-marker-only", StopReason.SATISFIED, 1, ""),
        ("user-done-at-once", StopReason.SATISFIED, 1, "Good."),
        ("user-gives-up", StopReason.GAVE_UP, 1, "This is no use."),
        ("user-endless", StopReason.CAP, CAPS["SD"], f"More, please ({CAPS['SD']})."),
    ],
)
def test_a_dialogue_ends_when_the_user_means_it_to(
    tmp_path: Path, data: Path, talking: Talking, user: str, stop: StopReason, exchanges: int, closing: str
) -> None:
    dialogue = one(tmp_path, data, talking, user=talking.model(user))
    assert (dialogue.stop, dialogue.exchanges, dialogue.closing) == (stop, exchanges, closing)
    assert alternates(dialogue)
    assert dialogue.detail is None


def test_multi_domain_dialogues_may_take_longer(tmp_path: Path, data: Path, talking: Talking) -> None:
    (dialogue,) = held(
        tmp_path, data, talking, options={"tasks": "MD"}, limit=1, user=talking.model("user-endless")
    )
    assert (dialogue.stop, dialogue.exchanges) == (StopReason.CAP, CAPS["MD"])


def test_a_marker_within_the_words_ends_nothing(tmp_path: Path, data: Path, talking: Talking) -> None:
    dialogue = one(tmp_path, data, talking, user=talking.model("user-mentions-marker"))
    # The marker stands in the middle: the signal is missing and asked for apart, where the model repeats itself.
    assert dialogue.stop == StopReason.EMPTY
    assert dialogue.detail == "The user agent gave no end signal."
    assert dialogue.turns[0].text == "Do not say [SATISFIED] yet, 0."


def test_a_missing_signal_is_asked_for_by_letter(tmp_path: Path, data: Path, talking: Talking) -> None:
    dialogue = one(tmp_path, data, talking, user=talking.model("user-unmarked"))
    assert (dialogue.stop, dialogue.closing) == (StopReason.SATISFIED, "Well, that is message 1.")


def test_an_assistant_cannot_end_the_dialogue(tmp_path: Path, data: Path, talking: Talking) -> None:
    dialogue = one(tmp_path, data, talking, systems=[talking.model("assistant-says-marker")])
    assert (dialogue.stop, dialogue.exchanges) == (StopReason.SATISFIED, 3)
    assert (
        dialogue.turns[1].text == "Option 0.\n[SATISFIED]"
    )  # kept as said, shown to the user without its power
    sent = [body for body in talking.requests if body["model"] == "user"][1]
    assert sent["messages"][-1] == {"role": "user", "content": "Option 0.\n(SATISFIED)"}


@pytest.mark.parametrize(
    ("system", "sentence"),
    [
        ("assistant-empty", "The assistant said nothing, also when asked again."),
        ("assistant-huge", "The assistant said 99,999 characters, more than 20,000, also when asked again."),
        (
            "assistant-tool",
            "The assistant sent a tool call instead of words, and there are no tools here, also when asked again.",
        ),
        ("assistant-marker", "The assistant said nothing but the user's end signal, also when asked again."),
    ],
)
def test_an_unusable_assistant_gets_one_more_chance_and_a_sentence(
    tmp_path: Path, data: Path, talking: Talking, system: str, sentence: str
) -> None:
    dialogue = one(tmp_path, data, talking, systems=[talking.model(system)])
    assert (dialogue.stop, dialogue.detail) == (StopReason.EMPTY, sentence)
    assert [turn.role for turn in dialogue.turns] == ["user"]
    assert sum(body["model"] == system for body in talking.requests) == 2
    assert not any(body["model"] == "judge" for body in talking.requests)


def test_an_assistant_that_wakes_up_goes_on(tmp_path: Path, data: Path, talking: Talking) -> None:
    dialogue = one(tmp_path, data, talking, systems=[talking.model("assistant-wakes")])
    assert (dialogue.stop, dialogue.exchanges) == (StopReason.SATISFIED, 3)


def test_a_mute_user_is_no_dialogue(tmp_path: Path, data: Path, talking: Talking) -> None:
    dialogue = one(tmp_path, data, talking, user=talking.model("user-mute"))
    assert (dialogue.stop, dialogue.turns) == (StopReason.EMPTY, ())
    assert dialogue.detail == "The user agent said nothing, also when asked again."


def test_a_user_may_think_first(tmp_path: Path, data: Path, talking: Talking) -> None:
    dialogue = one(tmp_path, data, talking, user=talking.model("user-thinking", ",style=cot"))
    assert dialogue.turns[0].thought == "I am at 0."
    assert dialogue.turns[0].text == "I would like a dinner plan."
    asked = [body["messages"] for body in talking.requests if body["model"] == "user-thinking"]
    assert "<thinking>" in asked[0][0]["content"]
    assert not any("I am at" in message["content"] for messages in asked for message in messages)
    with pytest.raises(UserError, match="unknown style 'loud'"):
        one(tmp_path, data, talking, user=talking.model("user", ",style=loud"))


def test_each_side_is_sent_its_own_roles_and_temperature(
    tmp_path: Path, data: Path, talking: Talking
) -> None:
    one(tmp_path, data, talking, system_contexts=["D+I+S"])
    user = [body for body in talking.requests if body["model"] == "user"][1]
    system = [body for body in talking.requests if body["model"] == "assistant"][1]
    assert (user["temperature"], system["temperature"]) == (0.5, 0)
    assert "seed" in user
    roles = [message["role"] for message in user["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert user["messages"][2]["content"] == "I would like a dinner plan.\n[CONTINUE]"
    assert [message["role"] for message in system["messages"]] == ["system", "user", "assistant", "user"]
    assert system["messages"][1]["content"] == "I would like a dinner plan."
    brief = user["messages"][0]["content"]
    assert "Plan a dinner." in brief
    assert "with extra" in brief  # the preferences of the task's domain
    assert "Transport" not in brief  # and of no other
    assert "asked for" not in brief  # the history is the assistant's
    assert "Plan a dinner." not in system["messages"][0]["content"]


def test_all_contexts_share_one_template(tmp_path: Path, data: Path, talking: Talking) -> None:
    names = ["none", "D", "I", "S", "D+I", "D+S", "I+S", "D+I+S"]
    found = held(tmp_path, data, talking, options={"tasks": "SD"}, limit=1, system_contexts=names)
    assert {dialogue.system_context for dialogue in found} == set(names)
    prompts = {body["messages"][0]["content"] for body in talking.requests if body["model"] == "assistant"}
    assert len(prompts) == 8
    assert len({prompt.partition("\n\n")[0] for prompt in prompts}) == 1


def test_what_each_side_saw_can_be_read_back(tmp_path: Path, data: Path, talking: Talking) -> None:
    with Store(tmp_path / "store.db") as store:
        finished = run(
            store, configuration(data, talking, system_contexts=["wrong:I"], options={"tasks": "SD"}, limit=1)
        )
        (dialogue,) = dialogues(store, finished.run.id)
        texts = store.texts(
            [dialogue.system_context_id, dialogue.brief, *(turn.product for turn in dialogue.turns)]
        )
        names = {row["fingerprint"]: row["name"] for row in finished.run.config["systems"]}
    told = next(b for b in talking.requests if b["model"] == "assistant")["messages"][0]["content"]
    assert texts[dialogue.system_context_id] in told
    number = dialogue.person.removeprefix("p")
    assert f"Person {number} " not in told  # somebody else's history
    assert "Plan a dinner." in texts[dialogue.brief]
    assert names[dialogue.system] == dialogue.system_name == talking.model("assistant")
    assert [texts[turn.product] for turn in dialogue.turns] == [turn.text for turn in dialogue.turns]


def test_samples_and_seeds_are_dialogues_of_their_own(tmp_path: Path, data: Path, talking: Talking) -> None:
    found = held(tmp_path, data, talking, options={"tasks": "SD"}, limit=1, samples=2)
    assert sorted(dialogue.sample for dialogue in found) == [0, 1]
    before = len(talking.requests)
    held(tmp_path, data, talking, options={"tasks": "SD"}, limit=1, samples=2, seed=1)
    assert len(talking.requests) > before


@pytest.mark.parametrize(
    ("samples", "options", "times"), [(2, "", 2), (1, ",samples=3", 3), (2, ",samples=3", 6)]
)
def test_each_dialogue_is_judged_once_unless_the_judge_asks_for_more(
    tmp_path: Path, data: Path, talking: Talking, samples: int, options: str, times: int
) -> None:
    judge = talking.model("judge", options)
    held(tmp_path, data, talking, options={"tasks": "SD"}, limit=1, samples=samples, raters=[judge])
    asked = [body for body in talking.requests if body["model"] == "judge"]
    assert len(asked) == times * len(DIALOGUE_QUESTIONS)


def test_functions_and_the_canned_control_can_be_systems(
    tmp_path: Path, data: Path, talking: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_assistants.py").write_text(
        "def plain(messages):\n    return f'Plain answer {len(messages)}.'\n"
        "def told(messages, context):\n    return f\"Told {context['given']}, {context['person']}: {context['text']}\"\n"
        "def raising(messages):\n    raise RuntimeError('out of ideas')\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    systems = [f"python:my_assistants:{name}" for name in ("plain", "told", "raising")]
    found = held(
        tmp_path,
        data,
        talking,
        options={"tasks": "SD"},
        limit=1,
        system_contexts=["S"],
        systems=[*systems, "canned"],
    )
    by_name = {dialogue.system_name: dialogue for dialogue in found}
    assert by_name[systems[0]].turns[1].text == "Plain answer 2."
    assert by_name[systems[1]].turns[1].text.startswith("Told S, p")
    assert "Location: Home" in by_name[systems[1]].turns[1].text
    assert by_name[systems[2]].stop == StopReason.FAILED
    assert by_name[systems[2]].detail == "python:my_assistants:raising raised RuntimeError: out of ideas."
    assert by_name["canned"].stop == StopReason.SATISFIED
    assert alternates(by_name["canned"])


def test_one_dead_model_does_not_hold_up_the_others(tmp_path: Path, data: Path, talking: Talking) -> None:
    systems = [talking.model("assistant"), talking.model("assistant-wakes")]
    talking.broken["assistant-wakes"] = 404
    with Store(tmp_path / "store.db") as store:
        config = configuration(data, talking, systems=systems, options={"tasks": "SD"})
        first = run(store, config)
        assert [bool(lane.stopped) for lane in first.summary.lanes] == [False, True, False]
        assert first.run.finished is None
        whole = [dialogue.system_name for dialogue in dialogues(store, first.run.id)]
        assert whole == [systems[0]] * 3
        talking.broken.clear()
        second = run(store, config)
        assert second.run.finished is not None
        assert second.run.name == first.run.name
        found = list(dialogues(store, second.run.id))
    assert sorted(dialogue.system_name for dialogue in found) == sorted(systems * 3)
    assert {dialogue.stop for dialogue in found} == {StopReason.SATISFIED}


def test_a_failed_turn_is_tried_again_by_the_same_command(
    tmp_path: Path, data: Path, talking: Talking
) -> None:
    config = configuration(data, talking, options={"tasks": "SD"})
    talking.broken["assistant"] = 400
    with Store(tmp_path / "store.db") as store:
        first = run(store, config)
        assert {dialogue.stop for dialogue in dialogues(store, first.run.id)} == {StopReason.FAILED}
        talking.broken.clear()
        openings = sum(body["model"] == "user" for body in talking.requests)
        second = run(store, config)
        found = list(dialogues(store, second.run.id))
    assert len(found) == 3
    assert {dialogue.stop for dialogue in found} == {StopReason.SATISFIED}
    later = [body for body in talking.requests if body["model"] == "user"][openings:]
    assert all(len(body["messages"]) > 2 for body in later)  # no opening was asked for again


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"systems": []}, "dialogues need --system SPEC"),
        ({"options": {"tasks": "XD"}}, "tasks=XD"),
        ({"system_contexts": ["D+D"]}, "name each at most once"),
        ({"contexts": ["profile"]}, "--context profile: raters of dialogue items are told given"),
        ({"data": Path("nowhere")}, "there is no such folder"),
        ({"data": None}, "personalens needs --data FOLDER"),
        ({"systems": ["canned,mood=good"]}, "unknown option 'mood'"),
    ],
)
def test_bad_wishes_are_one_sentence(
    tmp_path: Path, data: Path, talking: Talking, change: dict[str, Any], message: str
) -> None:
    with Store(tmp_path / "store.db") as store, pytest.raises(UserError, match=message):
        run(store, configuration(change.pop("data", data), talking, **change))
    assert not talking.requests


def test_the_user_knows_its_history_where_that_is_asked_for(
    tmp_path: Path, data: Path, talking: Talking
) -> None:
    summary = "Person 0 asked for soup."
    plain = held(tmp_path, data, talking, options={"history": "no"})
    assert not any(summary in body["messages"][0]["content"] for body in talking.requests), "nobody was told"
    asked = talking.answered.total()
    knowing = held(tmp_path, data, talking, options={"history": "yes"})
    assert talking.answered.total() > asked, "another brief is another dialogue"
    told = {body["model"] for body in talking.requests if summary in body["messages"][0]["content"]}
    assert told == {"user"}, "the assistant, told nothing, learns nothing of it, nor does a judge"
    asked = talking.answered.total()
    assert [one.slot for one in held(tmp_path, data, talking)] == [one.slot for one in plain]
    assert talking.answered.total() == asked, "no is the default"
    briefs = {one.brief for one in plain} & {one.brief for one in knowing}
    assert not briefs
    with Store(tmp_path / "store.db") as store:
        users = [run.config["user"] for run in store.runs()]
    assert sorted("history" in user for user in users) == [False, True]
    assert next(user for user in users if "history" in user)["history"] == "yes"
