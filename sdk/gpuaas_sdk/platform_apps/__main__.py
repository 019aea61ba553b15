"""`python -m gpuaas_sdk.platform_apps` (or `gpuaas-platform-apps`): provide the platform's apps until SIGTERM."""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.credentials import ServiceAccountCredentials
from gpuaas_sdk.errors import Denied, GpuaasError, Unauthenticated
from gpuaas_sdk.platform_apps.accounts import AppsAccount
from gpuaas_sdk.platform_apps.declaration import ALL, InstalledApp, installed_apps
from gpuaas_sdk.platform_apps.provider import Provider

log = logging.getLogger("gpuaas.platform_apps")


def main() -> None:
    """Read GPUAAS_URL and GPUAAS_APPS_ACCOUNT_FILE, which must be set, and GPUAAS_APPS_STATE_DIR (default: the folder of the
    account file), GPUAAS_APPS (all, none, or names with commas) and GPUAAS_CA_FILE, which may be.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    missing = [name for name in ("GPUAAS_URL", "GPUAAS_APPS_ACCOUNT_FILE") if not os.environ.get(name)]
    if missing:
        raise SystemExit(f"These variables are not set: {', '.join(missing)}")
    account_file = Path(os.environ["GPUAAS_APPS_ACCOUNT_FILE"])
    folder = Path(os.environ.get("GPUAAS_APPS_STATE_DIR") or account_file.parent)
    apps = installed_apps(os.environ.get("GPUAAS_APPS") or ALL)
    asyncio.run(serve(os.environ["GPUAAS_URL"], AppsAccount.read(account_file), folder, apps))


async def serve(url: str, account: AppsAccount, folder: Path, apps: Sequence[InstalledApp]) -> None:
    """Provide the apps until this process gets SIGTERM or SIGINT; then stop their controllers."""
    ca_file = os.environ.get("GPUAAS_CA_FILE") or None
    credentials = ServiceAccountCredentials(account.client_id, account.client_secret)
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled.set)
    log.info("The platform's apps start: %s", ", ".join(one.name for one in apps) or "none is installed")
    async with AsyncClient(url, credentials=credentials, ca_file=ca_file, user_agent="gpuaas-platform-apps") as api:
        await _require_account(api, credentials)
        provider = Provider(api, account.project_id, url, ca_file, folder)
        running = [asyncio.create_task(provider.provide(one), name=one.name) for one in apps]
        for task in running:
            task.add_done_callback(_tell_end)
        await signalled.wait()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    log.info("The platform's apps have stopped")


async def _require_account(api: AsyncClient, credentials: ServiceAccountCredentials) -> None:
    """End here if the account is refused: no retry would help. While the platform is unavailable, the apps are tried again."""
    try:
        await api.sign_in(credentials)
    except (Unauthenticated, Denied) as error:
        raise SystemExit(
            f"The account of the platform's apps is refused ({error.code}). Remove its file, GPUAAS_APPS_ACCOUNT_FILE;"
            " `gpuaas-server up` writes another, or `gpuaas-server apps-account FILE` does."
        ) from error
    except GpuaasError as error:
        log.warning("The platform cannot be reached: %s", error)


def _tell_end(task: "asyncio.Task[None]") -> None:
    """Log an unexpected end of one app. The other apps go on."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s is not provided any more: %s", task.get_name(), type(error).__name__, exc_info=error)


if __name__ == "__main__":
    main()
