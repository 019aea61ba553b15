"""`gpuaas-server`: up, its parts (api, worker, registry, apps), and init, migrate, admin reset, settings, contract and others.

Each command imports its own heavy modules.
"""

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
from gpuaas_server.kernel.start import report_failures
from gpuaas_server.processes.file_limit import raise_file_limit

# The api goes first, since its callers wait: when both want the same core, a step of the worker can wait for milliseconds.
WORKER_NICENESS = 5


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Turn the garbage collector off while modules load. They leave no garbage, and the search takes a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def defer_validators() -> None:
    """Let each wire type build its validator when it is first used. For the worker: it serves nobody, and uses few of them."""
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True


def _wait_until_released(arguments: argparse.Namespace) -> None:
    """Wait in a paused process, which is loaded by now. A line means that the database is ready; end of file ends it."""
    if arguments.paused and not sys.stdin.buffer.readline():
        sys.exit(0)


def _up(arguments: argparse.Namespace) -> int:
    from gpuaas_server.processes.supervisor import Supervisor

    settings = Settings()
    if arguments.no_apps:
        settings = settings.model_copy(update={"platform_apps": "none"})
    return Supervisor(settings, arguments.admin_file).run()


def _api(arguments: argparse.Namespace) -> int:
    with _nothing_to_collect():
        from gpuaas_server.processes import api

    settings = Settings()
    configure_logs(settings.log_level)
    api.run(settings, arguments.paused)
    return 0


def _worker(arguments: argparse.Namespace) -> int:
    os.nice(WORKER_NICENESS)
    with _nothing_to_collect():
        defer_validators()
        from gpuaas_server.processes import worker

    _wait_until_released(arguments)
    settings = Settings()
    configure_logs(settings.log_level)
    worker.run(settings)
    return 0


def _registry(arguments: argparse.Namespace) -> int:
    from gpuaas_server.processes import registry

    _wait_until_released(arguments)
    settings = Settings()
    configure_logs(settings.log_level)
    registry.run(settings)
    return 0


def _registry_garbage(arguments: argparse.Namespace) -> int:
    """Print as JSON what the registry would remove if it collected its garbage now. Nothing is changed."""
    from gpuaas_server.artifacts.registry_collection import find_garbage, registry_data
    from gpuaas_server.artifacts.registry_storage import RegistryStorage
    from gpuaas_server.runtime import running_platform

    settings = _settings_with_database()
    configure_logs(settings.log_level)

    async def look() -> dict[str, object]:
        async with running_platform(settings) as platform:
            return (await find_garbage(platform, RegistryStorage(registry_data(settings)))).document()

    print(json.dumps(asyncio.run(look()), indent=2))
    return 0


def _apps(arguments: argparse.Namespace) -> int:
    from gpuaas_server.processes import apps

    _wait_until_released(arguments)
    settings = Settings()
    configure_logs(settings.log_level)
    apps.run(settings)
    return 0


def _apps_account(arguments: argparse.Namespace) -> int:
    """Write a key for a process that provides the platform's apps on another machine."""
    from gpuaas_server.processes import apps

    settings = _settings_with_database()
    configure_logs(settings.log_level)
    asyncio.run(apps.make_account(settings, arguments.file))
    print(f"The account is in {arguments.file}.")
    return 0


def _init(arguments: argparse.Namespace) -> int:
    """Migrate and create the first administrator; prints it as JSON, once, or writes it to a file."""
    from gpuaas_server.identity.administrators import Administrator, ensure_first_admin
    from gpuaas_server.migrations import run as migrations
    from gpuaas_server.processes.admin_file import admin_file_writer
    from gpuaas_server.runtime import database_url, running_platform

    settings = Settings()
    configure_logs(settings.log_level)
    migrations.upgrade(database_url(settings))
    keep = admin_file_writer(arguments.admin_file)

    async def first_admin() -> Administrator | None:
        async with running_platform(settings) as platform:
            return await ensure_first_admin(platform, keep)

    admin = asyncio.run(first_admin())
    shown = {} if admin is None or keep is not None else {"email": admin.email, "password": admin.password}
    print(json.dumps(shown))
    return 0


def _admin_reset(arguments: argparse.Namespace) -> int:
    """Print the new password as JSON, once, or write it to a file."""
    from gpuaas_server.identity.administrators import Administrator, reset_admin
    from gpuaas_server.processes.admin_file import admin_file_writer
    from gpuaas_server.runtime import running_platform

    settings = _settings_with_database()
    configure_logs(settings.log_level)
    keep = admin_file_writer(arguments.admin_file)

    async def reset() -> Administrator:
        async with running_platform(settings) as platform:
            return await reset_admin(platform, arguments.email, keep)

    admin = asyncio.run(reset())
    if keep is None:
        print(json.dumps({"email": admin.email, "password": admin.password}))
    else:
        print(f"The new password of {admin.email} is in {arguments.admin_file}.")
    return 0


def _settings_with_database() -> Settings:
    """Return the settings of the environment. If they name no database, it is that of the `up` on the data directory."""
    from pydantic import SecretStr

    from gpuaas_server.embedded import postgres

    settings = Settings()
    if settings.database_url is not None:
        return settings
    return settings.model_copy(update={"database_url": SecretStr(postgres.url_in(settings.data_dir))})


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
    from gpuaas_server.compatibility import breaking_changes
    from gpuaas_server.contract import check_contract, openapi_document, write_contract

    if not arguments.check:
        write_contract(arguments.directory)
        return 0
    if arguments.base:
        for change in breaking_changes(json.loads(arguments.base.read_text()), openapi_document()):
            print(f"note, not refused before a release: clients of the earlier contract would break: {change}")
    complaints = check_contract(arguments.directory)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


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
    up.add_argument("--no-apps", action="store_true", help="Do not provide the platform's own apps.")
    parts = (
        command("api", _api, "Run one api process."),
        command("worker", _worker, "Run one worker process."),
        command("registry", _registry, "Run the image registry of GPUAAS_REGISTRY_BIND."),
        command("apps", _apps, "Provide the platform's own apps and run their controllers."),
    )
    for part in parts:
        part.add_argument("--paused", action="store_true", help="Load, then wait for an empty line on standard input.")
    command(
        "registry-garbage", _registry_garbage, "Show what the registry would remove as garbage now; remove nothing."
    )
    account = command("apps-account", _apps_account, "Make a key for `gpuaas-platform-apps` on another machine.")
    account.add_argument("file", type=Path, help="Where to write it (mode 0600).")
    init = command("init", _init, "Migrate the database and create the first administrator.")
    init.add_argument("--admin-file", type=Path, help="Write the first administrator here instead of printing it.")
    admin = commands.add_parser("admin", help="Administrators of the platform, from the server's own machine.")
    verbs = admin.add_subparsers(dest="verb", required=True)
    text = "Give an administrator a new password, end their sessions, enable them; create one when there is none."
    reset = verbs.add_parser("reset", help=text, description=text)
    reset.set_defaults(run=_admin_reset)
    reset.add_argument("--email", help="Who. Default: the first administrator.")
    reset.add_argument("--admin-file", type=Path, help="Write the password here (mode 0600) instead of printing it.")
    migrate = command("migrate", _migrate, "Bring the database to the newest revision.")
    migrate.add_argument("--down-to", help="Go down to this revision instead ('base': empty).")
    command("settings", _settings, "Print every setting with its default.")
    contract = command("contract", _contract, "Write the generated files of contract/ and docs/reference/.")
    contract.add_argument(
        "--check", action="store_true", help="Only say what is out of date, and refuse to break a release."
    )
    contract.add_argument("--base", type=Path, help="An earlier openapi.json: what would break its clients is listed.")
    contract.add_argument("--directory", type=Path, default=Path("."))
    return parser


def main() -> None:
    arguments = _parser().parse_args()
    configure_logs("INFO")  # until the settings are read, so that errors in them are logged in the same form
    raise_file_limit()
    with report_failures():
        sys.exit(arguments.run(arguments))


if __name__ == "__main__":
    main()
