"""Where every command begins and every error ends: as one sentence with the right exit code."""

import os
import sys

import typer
from sqlalchemy.exc import DBAPIError

from personafit import __version__
from personafit._errors import UserError
from personafit.cli import agree, analyse, audit, data, demo, judge, models, power, report, run, train

app = typer.Typer(
    name="personafit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Does the answer fit the person? Measure, label and train LLM personalization.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("compare")(report.compare)
app.command("audit")(audit.audit)
app.command("agree")(agree.agree)
app.command("power")(power.power)
app.command("bias")(judge.bias)
app.command("correct")(judge.correct)
app.command("calibration")(judge.calibration)
app.command("aspects")(analyse.aspects)
app.command("failures")(analyse.failures)
app.command("contrasts")(analyse.contrasts)
app.command("rescore")(report.rescore)
app.add_typer(data.app, name="data")
app.add_typer(models.app, name="models")
app.add_typer(train.app, name="train")


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
        app()
    except UserError as error:
        _say(str(error))
        sys.exit(error.code)
    except DBAPIError as error:
        _say(
            f"The store could not be read or written ({' '.join(str(error.orig).split())}); "
            "what was judged before is kept and the same command goes on from there."
        )
        sys.exit(1)
    except KeyboardInterrupt:
        _say("Interrupted; what was judged is kept and the same command goes on from there.")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _say(sentence: str) -> None:
    print(f"personafit: {sentence}", file=sys.stderr)
