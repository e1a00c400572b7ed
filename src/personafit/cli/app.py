"""The `personafit` command: its list of verbs, and errors as one sentence with the right exit code."""

import sys

import typer

from personafit import __version__
from personafit._errors import UserError
from personafit.cli.lazy import LazyGroup


class _Commands(LazyGroup):
    registered = (
        ("demo", "personafit.cli.demo:demo", "See a first report: offline, no key, in under a minute."),
        ("run", "personafit.cli.run:run", "Evaluate raters on a benchmark, or a system by its answers."),
        ("report", "personafit.cli.report:report", "Print a run's tables and write its report again."),
        ("compare", "personafit.cli.report:compare", "Test whether runs differ, paired by item."),
        ("agree", "personafit.cli.report:agree", "Measure agreement between raters, people and gold."),
        ("audit", "personafit.cli.report:audit", "Show how far a benchmark is solved without the person."),
        ("rescore", "personafit.cli.report:rescore", "Parse a run's stored replies again; nothing is asked."),
        ("analyze", "personafit.cli.analyze:app", "Look into a run: bias, calibration, failures, power ..."),
        ("label", "personafit.cli.label:app", "Run human studies in the browser."),
        ("train", "personafit.cli.train:app", "Train raters and reward models on human judgments."),
        ("extract", "personafit.cli.extract:app", "Extract people's attributes from conversations."),
        ("build", "personafit.cli.build:build_command", "Build a benchmark from a config file."),
        ("data", "personafit.cli.data:app", "Get, check, import, convert and publish benchmarks."),
        ("models", "personafit.cli.models:app", "List and get model weights; record replies."),
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
    """Return the exceptions a store may raise; SQLAlchemy is only imported if a command opened one."""
    module = sys.modules.get("sqlalchemy.exc")
    return () if module is None else (module.DBAPIError,)


def _say(sentence: str) -> None:
    print(f"personafit: {sentence}", file=sys.stderr)
