"""Command groups: each command gets a Session, accepts --output, and ends with the right exit code."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, cast

import typer
from typer.core import TyperGroup

from gpuaas_cli.failures import CommandFailed, ExitCode, exit_code_of, print_error
from gpuaas_cli.field_names import UNTRANSLATED, FieldNames
from gpuaas_cli.session import Output, Session
from gpuaas_sdk import GpuaasError
from gpuaas_sdk.commands import CommandError

Parameters = ParamSpec("Parameters")
OutputOption = Annotated[
    Output | None, typer.Option("--output", "-o", help="Output format: a table, or the API's JSON.")
]


@dataclass(frozen=True, slots=True)
class RootOptions:
    """Options that were given before the first command name."""

    output: Output | None = None
    server: str | None = None


class _ListByDefaultGroup(TyperGroup):
    """A group that runs `list` if no command is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


class CommandGroup(typer.Typer):
    def __init__(self, summary: str, lists_unless_told: bool = False) -> None:
        shape = _ListByDefaultGroup if lists_unless_told else None
        super().__init__(cls=shape, help=summary, no_args_is_help=True)

    def verb(self, name: str) -> Callable[[Callable[Concatenate[Session, Parameters], None]], Callable[..., None]]:
        """Register a function `(session, …)` as a command; its docstring is the help text."""

        def register(function: Callable[Concatenate[Session, Parameters], None]) -> Callable[..., None]:
            return self.command(name)(with_session(function))

        return register


def remove_options(function: Callable[..., None], *names: str) -> None:
    """Hide options of a function from those who register it as a command; it keeps their defaults."""
    signature = inspect.signature(function, eval_str=True)
    shown = [one for name, one in signature.parameters.items() if name not in names]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]


def with_session(
    function: Callable[Concatenate[Session, Parameters], None],
) -> Callable[..., None]:
    """Return the function that Typer sees: without `session`, with the context and --output."""
    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())[1:]
    verb = cast(Callable[..., None], function)
    kind = inspect.Parameter.KEYWORD_ONLY
    extra = [
        inspect.Parameter("context", kind, annotation=typer.Context),
        inspect.Parameter("output", kind, default=None, annotation=OutputOption),
    ]
    parameters = [*(one.replace(kind=kind) for one in own), *extra]

    def run(**arguments: object) -> None:
        context = cast(typer.Context, arguments.pop("context"))
        output = cast(Output | None, arguments.pop("output"))
        root = context.obj if isinstance(context.obj, RootOptions) else RootOptions()
        session = Session(output or root.output or Output.TABLE, root.server)
        perform(session, lambda: verb(session, **arguments), FieldNames.of(context.command))

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    run.__module__ = function.__module__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def perform(session: Session, work: Callable[[], None], names: FieldNames = UNTRANSLATED) -> None:
    """Run a command; every failure becomes one message and one exit code."""
    try:
        work()
    except GpuaasError as error:
        print_error(session.err, error, session.as_json, names)
        raise typer.Exit(exit_code_of(error)) from error
    except CommandFailed as failure:
        print_error(session.err, failure.as_error(), session.as_json)
        raise typer.Exit(failure.exit_code) from failure
    except CommandError as error:
        exit_code = ExitCode.USAGE if error.usage else ExitCode.FAILED
        told = CommandFailed(error.code, error.message, error.next_step, exit_code)
        print_error(session.err, told.as_error(), session.as_json)
        raise typer.Exit(exit_code) from error
    except typer.Abort as stopped:
        raise typer.Exit(ExitCode.INTERRUPTED) from stopped
    finally:
        session.close()
