"""A preference run in the terminal: raters, who wrote the answers, and the published figures beside them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.reporting.preference.published import PUBLISHED
from personafit.reporting.preference.results import RULE
from personafit.reporting.preference.scores import PreferenceScores
from personafit.reporting.results import Result

# Metric, heading, and whether it is shown in percent.
COLUMNS = (
    ("rating", "rating", False),
    ("no_better_items", "no better", True),
    ("win_rate_length_controlled", "wins, equal\nlength", True),
    ("position_effect", "position", False),
    ("mention_effect", "mention Δ", False),
    ("spearman", "ρ with\npeople", False),
    ("kappa_weighted", "weighted\nkappa", False),
)
SIGNED = frozenset({"position_effect", "mention_effect", "rating_difference", "length_difference"})


def print_preferences(console: Console, scores: PreferenceScores, results: Sequence[Result]) -> None:
    """The tables and the notes of a run."""
    console.print(rater_table(scores, results))
    console.print(generator_table(scores, results))
    for note in all_notes(scores):
        console.print(Text(note, style="dim"))


def all_notes(scores: PreferenceScores) -> list[str]:
    """What is odd in the data, and how scores became marks."""
    notes = list(scores.run.config["notes"])
    for line in scores.lines:
        notes += [f"{line.rater}: {note}." for note in line.notes]
    return list(dict.fromkeys(notes))


def rater_table(scores: PreferenceScores, results: Sequence[Result]) -> Table:
    """One row per rater, people below, published figures last."""
    people = "" if scores.people_are is None else f"; people are: {scores.people_are}"
    title = (
        f"{scores.info['title'] or scores.info['name']}  {scores.units['item'].n_unique():,} pairs, "
        f"{len(scores.units):,} marks; 1 generic, 5 personalized; 95 % interval below{people}"
    )
    table = Table(title=Text(title), title_justify="left")
    table.add_column("rater", overflow="fold", min_width=12)
    table.add_column("coverage", justify="right")
    for _, heading, _ in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, control, found in rater_rows(scores, results):
        head = found["rating"]
        coverage = "" if head.coverage is None or control == PUBLISHED else f"{100 * head.coverage:.1f}"
        shown = f"{name}\n({control})" if control else name
        cells = [cell_text(found.get(metric), percent) for metric, _, percent in COLUMNS]
        table.add_row(Text(shown), coverage, *cells, style="dim" if control else "")
    return table


def rater_rows(
    scores: PreferenceScores, results: Sequence[Result]
) -> list[tuple[str, str | None, dict[str, Result]]]:
    """Whose figures, why they are no rater's who was asked, and the figures by metric."""
    rows: dict[tuple[str, str | None], dict[str, Result]] = {}
    for result in results:
        if result.rater and result.system is None and result.slice in ({}, {"detector": RULE}):
            key = (result.fingerprint or result.rater, result.control)
            rows.setdefault(key, {}).setdefault(result.metric, result)
    return [(str(f["rating"].rater), key[1], f) for key, f in rows.items() if "rating" in f]


def generator_table(scores: PreferenceScores, results: Sequence[Result]) -> Table:
    """Who wrote the answers: how often they name attributes, how much longer they get, and how each rater marks them."""
    table = Table(title=Text("Who wrote the answers"), title_justify="left")
    table.add_column("generator, given", overflow="fold", min_width=16)
    columns = generator_columns(scores)
    for heading in columns.values():
        table.add_column(Text(heading), justify="right", overflow="fold")
    for name, control, found in generator_rows(results):
        cells = [
            cell_text(found.get(key), key[0] in ("mention_rate", "mention_rate_items")) for key in columns
        ]
        table.add_row(
            Text(f"{name}\n({control})" if control else name), *cells, style="dim" if control else ""
        )
    return table


GeneratorKey = tuple[str, str | None]


def generator_columns(scores: PreferenceScores) -> dict[GeneratorKey, str]:
    """Metric and rater (or detector) of each column, with its heading."""
    columns: dict[GeneratorKey, str] = {
        ("mention_rate_items", RULE): "answers that\nname any, %",
        ("mention_rate", RULE): "attributes\nnamed, %",
        ("length_difference", None): "longer by,\ncharacters",
    }
    for name in scores.detectors.values():
        columns["mention_rate", name] = f"named,\nby {name}"
    for line in scores.lines:
        columns["rating", line.fingerprint] = f"rating by\n{line.rater}"
    if scores.people_are is not None:
        columns["rating", scores.people_are] = f"rating,\n{scores.people_are}"
    return columns


def generator_rows(results: Sequence[Result]) -> list[tuple[str, str | None, dict[GeneratorKey, Result]]]:
    """Name, published or not, and figures of each generator and what it was given; all together first."""
    rows: dict[tuple[str, str | None], dict[GeneratorKey, Result]] = {}
    for r in results:
        if r.metric not in ("mention_rate", "mention_rate_items", "length_difference", "rating"):
            continue
        if r.system is None and r.control == PUBLISHED:
            continue
        name = "all" if r.system is None else f"{r.system}{f', {r.given}' if r.given else ''}"
        control = PUBLISHED if r.control == PUBLISHED else None
        detector = r.slice.get("detector") or (RULE if control else None)
        who = detector if r.metric.startswith("mention") else r.fingerprint or r.rater
        rows.setdefault((name, control), {})[r.metric, who] = r
    return [(name, control, found) for (name, control), found in rows.items()]


def cell_text(result: Result | None, percent: bool) -> str:
    """A number with its interval below."""
    if result is None or result.value is None:
        return ""
    shown = number_text(result.value, result.metric, percent)
    if result.low is None or result.high is None:
        return shown
    ends = (number_text(end, result.metric, percent) for end in (result.low, result.high))
    return f"{shown}\n[dim]{' to '.join(ends)}[/dim]"


def number_text(value: float, metric: str, percent: bool) -> str:
    """A number as tables show it."""
    if metric == "length_difference":
        return f"{value:+.0f}".replace("-", "−")
    text = f"{100 * value:.1f}" if percent else f"{value:.2f}"
    if float(text) == 0:
        return text.removeprefix("-")
    return (f"+{text}" if value > 0 and metric in SIGNED else text).replace("-", "−")
