"""`gpuaas-server`: up, api, worker, registry, init, migrate, settings, contract. Heavy imports wait for who needs them."""

import argparse
import asyncio
import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuaas_server.kernel.logs import configure_logs
from gpuaas_server.kernel.settings import Settings, settings_reference
from gpuaas_server.processes.file_limit import raise_file_limit

# Who waits for an answer goes first: when both want the same core, steps that nobody watches can wait for milliseconds.
WORKER_NICENESS = 5


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """What loading makes stays for good; looking for garbage among it is a tenth of the time that loading takes."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _wait_until_let_go(arguments: argparse.Namespace) -> None:
    """A held process is loaded by now; a line says that the database is ready, the end of the line that nobody cares."""
    if arguments.held and not sys.stdin.buffer.readline():
        sys.exit(0)


def _up(arguments: argparse.Namespace) -> int:
    from gpuaas_server.processes.supervisor import Supervisor

    return Supervisor(Settings(), arguments.admin_file).run()


def _api(arguments: argparse.Namespace) -> int:
    with _nothing_to_collect():
        from gpuaas_server.processes import api

    _wait_until_let_go(arguments)
    settings = Settings()
    configure_logs(settings.log_level)
    api.run(settings)
    return 0


def _worker(arguments: argparse.Namespace) -> int:
    os.nice(WORKER_NICENESS)
    with _nothing_to_collect():
        from gpuaas_server.processes import worker

    _wait_until_let_go(arguments)
    settings = Settings()
    configure_logs(settings.log_level)
    worker.run(settings)
    return 0


def _registry(arguments: argparse.Namespace) -> int:
    from gpuaas_server.processes import registry

    _wait_until_let_go(arguments)
    settings = Settings()
    configure_logs(settings.log_level)
    registry.run(settings)
    return 0


def _init(arguments: argparse.Namespace) -> int:
    """Migrate and create the first administrator; prints it as JSON, once."""
    from gpuaas_server.identity.service import ensure_first_admin
    from gpuaas_server.migrations import run as migrations
    from gpuaas_server.runtime import database_url, running_platform

    settings = Settings()
    configure_logs(settings.log_level)
    migrations.upgrade(database_url(settings))

    async def first_admin() -> dict[str, str]:
        async with running_platform(settings) as platform:
            admin = await ensure_first_admin(platform)
        return {} if admin is None else {"email": admin.email, "password": admin.password}

    print(json.dumps(asyncio.run(first_admin())))
    return 0


def _migrate(arguments: argparse.Namespace) -> int:
    from gpuaas_server.migrations import run as migrations
    from gpuaas_server.runtime import database_url

    url = database_url(Settings())
    if arguments.down_to is not None:
        migrations.downgrade(url, arguments.down_to)
    else:
        migrations.upgrade(url)
    return 0


def _settings(arguments: argparse.Namespace) -> int:
    for variable, default, description in settings_reference():
        print(f"{variable}\n    {description} Default: {default or '(unset)'}")
    return 0


def _contract(arguments: argparse.Namespace) -> int:
    from gpuaas_server.contract import check_contract, write_contract

    if arguments.check:
        base = json.loads(arguments.base.read_text()) if arguments.base else None
        complaints = check_contract(arguments.directory, base)
        for complaint in complaints:
            print(complaint, file=sys.stderr)
        return 1 if complaints else 0
    write_contract(arguments.directory)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuaas-server", description="The gpuaas control plane.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    up = command("up", _up, "Run everything on this machine until Ctrl-C.")
    up.add_argument(
        "--admin-file", type=Path, help="Write the first administrator here (mode 0600) instead of printing it."
    )
    parts = (
        command("api", _api, "Run one api process."),
        command("worker", _worker, "Run one worker process."),
        command("registry", _registry, "Run the image registry of GPUAAS_REGISTRY_BIND."),
    )
    for part in parts:
        part.add_argument("--held", action="store_true", help="Load, then wait for a line on standard input.")
    command("init", _init, "Migrate the database and create the first administrator.")
    migrate = command("migrate", _migrate, "Bring the database to the newest revision.")
    migrate.add_argument("--down-to", help="Go down to this revision instead ('base': empty).")
    command("settings", _settings, "Print every setting with its default.")
    contract = command("contract", _contract, "Write the generated files of contract/ and docs/reference/.")
    contract.add_argument("--check", action="store_true", help="Only say what is out of date or breaking.")
    contract.add_argument("--base", type=Path, help="An earlier openapi.json; breaking changes against it are refused.")
    contract.add_argument("--directory", type=Path, default=Path("."))
    return parser


def main() -> None:
    arguments = _parser().parse_args()
    raise_file_limit()
    sys.exit(arguments.run(arguments))


if __name__ == "__main__":
    main()
