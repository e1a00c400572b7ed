"""Commands that are imported when they are used, so that `--help` and `--version` stay fast."""

import textwrap
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperCommand, TyperGroup

from personafit._errors import UserError


class PlainCommand(TyperCommand):
    """A command whose help does not list `--help`, nor a type beside its flags."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the `--help` option, hidden from its own output."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.hidden = True
        return option

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, flags without a type."""
        return _untyped_flags(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, each command of the examples on a line of its own."""
        self.help = _fenced(self.help or "")
        super().format_help(ctx, formatter)


class PlainGroup(TyperGroup):
    """A group whose help lists no type beside its flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, flags without a type."""
        return _untyped_flags(super().get_params(ctx))


def _fenced(help: str) -> str:
    """Return a help text whose indented examples are fenced: typer loses an indentation that all but the first line share."""
    told, mark, examples = help.partition("\n\n    ")
    lines = filter(str.strip, textwrap.dedent("    " + examples).splitlines())
    return "\n".join([told, "", "```", *lines, "```"]) if mark else help


def _untyped_flags(params: list[Any]) -> list[Any]:
    """Keep typer from printing `<bool>` beside flags and the names of arguments in lower case."""
    for one in params:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
        elif one.param_type_name == "argument" and one.metavar is None:
            one.metavar = one.name.upper()
    return params


class LazyCommand(TyperCommand):
    """A command's name and line in the list of commands; `load` imports the command itself."""

    def __init__(self, name: str, target: str, help: str) -> None:
        super().__init__(name, help=help)
        self.target = target

    def load(self) -> Any:
        """Return the command, or the group of commands, that `module:object` names."""
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(module), attribute)
        holder = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        holder.callback()(lambda: None)  # keeps it a group, whatever it holds
        if isinstance(found, typer.Typer):
            for one in found.registered_commands:
                one.callback = _within_reason(one.callback) if one.callback else None
                one.cls = PlainCommand
            holder.add_typer(found, name=self.name, cls=PlainGroup)
        else:
            holder.command(self.name, cls=PlainCommand)(_within_reason(found))
        return typer.main.get_group(holder).commands[str(self.name)]


def _within_reason(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that it rejects integers too large for a database."""

    @wraps(command)
    def refusing(**given: Any) -> None:
        from personafit.api.places import LARGEST

        for name, value in given.items():
            if isinstance(value, int) and abs(value) > LARGEST:
                raise UserError(f"--{name.replace('_', '-')} takes numbers up to {LARGEST:,}.")
        command(**given)

    return refusing


class LazyGroup(PlainGroup):
    """A group whose commands are listed in `registered` and imported one by one."""

    registered: tuple[tuple[str, str, str], ...] = ()
    """Name, `module:object` and the line in the list of commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, target, line in self.registered:
            self.add_command(LazyCommand(name, target, line))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest
