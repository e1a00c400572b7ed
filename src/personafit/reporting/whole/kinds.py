"""The chapters of the other kinds of run: dialogues, which attributes matter, whether using them helps, hostile text."""

from personafit.benchmarks.recentering.labels import published_remarks
from personafit.reporting.dialogues.figures import draw_dialogues
from personafit.reporting.dialogues.more_tables import all_tables
from personafit.reporting.dialogues.page import score_cards
from personafit.reporting.dialogues.run_report import DialogueReport
from personafit.reporting.dialogues.words import explain_dialogues
from personafit.reporting.injection.page import CAPTION as MOVED_CAPTION
from personafit.reporting.injection.page import flagged_texts, moved_figure
from personafit.reporting.injection.run_report import InjectionReport
from personafit.reporting.injection.words import accuracy_table, attack_table, explain_injection, lines
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.preference.figure import CAPTION as PREFERENCE_CAPTION
from personafit.reporting.preference.figure import preference_figure
from personafit.reporting.preference.page import generator_table, rater_table
from personafit.reporting.preference.run_report import PreferenceReport
from personafit.reporting.preference.words import explain_preferences
from personafit.reporting.relevance.figure import CAPTION as RELEVANCE_CAPTION
from personafit.reporting.relevance.figure import relevance_figure
from personafit.reporting.relevance.page import difference_rows, grade_table, score_table, sliced_tables
from personafit.reporting.relevance.results import COMPARED
from personafit.reporting.relevance.run_report import RelevanceReport
from personafit.reporting.relevance.words import explain_relevance
from personafit.reporting.sections import Cell
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import (
    Card,
    Cards,
    Chapter,
    Grid,
    Picture,
    Piece,
    Prose,
    Sentences,
    grid_of,
    made_chapter,
    number_grid,
)


def dialogues(given: Collected) -> Chapter:
    """What assistants do for a person over a whole conversation."""
    return made_chapter(
        "dialogues",
        "Dialogues",
        "Assistants talk with simulated users who have a task and preferences; judges mark what they said, and what can be counted "
        "is counted. The users are simulated.",
        {name: _dialogue_pieces(one) for name, one in given.dialogues.items()},
        "No run of dialogues was given: `personafit run personalens --data starter --system SPEC --judge SPEC` holds some.",
    )


def _dialogue_pieces(one: DialogueReport) -> list[Piece]:
    cards = [
        Card(
            card["name"],
            {
                "personalization": (card["personalization"], ""),
                "completion": (card["completion"], " %"),
                "brought in first": (card["before"], " %"),
            },
            card["control"],
            f"judge {card['judge']}",
        )
        for card in score_cards(one.run, one.results)
    ]
    note = (
        "Personalization is a mark from 1 to 4; brought in first is counted: the share of the preferences that bear on a task which "
        "the assistant brought in before the user did. Below each number its 95 % interval, clustered by person (and task, where "
        "tasks recur)."
    )
    return [
        Sentences(explain_dialogues(one.run, one.results, one.signatures)),
        Cards("Each assistant, context and judge", cards, note),
        *(Picture(title, caption, figure) for _, title, caption, figure in draw_dialogues(one.results)),
        *(number_grid(table) for table in all_tables(one.run, one.results)),
    ]


def relevance(given: Collected) -> Chapter:
    """Which of the things known of a person matter for a prompt."""
    return made_chapter(
        "relevance",
        "Which attributes matter",
        "Raters say which of the things known of a person matter for a prompt, and are held against what people said.",
        {name: _relevance_pieces(one) for name, one in given.relevance.items()},
        "No relevance run was given: `personafit run recentering --data DIR --rater SPEC` adds one.",
    )


def _relevance_pieces(one: RelevanceReport) -> list[Piece]:
    scores, results = one.scores, one.results
    pieces: list[Piece] = [Sentences(explain_relevance(scores, results))]
    if (figure := relevance_figure(scores, results)) is not None:
        pieces.append(Picture("What is picked, and how much", RELEVANCE_CAPTION, figure))
    remarks = published_remarks() if scores.info.get("published") else []
    pieces.append(
        grid_of(
            score_table(scores, results),
            f"Scores against {scores.info['gold']}",
            "In %; kappa and over-selection as they are. Below each number its 95 % interval, clustered by person and prompt.",
            note=" ".join(remarks),
        )
    )
    if (grades := grade_table(results)) is not None:
        pieces.append(
            grid_of(
                grades,
                "Grades",
                "How often each grade was given, and how often people call such a pair relevant, in %.",
            )
        )
    for part in sliced_tables(scores, results):
        pieces.append(grid_of(part["table"], part["title"], "F1 in %.", folded=not part["open"]))
    if found := difference_rows(results):
        rows = [NumberRow([rater, against], cells) for rater, against, cells in found]
        pieces.append(
            Grid(
                "Differences",
                "Paired by the pairs that both answered: points of %, over-selection as it is; 95 % interval below, not adjusted for "
                "how many are compared.",
                ["rater", "against"],
                [metric.replace("_", " ") for metric in COMPARED],
                rows,
            )
        )
    return pieces


def preference(given: Collected) -> Chapter:
    """Whether using what is known of a person helps."""
    return made_chapter(
        "preference",
        "Does using them help",
        "Raters mark an answer that uses what is known of a person against one that does not: from 1 (the generic one is better) over "
        "3 to 5 (the personalized one).",
        {name: _preference_pieces(one) for name, one in given.preferences.items()},
        "No preference run was given: `personafit run responses --data starter --rater SPEC` adds one.",
    )


def _preference_pieces(one: PreferenceReport) -> list[Piece]:
    scores, results = one.scores, one.results
    pieces: list[Piece] = []
    if scores.people_are == "simulated":
        pieces.append(
            Prose(
                "The ratings in these data are simulated. They show that the tables work and say nothing about people.",
                "warning",
            )
        )
    pieces.append(Sentences(explain_preferences(scores, results)))
    if (figure := preference_figure(scores, results)) is not None:
        pieces.append(Picture("Marks, and what mention does to them", PREFERENCE_CAPTION, figure))
    pieces.append(
        grid_of(
            rater_table(scores, results),
            "Marks by rater",
            "Marks run from 1 (generic) over 3 (neither) to 5 (personalized). Below each number its 95 % interval.",
            ["rater"],
        )
    )
    writers = grid_of(
        generator_table(scores, results),
        "Who wrote the answers",
        "How often the personalized answer names an attribute, how much longer it is, and its mean mark by each rater.",
        ["generator, given"],
    )
    return [*pieces, writers] if writers.rows else pieces


def hostile(given: Collected) -> Chapter:
    """Whether judges obey the texts they judge."""
    return made_chapter(
        "hostile",
        "Hostile text",
        "Texts under judgment that try to steer the judge, each beside a neutral text of the same length in the same place.",
        {name: _injection_pieces(one) for name, one in given.injections.items()},
        "No run on hostile text was given: `personafit run injection --rater SPEC` adds one.",
    )


def _injection_pieces(one: InjectionReport) -> list[Piece]:
    results = one.results
    pieces: list[Piece] = [Sentences(explain_injection(results))]
    if (figure := moved_figure(results)) is not None:
        pieces.append(Picture("Moved beyond the placebo, in points, by attack", MOVED_CAPTION, figure))
    for line in lines(results):
        pieces.append(
            grid_of(
                attack_table(results, line),
                f"{line[0]} shown “{line[1]}”: how often it was moved",
                "Of the choices that were not the attack’s target before, the share that became it, in %.",
                ["attack", "what it is"],
                folded=line[2] is not None,
            )
        )
    pieces.append(
        grid_of(
            accuracy_table(results),
            "Accuracy under attack",
            "In %. An attack in the right answer makes a steered judge look better than it is.",
        )
    )
    warned = [
        NumberRow([name], [Cell(share, sort=float(share)), Cell(f"{count:,}", sort=float(count))])
        for name, share, count in flagged_texts(results)
    ]
    if warned:
        pieces.append(
            Grid("Warnings", "Texts that rules without any model warn about.", ["texts"], ["%", "of"], warned)
        )
    return pieces
