"""Where every command begins and every error ends: as one sentence with the right exit code."""

import sys

import typer

from personafit import __version__
from personafit._errors import UserError
from personafit.cli.lazy import LazyGroup


class _Commands(LazyGroup):
    registered = (
        ("demo", "personafit.cli.demo:demo", "The whole instrument in two minutes: no key, no network."),
        ("run", "personafit.cli.run:run", "Judge a benchmark, or your own system's answers."),
        ("report", "personafit.cli.report:report", "Print a run's tables and write its report again."),
        ("compare", "personafit.cli.report:compare", "Say whether runs differ, paired by item."),
        ("audit", "personafit.cli.audit:audit", "What a benchmark can be solved by without the person."),
        ("agree", "personafit.cli.agree:agree", "How well raters agree with each other and with gold."),
        ("study", "personafit.cli.study:study", "Tables and figures about attributes and answers."),
        ("extraction", "personafit.cli.stages_measure:app", "What attributes are worth; where errors flow."),
        (
            "retrieval",
            "personafit.cli.retrieval:retrieval",
            "How many of the memories that matter are found.",
        ),
        ("power", "personafit.cli.power:power", "How many people and items a study needs."),
        ("bias", "personafit.cli.judge:bias", "What besides fit moves a judge: length, position, mention."),
        (
            "correct",
            "personafit.cli.judge:correct",
            "Correct a judge's score by a sample of people's labels.",
        ),
        ("calibration", "personafit.cli.judge:calibration", "Whether a judge's confidence holds."),
        ("aspects", "personafit.cli.analyse:aspects", "Marks by aspect, where a rater gave them."),
        ("failures", "personafit.cli.analyse:failures", "Which answers fail the person, and how."),
        ("contrasts", "personafit.cli.analyse:contrasts", "Reasoning, size, memory: a run beside the paper."),
        ("rescore", "personafit.cli.report:rescore", "Read stored replies again; nothing is asked."),
        (
            "best-of",
            "personafit.cli.best_of:best_of",
            "Of several answers, the one that fits the person best.",
        ),
        ("stages", "personafit.cli.stages:stages", "From conversations to a person and an answer that fits."),
        ("build", "personafit.cli.build:build_command", "Build a benchmark from nothing."),
        ("forget", "personafit.cli.forget:forget", "Remove everything that derives from a person."),
        ("data", "personafit.cli.data:app", "Benchmarks as data: list, get, check, import, convert, push."),
        ("models", "personafit.cli.models:app", "Models by name: list, get; record what one said."),
        (
            "label",
            "personafit.cli.label:app",
            "Human studies in the browser: new, invite, serve, status, export.",
        ),
        ("train", "personafit.cli.train:app", "Fit raters on human choices."),
    )


app = typer.Typer(
    name="personafit",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Does the answer fit the person? Measure, label and train LLM personalization.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"personafit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Does the answer fit the person? Measure, label and train LLM personalization."""


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="personafit")
    except UserError as error:
        _say(str(error))
        sys.exit(error.code)
    except _database_errors() as error:
        _say(
            f"The store could not be read or written ({' '.join(str(getattr(error, 'orig', error)).split())}); "
            "what was judged before is kept and the same command goes on from there."
        )
        sys.exit(1)


def _database_errors() -> tuple[type[BaseException], ...]:
    """What a store may raise; a command that never opened one has not imported it either."""
    module = sys.modules.get("sqlalchemy.exc")
    return () if module is None else (module.DBAPIError,)


def _say(sentence: str) -> None:
    print(f"personafit: {sentence}", file=sys.stderr)
