"""Server certificates of a process: renewed while it runs, with a metric for each, and a warning when it fails."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from urllib.parse import urlsplit

from psycopg import Error

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import TlsFiles, ensure_server_certificate

# How often a process looks, beside the moments when platform keys change. The wall clock decides what is due, so a clock
# that was set is noticed by the next look.
RENEW_SECONDS = 300.0
Renew = Callable[[], Awaitable[datetime | None]]

log = logging.getLogger(__name__)


async def https_certificate(platform: Platform) -> TlsFiles:
    """Return the current certificate for every name that somebody may use for us; a new one when the old nears its end."""
    settings = platform.settings
    binds = (settings.https_bind, settings.client_certificate_bind)
    hosts = {bind.rpartition(":")[0].strip("[]") for bind in binds if bind}
    names = (hosts | {"localhost", socket.gethostname()}) - {"0.0.0.0", "::", ""}
    names |= {name for url in settings.agent_urls if (name := urlsplit(url).hostname)}
    return await ensure_server_certificate(platform, sorted(names), settings.data_dir / "tls")


async def keep_renewing(platform: Platform, listener: str, renew: Renew) -> None:
    """Renew the certificate until cancelled, so that new connections always get a valid one."""
    while not platform.wakeups.ending:
        async with platform.wakeups.waiting(pki.TOPIC) as woken:
            await renew_once(platform, listener, renew)
            with suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS):
                    await woken.wait()


async def renew_once(platform: Platform, listener: str, renew: Renew) -> None:
    """Renew if it is time. A failure is counted, said once in the log and by /readyz, and tried again."""
    subject = f"certificate of {listener}"
    try:
        expires = await renew()
    except (OSError, ValueError, Error, Problem) as error:
        metrics.certificate_failures.labels(listener).inc()
        if subject not in platform.warnings:
            log.warning("a server certificate could not be renewed", extra={"listener": listener, "error": str(error)})
        platform.warnings[subject] = f"The {listener} certificate could not be renewed; it is tried again."
        return
    if platform.warnings.pop(subject, None) is not None:
        log.info("the server certificate could be renewed", extra={"listener": listener})
    if expires is not None:
        metrics.certificate_expiry.labels(listener).set(expires.timestamp())
