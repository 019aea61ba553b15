"""up: run the whole platform on this machine."""

import os
import shutil
import sys
from pathlib import Path

import typer

from gpuaas_cli.command_group import CommandGroup, perform
from gpuaas_cli.failures import CommandFailed
from gpuaas_cli.session import Session


def add_to(app: CommandGroup) -> None:
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command("up", context_settings=settings, add_help_option=False)(up)


def up(context: typer.Context) -> None:
    """Run the whole platform on this machine until Ctrl-C (arguments go to `gpuaas-server up`)."""
    program = _server_program()
    if program is None:
        perform(Session(), _missing)
        return
    os.execv(program, [program, "up", *context.args])  # noqa: S606 (the platform's own program, no shell)


def _server_program() -> str | None:
    """Find the server program, first beside this command: both are usually installed in one environment."""
    beside = Path(sys.argv[0]).resolve().parent / "gpuaas-server"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("gpuaas-server")


def _missing() -> None:
    raise CommandFailed(
        "server_missing",
        "The server is not installed here.",
        "Install the package gpuaas-server into this environment: pip install gpuaas-server.",
    )
