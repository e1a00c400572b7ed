"""`personafit audit`: what a benchmark's labels reward besides fitting the person."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit._errors import UserError
from personafit._names import inside
from personafit.benchmarks import open_benchmark
from personafit.cli.common import HOME, console, this_command
from personafit.cli.options import DataOption, JsonOption
from personafit.reporting.audit import audit_benchmark
from personafit.reporting.audit.page import audit_object, rules_table, verdict_table, write_audit


def audit(
    benchmark: Annotated[str, typer.Argument(help="A benchmark's name (with --data) or folder.")],
    data: DataOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.html, audit.json and plots.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of wrong people and folds.")] = 0,
    json: JsonOption = False,
) -> None:
    """Say what simple rules, surface features and the data's own structure score on a benchmark.

    **Examples**

        personafit audit starter

        personafit audit personafeedback --data DIR
    """
    found = audit_benchmark(open_benchmark(benchmark, data), seed)
    folder = out or inside(HOME / "audits", found.pairs.name)
    body = orjson.dumps(audit_object(found) | {"command": this_command()}, option=orjson.OPT_INDENT_2)
    try:
        page = write_audit(found, folder)
        (folder / "audit.json").write_bytes(body)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error
    if json:
        print(body.decode())
        return
    console().print(rules_table(found))
    console().print(verdict_table(found))
    print(f"Audit: {page}")
