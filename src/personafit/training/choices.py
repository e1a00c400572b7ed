"""Human choices from a benchmark, in the shape that fitting takes; and what a training run writes."""

import json
from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, starter
from personafit.raters.fitted.file import save_fitted
from personafit.raters.fitted.pairwise import PairwiseModel
from personafit.statistics import Estimate
from personafit.training.pairwise import PreferencePair
from personafit.training.quality import QualityReport


def open_choices(data: Path) -> Benchmark:
    """What --data names: a benchmark folder, PersonaFeedback as published, or `starter`."""
    if str(data) == "starter":
        return starter()
    return FolderBenchmark(data) if (data / "benchmark.toml").is_file() else PersonaFeedback(data)


def load_choices(benchmark: Benchmark) -> list[PreferencePair]:
    """Every decided pair of a benchmark with the person's facets."""
    people = {person.id: person for person in benchmark.people()}
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row for row in benchmark.gold() if row.rater == benchmark.info.gold}
    choices = []
    for item in benchmark.items():
        row = gold.get(item.id)
        if row is None or len(item.products) != 2 or row.label not in ("0", "1"):
            continue
        chosen, rejected = item.products[int(row.label)], item.products[1 - int(row.label)]
        tier = str((row.extra or {}).get("tier") or "")
        facets = people[item.person].facets
        choices.append(PreferencePair(item.person, facets, item.prompt, texts[chosen], texts[rejected], tier))
    if len({choice.person for choice in choices}) < 2:
        raise UserError(
            f"{benchmark.info.name} has no decided pairs of two people or more: there is nothing to fit."
        )
    return choices


def write_rater(folder: Path, model: PairwiseModel, report: QualityReport, source: str) -> None:
    """Write fitted.json, quality.json and card.md."""
    folder.mkdir(parents=True, exist_ok=True)
    save_fitted(model, folder)
    (folder / "quality.json").write_text(json.dumps(report.as_dict(), indent=1) + "\n", encoding="utf-8")
    (folder / "card.md").write_text(card(model, report, source), encoding="utf-8")


def card(model: PairwiseModel, report: QualityReport, source: str) -> str:
    """What the rater is, how it was fitted and what it is worth, for people."""
    lines = [
        "# A fitted pairwise rater",
        "",
        f"Fitted on {model.card['pairs']:,} human choices of {model.card['people']:,} people from {source}. It sees one pair at a "
        "time: the person's facets, the question and the two answers, and nothing about how often a text occurs elsewhere.",
        "",
        "Two linear parts are added up: bounded differences of surface and overlap features, and characters and pairs of "
        "characters of the answers. Penalties, vocabulary, scaling and the calibrated blend are chosen on people left out.",
        "",
        "Cross-fitted by person (nobody's own choices were used on them), 95 % interval clustered by person and, where "
        "questions recur, by question:",
        "",
        "| pairs | n | accuracy | gain over the overlap rule |",
        "|---|---|---|---|",
    ]
    for name, estimate in report.accuracy.items():
        lines.append(
            f"| {name} | {estimate.n:,} | {_show(estimate)} | {_show(report.gain_over_overlap[name], '+.1f')} |"
        )
    lines += [
        "",
        f"Baselines on all pairs: overlap {_show(report.overlap)}, length {_show(report.length)}. "
        f"Log loss {report.log_loss:.3f}, calibration error {report.calibration_error or 0:.3f}.",
        "",
        "It knows what these annotators chose, shortcuts included: it is a strong control and a cheap pre-screen, not a "
        "judge of people it was not fitted on.",
    ]
    return "\n".join(lines) + "\n"


def _show(estimate: Estimate, form: str = ".1f") -> str:
    if estimate.value is None:
        return "–"
    text = format(100 * estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({format(100 * estimate.low, form)} to {format(100 * estimate.high, form)})"
