"""Commands of other packages: they get a session, end with the right exit code, and cannot break or replace ours."""

from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from gpuaas_cli import plugins
from gpuaas_cli.command_group import CommandGroup
from gpuaas_sdk.commands import CommandError, CommandSession, CommandSet


def greet(session: CommandSession, name: Annotated[str, typer.Argument()], loud: bool = False) -> None:
    """Greet somebody."""
    session.say(f"{'HELLO' if loud else 'hello'} {name}")


def fail(session: CommandSession) -> None:
    """Fail in an orderly way."""
    raise CommandError("nobody_there", "Nobody is there.", "Come again.", usage=True)


COMMANDS = CommandSet("Greetings.", {"greet": greet, "fail": fail})


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> CommandGroup:
    here = "test_plugins"
    monkeypatch.setitem(__import__("sys").modules, here, __import__("sys").modules[__name__])
    entries = [
        EntryPoint("greetings", f"{here}:COMMANDS", "gpuaas.commands"),
        EntryPoint("broken", "no_such_module:COMMANDS", "gpuaas.commands"),
        EntryPoint("ours", f"{here}:COMMANDS", "gpuaas.commands"),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries)
    app = CommandGroup("Ours.")
    app.add_typer(CommandGroup("Ours."), name="ours")
    return app


def test_a_package_adds_commands_and_another_one_that_is_broken_is_named(
    app: CommandGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins.add_plugins(app)
    said = capsys.readouterr().err
    assert "broken of no_such_module:COMMANDS cannot be loaded: ModuleNotFoundError" in said
    assert "ours of test_plugins:COMMANDS are left out" in said
    done = CliRunner().invoke(app, ["greetings", "greet", "you", "--loud"])
    assert (done.exit_code, done.stdout.strip()) == (0, "HELLO you")


def test_a_failure_of_a_plugin_looks_like_one_of_ours(app: CommandGroup) -> None:
    plugins.add_plugins(app)
    done = CliRunner().invoke(app, ["greetings", "fail"])
    assert done.exit_code == 2
    assert "Nobody is there." in done.output
    assert "Come again." in done.output
