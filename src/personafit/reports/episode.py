"""The report of a run of episodes: how often agents did what was asked, the cost of their choices to the person, and the episodes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, ClassVar

from personafit._errors import counted
from personafit.kinds.episode import COUNTS, MOST_QUESTIONS, REGRET, episode_lines, questions_label
from personafit.kinds.lines import Line
from personafit.reports.claims import ClaimWords, FigureUnit, claim, legend_for, people_words, told_system
from personafit.reports.episode_viewer import episode_items
from personafit.reports.kind_report import Column, KindReport, LineId
from personafit.reports.line_results import context_pairs, differences_of, results_of
from personafit.reports.pieces import Grid, Picture, Piece, Section
from personafit.reports.result import Result
from personafit.statistics.decisions import Hypothesis, decide_together
from personafit.store import RunRecord, Store, run_answers

REGRETS = FigureUnit(1.0, "of regret", 2)
CLAIMED = {"majority": "the majority's choice", "profile": "a reader of the profile"}
"""Controls that a system's regret is tested against, and their names in sentences."""
FEW: list[Column] = [
    ("did what was asked, %", "success", {}),
    ("regret", "regret", {}),
    ("questions", "questions", {}),
    ("leaks", "leaks", {}),
]
HEADINGS = {name: name.replace("re_", "re-").replace("_", " ") for name in COUNTS}
COUNTED: list[Column] = [(HEADINGS[name], name, {}) for name in COUNTS]
LABELS = "; ".join(f"{HEADINGS[name]}: {label}" for name, label in COUNTS.items())
EXPLAINED = "Figures are computed from calls and states, without a judge. ≠ marks a preference that the choice does not meet."
LEVELS = ("easy", "medium", "hard")
BY_LEVEL: list[Column] = [
    *((f"{level}: done, %", "success", {"level": level}) for level in LEVELS),
    *((f"{level}: regret", "regret", {"level": level}) for level in LEVELS),
]
USER: list[Column] = [
    ("spoilt, %", "spoilt", {}),
    ("done without spoilt, %", "success", {"simulator": "unspoilt"}),
    ("regret without spoilt", "regret", {"simulator": "unspoilt"}),
]
BY_QUESTIONS: list[Column] = [
    (questions_label(count), "regret", {"questions": questions_label(count)})
    for count in range(MOST_QUESTIONS + 1)
]


class EpisodeReport(KindReport):
    """The report of a run in which agents carried out people's requests with tools."""

    clustered: ClassVar[str] = "person and by request"
    searched: ClassVar[Mapping[str, str]] = {"rater_label": "Scored by", "explained": EXPLAINED}

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.opened = episode_lines(store, run)
        self.lines = [line for line in self.opened.lines if line.asked_for] or self.opened.lines
        told = (
            pair for pair in context_pairs(self.opened.lines) if "wrong:" not in str(pair[0].system_context)
        )
        effects = differences_of(self.opened, told, "effect")
        gaps = differences_of(self.opened, _control_pairs(self.opened.lines), "difference")
        super().__init__(store, run, dict(self.opened.info), [*results_of(self.opened), *effects, *gaps])

    def sentences(self) -> list[str]:
        """Return whether a system's choices are better than those of the majority and of the profile reader, tested together."""
        rows = [
            row
            for row in self.results
            if row.metric == "regret_difference"
            and row.control is None
            and row.slice.get("against") in CLAIMED
            and row.value is not None
        ]
        findings = decide_together([Hypothesis(row, margin=self.margin) for row in rows])
        said = [
            claim(told_system(row), finding, _words(CLAIMED[row.slice["against"]]), "difference", REGRETS)
            for row, finding in zip(rows, findings, strict=True)
        ]
        return [*said, *legend_for(findings)]

    def counts(self) -> list[str]:
        frame = self.opened.lines[0].frame
        requests = counted(frame["request"].n_unique(), "request", "requests")
        return [requests, people_words(frame["person"].n_unique())]

    @property
    def _ladder(self) -> dict[LineId, str | None]:
        """All lines by regret, lowest first, so that systems are ranked among the controls."""
        lines = self.lines_of("regret")
        regrets = {
            line: found.value
            for line in lines
            if (found := self.figures.find("regret", None, None, line[0], line[1])) is not None
        }
        known = sorted(lines, key=lambda line: (regrets.get(line) is None, regrets.get(line) or 0.0))
        return {line: lines[line] for line in known}

    def picture(self) -> Picture | None:
        from personafit.reports.plots import Panel

        panels: list[tuple[Panel, str, dict[str, str]]] = [
            (Panel("Regret (0: the best choice)", digits=2), "regret", {}),
            (Panel("Did what was asked, %", limits=(-4.0, 104.0)), "success", {}),
        ]
        caption = (
            "Sorted by regret, lowest first. Scripted controls show what can be reached with what knowledge."
        )
        return self.plot("Systems among the controls", caption, self._ladder, panels)

    def table(self) -> Grid:
        note = f"Regret: {REGRET}. Questions and leaks are means per episode."
        lines = dict(sorted(self._ladder.items(), key=lambda line: line[1] is not None))
        return self.grid("Systems and controls", "", lines, FEW, "success", note=note)

    def sections(self) -> Iterator[Section]:
        domains = sorted({one.slice["domain"] for one in self.results if "domain" in one.slice})
        by_domain: list[Column] = [
            (name, "regret", {"domain": name}) for name in domains if " + " not in name
        ]
        lead = "Easy requests turn on one preference, medium ones on several that conflict, hard ones on two domains at once."
        levels = [
            *self.filled("By level", "", self._ladder, BY_LEVEL),
            *self.filled("Regret by domain", "Requests of one domain.", self._ladder, by_domain),
        ]
        yield Section("By level and domain", levels, lead)
        yield Section("Regret by number of questions", self._curve(), "What asking buys, and what it costs.")
        points = "Success in points; a negative difference in regret is a better choice."
        against = self.differences("Differences from controls", points, ("success", "regret", "questions"))
        yield Section("Against the controls", against, "System minus control, paired by request.")
        told = self.differences(
            "Differences between contexts", points, ("success", "regret", "questions"), "effect"
        )
        yield Section(
            "Effects of contexts", told, "What a system gains from what it is told, paired by request."
        )
        counts = self.filled("Counted per episode", "", self._ladder, COUNTED, f"{LABELS}.")
        yield Section(
            "Leaks, errors and collateral damage", counts, "Counted from calls and states, without a judge."
        )
        again: list[Column] = [
            (f"{k} of {k}, %", "pass_k", {"k": str(k)}) for k in range(2, self.record.config["samples"] + 1)
        ]
        systems = {line: control for line, control in self._ladder.items() if line[1]}
        yield Section(
            "Repeated episodes",
            self.filled("pass^k", "All of k episodes of a request succeed.", systems, again),
        )
        spoilt = "Episodes in which the user volunteered an answer, contradicted itself or ended early."
        yield Section("Simulated user", self.filled("Episodes that the user spoilt", spoilt, systems, USER))
        asks = run_answers(self.store, self.record.id).unique("ask", maintain_order=True)
        yield self.asks(asks, "Number of asks by their status.", who="systems")

    def _curve(self) -> list[Piece]:
        """Return regret by number of questions: a curve per system, and the table."""
        caption = "Each point is the mean over the episodes with that many questions. These are not the same requests: a system may ask most where the choice is hardest."
        systems = {line: control for line, control in self._ladder.items() if control is None}
        curves: dict[str, list[tuple[int, Result]]] = {}
        for line in systems:
            found = [
                (count, one)
                for count, (_, metric, where) in enumerate(BY_QUESTIONS)
                if (one := self.figures.find(metric, None, None, line[0], line[1], **where)) is not None
                and one.value is not None
            ]
            if len(found) > 1:
                curves[" · ".join(filter(None, line[:2]))] = found
        pictures = [_curve_picture(curves, caption)] if curves else []
        note = "" if curves else caption
        return [*pictures, *self.filled("Regret by number of questions", note, systems, BY_QUESTIONS)]

    def items(self) -> dict[str, Any]:
        return episode_items(self.store, self.record, self.opened.lines)

    def facts(self) -> dict[str, str]:
        config = self.record.config
        return {
            "system contexts": ", ".join(self.record.system_contexts),
            "simulated user": config["user"]["name"],
            "world, tools, user and figures": config["instrument"],
        }

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        config = self.record.config
        roles = {
            "system": config["systems"],
            "control": config["controls"],
            "simulated user": [config["user"]],
        }
        return ((role, one, {}) for role, members in roles.items() for one in members)


def _words(control: str) -> ClaimWords:
    return ClaimWords(
        above=f"its choices are worse than {control}",
        below=f"its choices are better than {control}",
        unclear=f"no evidence that its choices are better or worse than {control}",
        equivalent=f"its choices are worth as much as {control}",
        constant=f"the same regret as {control} on every request",
    )


def _control_pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """Pair each system that is not a control with every scripted control."""
    for line in lines:
        for other in lines if line.asked_for and line.control is None else ():
            if not other.asked_for:
                yield line, other, str(other.system)


def _curve_picture(curves: Mapping[str, Sequence[tuple[int, Result]]], caption: str) -> Picture:
    from personafit.reports import plots

    styles = (
        ("o", plots.ACCENT, "-"),
        ("s", plots.INK, "--"),
        ("D", plots.MUTED, ":"),
        ("^", plots.ACCENT, "-."),
    )
    with plots.figure_style():
        figure, (axis,) = plots.subplots(3.0, 1)
        plots.frame(axis, "Regret", "questions to the user in an episode")
        axis.grid(axis="y", color=plots.GRID, linewidth=0.7)
        said: list[str] = []
        for (name, points), (shape, colour, dashes) in zip(curves.items(), cycle(styles)):
            at, values = [count for count, _ in points], [one.value or 0.0 for _, one in points]
            fill = colour if not said else plots.PAPER
            axis.plot(
                at, values, shape + dashes, color=colour, markerfacecolor=fill, lw=1.4, ms=6, label=name
            )
            for count, one in points:
                if one.low is not None and one.high is not None:
                    axis.plot([count, count], [one.low, one.high], color=colour, linewidth=1.6)
            named = [(questions_label(count), one) for count, one in points]
            said.append(f"{name}: {plots.group_in_words(named, 2)}.")
        axis.set_xticks(range(MOST_QUESTIONS + 1), [questions_label(n) for n in range(MOST_QUESTIONS + 1)])
        axis.set_xlim(-0.4, MOST_QUESTIONS + 0.4)
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        if len(curves) > 1:
            axis.legend(frameon=False, fontsize=8, labelcolor=plots.INK)
        figure.set_label(" ".join(said))
    return Picture("Regret by number of questions", caption, figure)
