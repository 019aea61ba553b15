"""The process that provides the platform's own apps: it makes its account at the first start, then runs the program.

The program is a client of the public API, in a package of its own (gpuaas-sdk). It gets an address, an account and a folder,
and none of the server's own settings: they name the database and its password.
"""

import asyncio
import http.client
import os
import ssl
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed

PROGRAM = "gpuaas_sdk.platform_apps"
GROUP = "gpuaas.apps"
NONE = "none"
ANSWER_SECONDS = 2.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "::": "[::1]"}


def state_directory(settings: Settings) -> Path:
    return settings.data_dir.resolve() / "platform-apps"


def account_file(settings: Settings) -> Path:
    return state_directory(settings) / "account.json"


def are_wanted(settings: Settings) -> bool:
    """Tell whether there is anything to provide: a package that declares an app, and the program."""
    return (
        settings.platform_apps.strip() != NONE
        and find_spec(PROGRAM.partition(".")[0]) is not None
        and bool(entry_points(group=GROUP))
    )


def run(settings: Settings) -> None:
    """Become the program. It keeps this process's id, so that its supervisor notices no change."""
    path = account_file(settings)
    if not path.exists():
        asyncio.run(make_account(settings, path))
    os.execve(sys.executable, [sys.executable, "-m", PROGRAM], environment(settings, os.environ))  # noqa: S606


async def make_account(settings: Settings, path: Path) -> None:
    """Write a new key of the account to the file, and create the account if there is none."""
    from gpuaas_server.processes.private_file import write_private_json
    from gpuaas_server.projects.platform_project import AppsAccount, make_apps_account
    from gpuaas_server.runtime import running_platform

    def keep(account: AppsAccount) -> None:
        try:
            write_private_json(path, asdict(account))
        except OSError as error:
            raise StartFailed(f"{path} cannot be written ({error}), so no key was made") from error

    async with running_platform(settings) as platform:
        await make_apps_account(platform, keep)


def environment(settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return what the program needs, and everything inherited that is no setting of the server."""
    own = {f"GPUAAS_{name.upper()}" for name in Settings.model_fields}
    made = {name: value for name, value in inherited.items() if name.upper() not in own}
    made |= {
        "GPUAAS_URL": local_url(settings),
        "GPUAAS_APPS_ACCOUNT_FILE": str(account_file(settings)),
        "GPUAAS_APPS_STATE_DIR": str(state_directory(settings)),
        "GPUAAS_APPS": settings.platform_apps,
    }
    authority = settings.data_dir.resolve() / "tls" / "ca.crt"
    if not settings.http_bind or authority.exists():  # of the API, or at least of the registry
        made["GPUAAS_CA_FILE"] = str(authority)
    return made


def local_url(settings: Settings) -> str:
    """Return where a program on this machine reaches the API."""
    scheme, bind = ("http", settings.http_bind) if settings.http_bind else ("https", settings.https_bind)
    host, _, port = bind.rpartition(":")
    return f"{scheme}://{_EVERYWHERE.get(host, host)}:{port}"


def api_answers(settings: Settings) -> bool:
    """Tell whether the API on this machine is ready to serve."""
    scheme, _, address = local_url(settings).partition("://")
    connection: http.client.HTTPConnection
    if scheme == "http":
        connection = http.client.HTTPConnection(address, timeout=ANSWER_SECONDS)
    else:  # nothing is sent and nothing believed here but that somebody answers
        unverified = ssl._create_unverified_context()  # noqa: S323
        connection = http.client.HTTPSConnection(address, timeout=ANSWER_SECONDS, context=unverified)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
