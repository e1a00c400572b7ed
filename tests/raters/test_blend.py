"""`blend:`: the mean of fitted raters and reward models, as one rater wherever raters go."""

import json
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from personafit import Status, Store, UserError
from personafit._secrets import masked
from personafit.benchmarks import RunConfig
from personafit.kinds.choice import load_scores
from personafit.models import Unanswerable, Unusable
from personafit.raters import make_rater
from personafit.raters.fitted.model import SHIPPED
from personafit.reports.calibration import rater_margins
from personafit.reports.run_report import open_report
from personafit.store import TIE, run_answers
from tests.raters.reward.scoring_server import ScoringServer
from tests.raters.reward.test_rater import about, rate, scores
from tests.raters.reward.tiny import save_reward, say_trained, torch, transformers
from tests.scripted import invoke, run, shown, write_lines

FITTED = "fitted:general-zh"
PAIRS = [
    about(shown(texts=("来一杯茶吧。" * number, "咖啡。")), 喜好="茶", Job=str(number))
    for number in range(1, 6)
]


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The spec of a reward model, in a folder with a plus in its name."""
    return f"reward:{save_reward(tmp_path_factory.mktemp('tiny') / 'tea+coffee')}"


def test_the_mean_of_the_members(reward: str) -> None:
    alone = [rate(make_rater(spec), *PAIRS) for spec in (FITTED, reward)]
    together = rate(make_rater(f"blend:{FITTED}+{reward}"), *PAIRS)
    for fitted, scored, blended in zip(*alone, together, strict=True):
        margins = json.loads(blended.reply or "")
        assert margins == {
            FITTED: fitted.answers[0].value,
            reward: pytest.approx(scored.answers[0].value, abs=1e-5),
        }
        assert blended.answers[0].value == fmean(margins.values())
        assert blended.answers[0].label == ("0" if blended.answers[0].value > 0 else "1")
        assert (blended.status, blended.tokens_in) == (Status.OK, scored.tokens_in)


def test_the_order_of_members_does_not_matter(reward: str, tmp_path: Path) -> None:
    other = f"reward:{save_reward(tmp_path, seed=1)}"
    one, two = (make_rater(f"blend:{'+'.join(names)}") for names in ([FITTED, reward], [reward, FITTED]))
    assert one.record.fingerprint == two.record.fingerprint
    assert one.record.fingerprint != make_rater(f"blend:{FITTED}+{other}").record.fingerprint
    found = [[verdict.answers[0].value for verdict in rate(rater, *PAIRS)] for rater in (one, two)]
    assert found[0] == pytest.approx(found[1], abs=1e-5)
    assert one.record.kind == "blend"
    assert not one.order_matters


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts the reward model scored at once, each time."""
    from personafit.raters.reward.local import Engine

    found, scored = [], Engine.scores

    def counting(self: Engine, sequences: Any) -> list[float]:
        found.append(len(sequences))
        return scored(self, sequences)

    monkeypatch.setattr(Engine, "scores", counting)
    return found


def test_what_waits_is_scored_together(reward: str, sizes: list[int]) -> None:
    blend, alone = make_rater(f"blend:{FITTED}+{reward}"), make_rater(reward)
    assert (blend.endpoint, blend.max_concurrency) == (alone.endpoint, alone.max_concurrency)
    rate(blend, *(about(shown(), Job=str(number)) for number in range(60)))
    assert sum(sizes) == 120
    assert len(sizes) < 20


def test_a_member_without_a_score_leaves_none(tmp_path: Path) -> None:
    spec = f"reward:{save_reward(tmp_path)}"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    with torch.no_grad():
        model.score.weight.fill_(float("nan"))
    model.save_pretrained(tmp_path)
    (verdict,) = rate(make_rater(f"blend:{FITTED}+{spec}"), PAIRS[0])
    assert (verdict.status, verdict.answers[0].label, verdict.answers[0].value) == (
        Status.UNPARSED,
        None,
        None,
    )
    assert (verdict.detail or "").startswith(f"{spec}: the model gave no finite score")
    assert json.loads(verdict.reply or "")[spec] is None
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(Unusable, match="the weights cannot be loaded") as raised:
        rate(make_rater(f"blend:{FITTED}+{spec}"), PAIRS[0])
    assert str(raised.value).startswith(spec)


def test_what_a_member_left_out_is_said(reward: str) -> None:
    one = about(shown(), Likes="tea", Home="y" * 400)
    (verdict,) = rate(make_rater(f"blend:{reward},max_tokens=330+{FITTED}"), one)
    assert verdict.status == Status.OK
    assert verdict.detail == f"{reward},max_tokens=330: 1 of 2 facets left out to keep to 330 tokens"


def test_more_than_two_answers_where_all_members_can(reward: str, tmp_path: Path) -> None:
    other = f"reward:{save_reward(tmp_path, seed=1)}"
    three = about(shown(texts=("tea", "coffee", "nothing")), Likes="tea")
    each = [scores(rate(make_rater(spec), three)[0]) for spec in (reward, other)]
    means = [fmean(column) for column in zip(*each, strict=True)]
    (verdict,) = rate(make_rater(f"blend:{reward}+{other}"), three)
    assert verdict.answers[0].label == str(means.index(max(means)))
    assert verdict.answers[0].value == pytest.approx(means[0] - max(means[1:]), abs=1e-4)
    with pytest.raises(Unanswerable, match="fitted:general-zh compares two answers, not 3"):
        rate(make_rater(f"blend:{reward}+{FITTED}"), three)


def test_servers_are_asked_and_paid_for(reward: str) -> None:
    tea = about(shown(), Likes="tea")
    with ScoringServer("classify") as first, ScoringServer("pooling") as second:
        dear, narrow = first.spec(",price=3/0"), second.spec(",api=pooling,price=2/1,concurrency=8")
        blend = make_rater(f"blend:{dear}+{FITTED}+{narrow}")
        assert (blend.price, blend.max_concurrency) == ((3.0, 1.0), 8)
        request = blend.request(tea)
        assert request is not None
        assert len(request.messages) == 12
        (verdict,) = rate(blend, tea)
        assert make_rater(f"blend:{FITTED}+{first.spec()}").price is None
        assert make_rater(f"blend:{reward}+{FITTED}").request(tea) is None
        spec = f"blend:{first.spec()}+{second.spec()}"
        assert masked(spec) == spec
        (neither,) = rate(make_rater(spec), shown(texts=("milk", "wine")))
    assert (neither.answers[0].label, neither.answers[0].value) == (TIE, 0.0)
    margins = json.loads(verdict.reply or "")
    assert (margins[dear], margins[narrow]) == (997.0, 997.0)
    assert verdict.answers[0].value == fmean(margins.values())
    assert (verdict.tokens_in, verdict.calls) == (48, 5)
    assert verdict.cost == pytest.approx((24 * 3 + 24 * 2) / 1e6)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("blend", "name two or more raters joined by +"),
        ("blend:", "name two or more raters joined by +"),
        (f"blend:{FITTED}", "name two or more raters joined by +"),
        (f"blend:{FITTED}+", "name two or more raters joined by +"),
        (f"blend:+{FITTED}", "name two or more raters joined by +"),
        (f"blend:rule:length+{FITTED}", "rule:length cannot be blended, because its margin was not fitted"),
        (f"blend:blend:{FITTED}+fitted:x", "a blend cannot contain a blend"),
        (f"blend:{FITTED}+{FITTED}", "are the same rater; name each once"),
        (f"blend:{FITTED}+fitted:{SHIPPED / 'general-zh.json'}", "are the same rater; name each once"),
        (f"blend:{FITTED}+reward:nowhere", "reward:nowhere: there is no such folder"),
        (f"blend:{FITTED},price=1+fitted:x", "unknown option 'price'; fitted knows none"),
        ("blend:reward:a@http://h:1+reward:b@http://me:word@h/v1", "do not belong into a spec"),
    ],
)
def test_bad_specs_are_one_sentence(spec: str, said: str) -> None:
    with pytest.raises(UserError) as raised:
        make_rater(spec)
    assert said in str(raised.value)
    assert "me:word" not in str(raised.value)


def test_a_run_its_resumption_and_what_reads_it(reward: str, sizes: list[int], tmp_path: Path) -> None:
    spec = f"blend:{FITTED}+{reward}"
    with Store(tmp_path / "store.db") as store:
        first = run(store, RunConfig("starter", raters=[spec], limit=8))
        assert sum(sizes) == 8 * 3 * 2
        again = run(store, RunConfig("starter", raters=[spec], limit=8))
        assert (again.run.name, sum(sizes)) == (first.run.name, 8 * 3 * 2)
        fingerprint = make_rater(spec).record.fingerprint
        answers = run_answers(store, first.run.id)
        answers = answers.filter(answers["rater"] == fingerprint)
        assert (len(answers), set(answers["status"])) == (24, {Status.OK})
        results = [r for r in open_report(store, again.run).results if r.rater == spec and not r.slice]
        assert {r.coverage for r in results if r.metric == "accuracy"} == {1.0}
        (confidence,) = [
            one for one in rater_margins(store, load_scores(store, again.run)) if one.line.rater == spec
        ]
        assert (len(confidence.frame), confidence.note) == (8, None)


def test_people_its_members_were_fitted_on_are_said(reward: str, tmp_path: Path) -> None:
    from personafit.models.reward.rendering import PromptRenderer
    from personafit.raters.rater import fitted_mark

    folder = tmp_path / "met"
    shutil.copytree(reward.removeprefix("reward:"), folder)
    say_trained(folder, PromptRenderer(transformers.AutoTokenizer.from_pretrained(folder), 512).fingerprint)
    facts = json.loads((folder / "personafit.json").read_text(encoding="utf-8"))
    facts["fitted_on"] = [fitted_mark("andre"), fitted_mark("callum")]
    (folder / "personafit.json").write_text(json.dumps(facts), encoding="utf-8")
    spec = f"blend:{FITTED}+reward:{folder}"
    with Store(tmp_path / "store.db") as store:
        done = run(
            store, RunConfig("starter", raters=[spec], contexts=["none"], people=["andre", "callum", "nadia"])
        )
        note = f"{spec} was fitted on 2 of the people here: its score on them is no evidence."
        assert note in done.run.config["notes"]
        assert list(done.run.met_people.values()) == [note]
        results = open_report(store, done.run).results
        assert {r.rater for r in results if r.met_people} == {spec}
        assert {r.rater for r in results} > {spec}
        others = run(store, RunConfig("starter", raters=[spec], contexts=["none"], people=["nadia"]))
        assert others.run.met_people == {}, "people of the benchmark who are not judged do not count"


def test_it_chooses_the_best_of_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {
            "id": f"q{n}",
            "person": {"id": "ann", "Likes": "tea"},
            "question": "?",
            "answers": ["tea", "milk", "x"],
        }
        for n in range(3)
    ]
    write_lines(tmp_path / "in.jsonl", rows)
    with ScoringServer("classify") as server:
        spec = f"blend:{FITTED}+{server.spec()}"
        invoke(monkeypatch, tmp_path, "data", "best-of", "in.jsonl", "--rater", spec, "--out", "out.jsonl")
    chosen = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["answer"] for row in chosen] == ["tea"] * 3
