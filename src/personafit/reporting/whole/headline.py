"""The first page: what came out, in words, with lift, restraint and intervals; one line for every other part, with where to read on."""

from collections.abc import Iterator, Sequence

from personafit.reporting import sections
from personafit.reporting.agree import agreements, conclusions
from personafit.reporting.claims import counted, decided_lifts, is_few, legend_for, lift_claim, same_words
from personafit.reporting.definitions import DEFINITIONS
from personafit.reporting.dialogues.words import explain_dialogues
from personafit.reporting.html import hit_words
from personafit.reporting.injection.words import explain_injection
from personafit.reporting.preference.words import explain_preferences
from personafit.reporting.relevance.words import explain_relevance
from personafit.reporting.results import Result, overall_coverage
from personafit.reporting.sections import LineKey, line_name, line_of
from personafit.reporting.stages.page import flow_body, sources_body
from personafit.reporting.stages.results import flow_of
from personafit.reporting.whole.audits import audit_words
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.content import (
    Card,
    Cards,
    Chapter,
    Piece,
    PieceGroup,
    Prose,
    Sentences,
    true_minus,
)
from personafit.reporting.whole.glance import glance
from personafit.reporting.whole.making import training_words
from personafit.statistics.decisions import MARGIN

NOBODY, WRONG = "none", "wrong:"
MOST_SAID = 3  # sentences of one part; its chapter has them all


def headline(given: Collected) -> Chapter:
    """The answer in words."""
    groups = list(glance(given))
    groups += [PieceGroup(_title(one), _choice_pieces(one, given.margin)) for one in given.choices.values()]
    groups += [
        PieceGroup(title, [Sentences([true_minus(text) for text in said[:MOST_SAID]])])
        for title, said in _others(given)
        if said
    ]
    return Chapter(
        "headline",
        "In short",
        "What came out, in words and with its uncertainty: behind each number its 95 % interval, clustered by person, and by prompt where prompts recur.",
        groups,
        "" if groups else "There is nothing to say yet.",
    )


def _title(one: ChoiceRun) -> str:
    return f"{one.totals.info['title'] or one.totals.info['name']} (run {one.run.name})"


def _choice_pieces(one: ChoiceRun, margin: float) -> list[Piece]:
    totals, results = one.totals, one.results
    metric, words = totals.info["metric"].replace("_", " "), hit_words(totals.info)
    cards = [
        Card(
            row.name,
            {
                metric: (row.cells[0], " %"),
                "lift": (row.cells[1], ""),
                "restraint": (row.cells[2], " %"),
            },
            row.control,
        )
        for row in sections.headline(totals, results)
    ]
    note = f"All raters shown “{totals.headline_view}”. Lift: {DEFINITIONS['lift']}. Restraint: {words['restraint']}."
    warned = list(_warnings(one))
    said = [*choice_sentences(one, margin), *filter(None, [sections.best_control(totals, results)])]
    return [
        *(Prose(text, "warning") for text in warned),
        Sentences(said),
        *(Prose(text, "small") for text in legend_for(one for _, one in decided_lifts(results))),
        Cards("Each rater: score, lift, restraint", cards, note),
    ]


def _warnings(one: ChoiceRun) -> Iterator[str]:
    coverage = overall_coverage(one.totals)
    if one.run.finished is None:
        yield "This run is not finished: the same command goes on from where it stopped, and all its numbers may still move."
    elif coverage is not None and coverage < one.totals.info["coverage_bar"]:
        bar = one.totals.info["coverage_bar"]
        yield (
            f"Coverage is {100 * coverage:.1f} %, below the bar of {100 * bar:.0f} %: what is missing may not be like what is there."
        )


def choice_sentences(one: ChoiceRun, margin: float = MARGIN) -> list[str]:
    """For each rater asked for: its score with the person, without and with somebody else, what its lift shows, and restraint."""
    lines: dict[LineKey, dict[tuple[str, str], Result]] = {}
    for result in one.results:
        if result.control in (None, "no view", "wrong person") and (
            not result.slice or result.metric == "restraint"
        ):
            lines.setdefault(line_of(result), {})[result.metric, str(result.view)] = result
    view = one.totals.headline_view
    claimed = {
        line_of(row): lift_claim(row, tested)
        for row, tested in decided_lifts(one.results, margin)
        if row.view == view
    }
    return [text for line, found in lines.items() if (text := _sentence(one, found, claimed.get(line)))]


def _sentence(one: ChoiceRun, found: dict[tuple[str, str], Result], claimed: str | None) -> str:
    view, metric = one.totals.headline_view, one.totals.info["metric"]
    head = found.get((metric, view))
    if head is None or head.control is not None:
        return ""
    name = line_name(head)
    if head.value is None:
        return f"Nothing can be said of {name}: {head.note or 'it gave no answer'}."
    verb = "wins" if metric == "win_rate" else "is right"
    where = f"in {_share(head)} of {head.n:,.0f} items"
    if is_few(head):
        where = f"in {counted(head)}"
    said = f"Shown “{view}”, {name} {verb} {where}"
    others = [
        f"{_called(other)} {100 * result.value:.1f}"
        for (name_of, other), result in found.items()
        if name_of == metric
        and other != view
        and result.value is not None
        and not is_few(result)
        and (other == NOBODY or other.startswith(WRONG))
    ]
    said += f"; {', '.join(others)}." if others else "."
    said += f" {claimed}" if claimed else ""
    restraint = found.get(("restraint", view))
    if restraint is not None and restraint.value is not None:
        where = "Where the less personal answer is the right one, it is right in"
        if metric == "win_rate":  # of which a tie is no harm
            where = "Where no personal answer is asked for, knowing the person did no harm in"
        said += f" {where} {counted(restraint) if is_few(restraint) else _share(restraint)}."
    return said


def _called(view: str) -> str:
    return "with nobody" if view == NOBODY else f"with the wrong person’s ({view.removeprefix(WRONG)})"


def _share(result: Result) -> str:
    value = f"{100 * (result.value or 0.0):.1f}\u00a0%"
    if same := same_words(result):
        return f"{value} ({same})"
    if result.low is None or result.high is None:
        return value
    return f"{value} ({100 * result.low:.1f}–{100 * result.high:.1f})"


def _others(given: Collected) -> Iterator[tuple[str, Sequence[str]]]:
    """The title and the first sentences of every other part."""
    for name, talk in given.dialogues.items():
        yield f"Dialogues (run {name})", explain_dialogues(talk.run, talk.results, talk.signatures)
    for name, relevant in given.relevance.items():
        yield f"Which attributes matter (run {name})", explain_relevance(relevant.scores, relevant.results)
    for name, preferred in given.preferences.items():
        said = explain_preferences(preferred.scores, preferred.results)
        yield f"Does using them help (run {name})", said
    for name, hostile in given.injections.items():
        yield f"Hostile text (run {name})", explain_injection(hostile.results)
    for name, source in given.agreement.items():
        # The human ceiling is what they say last.
        yield (
            f"Agreement ({name})",
            [text for one in agreements(source, given.margin) for text in reversed(conclusions(one))],
        )
    for name, audit in given.audits.items():
        yield f"What the labels reward ({name})", audit_words(audit)
    for name, results in given.extractions.items():
        yield f"Extraction ({name})", sources_body([], results).sentences[:-1]  # the last names a source
    for name, results in given.flows.items():
        yield f"Error flow ({name})", flow_body(*flow_of(results), results).sentences
    for name, training in given.trainings.items():
        yield f"Training ({name})", training_words(training)
