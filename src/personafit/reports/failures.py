"""Failure modes: flaws in the answers a rater chose, or the items on which a rater is furthest from people.

For choices, rules count by slice how the chosen answers treat the person. The rules are deliberately narrow, in English and Chinese;
docs/measurements/failure-modes.md says what they find on real data and how far they can be trusted. Their patterns are in
failure_rules.toml. Heavy use of a profile and naming are descriptions, not faults: people often prefer such answers.

For raters that say yes or no or give marks, it counts how often they are wrong and lists the units on which they are furthest off; for
systems that write, the texts least like what the person wrote.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import chain, compress
from operator import add
from statistics import median
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.contexts import People
from personafit.kinds import run_lines
from personafit.kinds.choice import RunScores, choices_of, columns_of, missing_halves
from personafit.kinds.lines import UNIT_SCALE, Line, Metric, Reference, RunLines, sliced
from personafit.people import Person, facet_values, names_of
from personafit.reports.analysis import Analysis, answers_of, choice_hints, has_truth, judged_lines
from personafit.reports.answer_pairs import answer_pairs
from personafit.reports.claims import people_words
from personafit.reports.line_results import line_result
from personafit.reports.pieces import Cell, Grid, Row, figure_cell, percent_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, marked_met, with_interval
from personafit.statistics import mean_by_item
from personafit.store import TIE, RunRecord, Store

MODES = ("heavy profile use", "generic", "named", "refusal", "contradiction")

STRANGERS = 9  # other people whose profiles set the overlap expected by chance
COMMON = 0.05  # terms in more than this share of profiles do not identify a person
HEAVY, FAR_ABOVE = (
    0.12,
    2.0,
)  # share of the person's own terms in the answer, and its ratio to the other answer's
FACTS = 3  # statements of the profile that an answer must take up to count as heavy use
ENOUGH = 40  # new terms an answer needs before missing profile terms count

# For lower-cased text; ı and ſ are what `re.IGNORECASE` would also match for i and s, in twice the time.
_WORD = re.compile(r"[a-zıſ][a-z0-9ıſ'’-]{2,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]{2,}")
_SENTENCE = re.compile(r"[^。！？!?；;\n.]*[。！？!?；;\n.]?")
_STATEMENT = re.compile(r"[。！？!?；;\n.，,]+")


def _any(words: Sequence[str]) -> str:
    return "|".join(words)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SAID = tomllib.loads((files(__package__) / "failure_rules.toml").read_text(encoding="utf-8"))
_REFUSAL = _compiled(rf"\W*(?:{_any(_SAID['refusals'])})")
_OF_READER = {language: re.compile(_any(said)) for language, said in _SAID["of_reader"].items()}
_POLITE = re.compile(_any(_SAID["no_negations"]))
_NEGATED = _compiled(_any(_SAID["negations"]))
_DIETS = [(_compiled(_any(diet["signs"])), diet["foods"]) for diet in _SAID["diets"]]


def _avoidance() -> tuple[re.Pattern[str], ...]:
    """Compile patterns for what the person avoids: the object after (in Chinese, also before) the cue, cut at the next clause."""
    zh = {name: _any(words) for name, words in _SAID["avoids"]["zh"].items()}
    en = {name: _any(words) for name, words in _SAID["avoids"]["en"].items()}
    han = r"[\u4e00-\u9fff]"
    end = rf"(?={zh['ends']}|[^\u4e00-\u9fff]|$)"
    return (
        # Two characters are mostly verbs, such as 互动.
        re.compile(rf"(?:{zh['cues']})(?:{zh['verbs']})?+(?:{zh['determiners']})?+({han}{{3,8}}?){end}"),
        re.compile(rf"(?:{zh['food_cues']})(?:{zh['food_verbs']})({han}{{2,6}}?){end}"),
        re.compile(rf"对({han}{{2,8}}?)(?:{zh['degrees']})?(?:{zh['aversions']})"),
        _compiled(
            rf"\b(?:{en['cues']})\s+(?:{en['determiners']})?([a-z'’-]+(?: [a-z'’-]+)?)"
            rf"(?=[^a-z' -]|$| (?:{en['ends']})\b)"
        ),
    )


_AVOIDANCE = _avoidance()


@lru_cache(64)  # the rules use each text several times
def terms(text: str) -> frozenset[str]:
    """Return the terms by which texts are compared: words of three letters or more, and Chinese character bigrams."""
    lowered = text.lower()
    words = _WORD.findall(lowered)
    if lowered.isascii():
        return frozenset(words)
    return frozenset(chain(words, *(map(add, run, run[1:]) for run in _CHINESE.findall(lowered))))


@dataclass(frozen=True)
class Portrait:
    """What the rules use of one person."""

    own: frozenset[str]
    """Terms of the profile that few other profiles contain."""
    strangers: Sequence[frozenset[str]]
    """The own terms of some other people."""
    facts: Sequence[frozenset[str]]
    """The own terms in each statement of the profile with at least two of them."""
    names: Sequence[str]
    avoided: frozenset[str]

    @cached_property
    def others(self) -> frozenset[str]:
        return frozenset().union(*self.strangers)

    @cached_property
    def chinese(self) -> float:
        """The share of Chinese among the own terms."""
        return _chinese(self.own)


def portraits(people: People, wanted: Collection[str]) -> dict[str, Portrait]:
    """Build a portrait of each person in `wanted`; strangers are the next people of the same language in the order of their hashes."""
    found: dict[str, Portrait] = {}
    for language in {person.language for person in people.values()}:
        ids = sorted(people.of_language(language), key=lambda person: hash_text("stranger", person, "0"))
        texts = {person: "\n".join(facet_values(people[person].facets)) for person in ids}
        said = {person: terms(text) for person, text in texts.items()}
        counts = Counter(chain.from_iterable(said.values()))
        most = max(1, int(COMMON * len(ids)))
        own = [frozenset(t for t in said[person] if counts[t] <= most) for person in ids]
        ring, strangers = own * 2, min(STRANGERS, len(ids) - 1)
        for place, person in enumerate(ids):
            if person in wanted:
                others = ring[place + 1 : place + 1 + strangers]
                found[person] = _portrait(people[person], texts[person], own[place], others)
    return found


def _portrait(known: Person, text: str, own: frozenset[str], strangers: Sequence[frozenset[str]]) -> Portrait:
    statements = (terms(part) & own for part in _STATEMENT.split(text))
    avoided = {match.lower() for cue in _AVOIDANCE for match in cue.findall(text)}
    avoided.update(food for diet, foods in _DIETS if diet.search(text) for food in foods)
    return Portrait(
        own=own,
        strangers=strangers,
        facts=[fact for fact in statements if len(fact) > 1],
        names=names_of(known.facets),
        avoided=frozenset(avoided),
    )


def failures(portrait: Portrait, question: str, answer: str, other: str) -> frozenset[str]:
    """Return the failure modes that the rules detect in an answer; `other` is the other answer of the pair."""
    said = _said(answer, question)
    own = said & portrait.own
    seen = (
        _heavy(portrait, said, own, question, other),
        _generic(portrait, said, own, answer),
        _names(portrait, question, answer),
        bool(_REFUSAL.match(answer)),
        _contradicts(portrait, question, answer),
    )
    return frozenset(compress(MODES, seen))


def _heavy(portrait: Portrait, said: frozenset[str], own: frozenset[str], question: str, other: str) -> bool:
    ours = len(own) / max(1, len(said))
    if ours < HEAVY or sum(len(fact & own) > 1 for fact in portrait.facts) < FACTS:
        return False
    beside = _said(other, question)
    return ours >= FAR_ABOVE * len(beside & portrait.own) / max(1, len(beside))


def _generic(portrait: Portrait, said: frozenset[str], own: frozenset[str], answer: str) -> bool:
    if len(said) < ENOUGH or not portrait.strangers:
        return False
    shared = said & portrait.others
    if len(own) > median([len(shared & stranger) for stranger in portrait.strangers]):
        return False
    # A text in another script than the profile cannot overlap with it.
    return not _speaks_to_reader(answer.lower()) and abs(_chinese(said) - portrait.chinese) <= 0.5


def _speaks_to_reader(lowered: str) -> bool:
    # Most such answers say "you"; this cheap test spares most others the patterns.
    english = any(word in lowered for word in ("you", "someone", "somebody")) and _OF_READER["en"].search(
        lowered
    )
    return bool(english or (not lowered.isascii() and _OF_READER["zh"].search(lowered)))


@lru_cache(16)
def _said(text: str, question: str) -> frozenset[str]:
    """Return the terms of a text that are not in the question."""
    return terms(text) - terms(question)


def _chinese(said: frozenset[str]) -> float:
    if "".join(said).isascii():
        return 0.0
    return sum(map("\u4e00".__le__, said)) / max(1, len(said))


def _names(portrait: Portrait, question: str, answer: str) -> bool:
    for name in portrait.names:
        if name not in answer:
            continue
        pattern = rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name)
        if re.search(pattern, answer) and not re.search(pattern, question, re.IGNORECASE):
            return True
    return False


def _contradicts(portrait: Portrait, question: str, answer: str) -> bool:
    lowered = answer.lower()
    for thing in portrait.avoided:
        if thing not in lowered or thing in question.lower():
            continue
        pattern = rf"\b{re.escape(thing)}" if thing.isascii() else re.escape(thing)
        for sentence in _SENTENCE.findall(answer):
            if re.search(pattern, sentence, re.IGNORECASE) and not _NEGATED.search(_POLITE.sub("", sentence)):
                return True
    return False


# -- choices -----------------------------------------------------------------------------------------------------------------


def find_rater(scores: RunScores, name: str | None) -> dict[str, Any]:
    """Return the rater with this name or fingerprint; by default the first rater."""
    for rater in scores.raters:
        if name in (None, rater["name"], rater["fingerprint"]):
            return rater
    known = ", ".join(rater["name"] for rater in scores.raters)
    raise UserError(f"{scores.run.name} has no rater '{name}'; it has {known}.")


def answer_failures(store: Store, scores: RunScores, rater: dict[str, Any]) -> pl.DataFrame:
    """Return one row per item and answer: the item's columns, the rater's choice, the answer ('0' or '1'), and each mode as 0 or 1."""
    known = portraits(People(store.people(scores.run.dataset)), set(scores.items["person"]))
    rows = []
    for pair in answer_pairs(store, scores):
        for index, answer in enumerate(pair.texts):
            seen = failures(known[pair.person], pair.prompt, answer, pair.texts[1 - index])
            rows.append((pair.item, str(index), *(float(mode in seen) for mode in MODES)))
    schema = {"item": pl.String(), "answer": pl.String(), **dict.fromkeys(MODES, pl.Float64())}
    lead = pl.col("value").sum()
    choice = (
        pl.when(lead > 0).then(pl.lit("0")).when(lead < 0).then(pl.lit("1"))
    )  # null where the two orders cancel
    chosen = answers_of(scores, rater).group_by("item", maintain_order=True).agg(choice.alias("choice"))
    judged = scores.items.join(chosen, on="item", how="left", maintain_order="left")
    return judged.join(pl.DataFrame(rows, schema=schema, orient="row"), on="item", maintain_order="left")


WHO = ("chosen by the rater", "chosen by gold", "rejected by gold")


def failure_results(scores: RunScores, frame: pl.DataFrame, rater: dict[str, Any]) -> list[Result]:
    """Return the share of answers with each mode, by slice: those the rater chose and, if there is gold, those it chose and rejected."""
    # People and prompts are only cluster keys, and numbers are faster than strings.
    frame = frame.with_columns(pl.col("person", "prompt").rank("dense"))
    answer, gold = pl.col("answer"), pl.col("gold")
    rejected = (answer != gold) & (gold != TIE)
    kept = dict(zip(WHO, (answer == pl.col("choice"), answer == gold, rejected), strict=True))
    chosen = Line.of(rater, scores.headline_context, frame, None)
    gold_line = Line(scores.info["gold"], None, None, None, None, frame)
    results = []
    for who in WHO if has_truth(scores) else WHO[:1]:  # otherwise gold only marks the answer under test
        whole, line = frame.filter(kept[who]), chosen if who == WHO[0] else gold_line
        for _, where in columns_of(scores):
            part = whole.filter(*(pl.col(name) == value for name, value in where.items()))
            for mode in MODES if len(part) else ():
                slices = {"mode": mode, "answers": who, **where}
                results.append(line_result(line, mean_by_item(part, mode), "failure_share", slices))
    return results


# -- the units that are furthest off -----------------------------------------------------------------------------------------

SHOWN = 20
TOLD = ("item", "target", "person", "prompt", "system", "system_context", "attribute", "text")
FAR_MARKS = 2.0  # a distance in marks too large to be a matter of taste


@dataclass(frozen=True)
class WorstUnits:
    """How often a rater (or system) is wrong, and the units on which it is furthest off."""

    name: str
    measure: str
    """Description of what is counted."""
    results: list[Result]
    units: pl.DataFrame
    """The worst units first: columns that identify the unit, `said`, `people` and `far`."""


def line_failures(opened: RunLines, rater: str | None = None) -> list[WorstUnits]:
    """Return the failures of a rater (by default the first), per question; where systems write, those of each system."""
    if not opened.references:
        lines = [line for line in opened.lines if line.control is None]
        what = "system" if any(line.system for line in lines) else "rater"
        return [_written(opened, line) for line in _named(opened, lines, rater, what)]
    found = []
    for reference in opened.references:
        own = _named(opened, judged_lines(opened, reference), rater, "rater")
        own = [line for line in own if line.rater == own[0].rater]
        if any(reference.known(line) for line in own):
            found.append(_judged(opened, reference, own))
    if not found:
        raise UserError(
            f"{opened.run.name}: people have not rated any of its items, so no rater can be shown to be wrong; "
            "collect ratings with `personafit label`."
        )
    return found


def _named(opened: RunLines, lines: Sequence[Line], wanted: str | None, what: str) -> list[Line]:
    """Return the lines of the rater or system with this name or fingerprint."""
    if not lines:
        why = "only controls were run" if not opened.references else "its raters give scores and no marks"
        raise UserError(f"{opened.run.name}: {why}, so there are no failures to show.")
    own = [line for line in lines if wanted in (None, getattr(line, what), line.fingerprint)]
    if not own:
        names = ", ".join(dict.fromkeys(str(getattr(line, what)) for line in lines))
        raise UserError(f"{opened.run.name} has no {what} '{wanted}'; it has {names}.")
    return own


def _judged(opened: RunLines, reference: Reference, lines: Sequence[Line]) -> WorstUnits:
    frames = []
    for line in lines:
        made = {"system": line.system, "system_context": line.system_context}
        absent = {name: value for name, value in made.items() if name not in line.frame.columns}
        frames.append(
            line.frame.with_columns(
                reference.distances(line.frame).alias("far"),
                pl.col(reference.answer).cast(pl.Float64).alias("said"),
                pl.col(reference.people).cast(pl.Float64).alias("people"),
                *(pl.lit(value, pl.String).alias(name) for name, value in absent.items()),
            )
        )
    whole = pl.concat(frames).filter(pl.col("far").is_not_null())
    binary = reference.bounds == UNIT_SCALE
    wrong = pl.col("far") > 0.5 if binary else pl.col("far") >= FAR_MARKS
    whole = whole.with_columns(wrong.cast(pl.Float64).alias("wrong"))
    measure = (
        "answers that differ from people's"
        if binary
        else f"ratings at least {FAR_MARKS:g} away from people's"
    )
    rater = lines[0]
    scale = (0.0, reference.bounds[1] - reference.bounds[0])
    figures = [("wrong_share", "wrong", UNIT_SCALE), *([] if binary else [("distance", "far", scale)])]
    of_all = replace(rater, system=None, system_context=None)  # over the products of all systems
    results = [
        line_result(
            of_all, mean_by_item(part, column, bounds), metric, {"question": reference.question, **where}
        )
        for where, part in sliced(whole, opened.slices)
        for metric, column, bounds in figures
    ]
    worst = whole.filter(pl.col("far") > 0).sort("far", descending=True, maintain_order=True).head(SHOWN)
    columns = [name for name in TOLD if name in worst.columns and worst[name].null_count() < len(worst)]
    units = worst.select(*columns, "said", "people", "far")
    return WorstUnits(str(rater.rater), measure, marked_met(opened.run, results), units)


def _written(opened: RunLines, line: Line) -> WorstUnits:
    """Return one system's texts that are least like what the person wrote."""
    metric: Metric = opened.headline
    known = line.frame.with_columns(metric.per_row(line.frame).alias("said")).filter(
        pl.col("said").is_not_null()
    )
    results = [
        line_result(line, metric.of(part), metric.name, where) for where, part in sliced(known, opened.slices)
    ]
    worst = known.sort("said", maintain_order=True).head(SHOWN)
    units = worst.select(*(name for name in TOLD if name in worst.columns), "said")
    told = f" given {line.system_context}" if line.system_context else ""
    return WorstUnits(
        f"{line.system or line.rater}{told}", f"texts with the lowest {metric.name}", results, units
    )


# -- pieces ------------------------------------------------------------------------------------------------------------------

LEAD = (
    "Answers that make heavy use of the profile, are generic, name the person, refuse, or contradict the profile. Heavy use and naming "
    "are descriptions, not faults. The answers that gold chose and rejected are shown for comparison."
)
MEANING = (
    "Heavy profile use: it takes up three statements of the profile or more, and twice the other answer's share. Generic: long, and "
    "neither addressed to the reader nor nearer to this profile than to a stranger's. Named: it calls the person by name."
)
LONGEST = 120  # characters of a text in a table


def analyze_failures(
    store: Store, run: RunRecord, rater: str | None = None, scores: RunScores | None = None
) -> Analysis:
    """Analyse the failure modes of the answers a rater chose, or the units on which it is furthest off."""
    scores = scores or choices_of(store, run)
    if scores is not None:
        who = find_rater(scores, rater)
        results = failure_results(scores, answer_failures(store, scores, who), who)
        title, said = f"Failure modes of {run.name}", _modes_in_words(results)
        grid = failures_grid(scores, results)
        part = ReportPart(run.name, title, said, [grid] if grid.rows else [])
        return Analysis(scores.info["name"], results, part, {"note": "rules only"}, choice_hints(scores))
    opened = run_lines(store, run)
    found = line_failures(opened, rater)
    results = [result for one in found for result in one.results]
    units = [{"who": one.name, **row} for one in found for row in one.units.to_dicts()]
    title = f"Largest errors in {run.name}"
    sentences = [text for one in found for text in _shares_in_words(one)]
    part = ReportPart(run.name, title, sentences, [_units_grid(one) for one in found])
    return Analysis(opened.info["name"], results, part, {"items": units})


def _modes_in_words(results: Sequence[Result]) -> list[str]:
    """Return a sentence on how often the rater's chosen answers show each mode over all items; modes never seen are left out."""
    whole = [one for one in results if _where(one) == {} and one.slice["answers"] == WHO[0]]
    if not whole:
        return []
    shown = [f"{one.slice['mode']} {with_interval(one, unit=' %')}" for one in whole if one.value]
    rater = whole[0].rater
    if not shown:
        return [f"The rules find no failure mode in the answers that {rater} chose."]
    return [f"Of the answers that {rater} chose: {', '.join(shown)}."]


def failures_grid(scores: RunScores, results: Sequence[Result]) -> Grid:
    """Tabulate the share of answers with each mode, by who chose them and by slice."""
    index = {_key(one.slice): one for one in results}
    present = {_key(_where(one)) for one in results}
    whole = not missing_halves(scores)  # with one half only, the total repeats it
    columns = [
        (name, where) for name, where in columns_of(scores) if _key(where) in present and (where or whole)
    ]
    shown = {one.slice["mode"] for one in results if one.value}
    rows = []
    for who in WHO:
        for mode in filter(shown.__contains__, MODES):
            cells = [index.get(_key({**where, "mode": mode, "answers": who})) for _, where in columns]
            if any(cells):
                rows.append(Row([who, mode], [percent_cell(cell) for cell in cells]))
    heads = [name for name, _ in columns]
    return Grid(
        "Share of answers with each failure mode",
        "In %, counted by rules without a model; 95 % intervals below. Modes that no answer shows are left out.",
        ["answers", "mode"],
        heads,
        rows,
        note=MEANING,
    )


def _units_grid(found: WorstUnits) -> Grid:
    numbers = [name for name in ("said", "people", "far") if name in found.units.columns]
    about = [name for name in ("system", "prompt", "attribute", "text") if name in found.units.columns]
    rows = [
        Row(
            [str(row["item"])],
            [
                Cell(" · ".join(_short(row[name]) for name in about if row[name])),
                *(Cell(f"{row[name]:.2f}", sort=row[name]) for name in numbers),
            ],
        )
        for row in found.units.iter_rows(named=True)
    ]
    return Grid(f"{found.name}: {found.measure}", "The worst first.", ["item"], ["about", *numbers], rows)


def _shares_in_words(found: WorstUnits) -> Iterator[str]:
    for one in found.results:
        if one.value is not None and set(one.slice) <= {"question"}:
            cell = figure_cell(one, digits=3)
            ends = f" ({cell.interval.replace('–', ' to ')})" if cell.interval else ""
            name = one.metric.replace("_", " ")
            yield f"{found.name}: {name} {cell.text}{ends} on {one.n:,} units of {people_words(one.people)}."


def _short(text: object) -> str:
    said = " ".join(str(text or "").split())
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _where(one: Result) -> dict[str, str]:
    return {name: value for name, value in one.slice.items() if name not in ("mode", "answers")}


def _key(where: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))
