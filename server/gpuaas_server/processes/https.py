"""The HTTPS listeners of an api process: where they listen, and the TLS context of each.

A listener needs a certificate, not the database: the one of the last run is on disk, so that a process that waits for its
database answers over HTTPS what it waits for. Renewal goes on as soon as there is a database.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import uvicorn

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki.service import TlsFiles, client_authority_bundle, replace_file, server_files
from gpuaas_server.processes.certificates import https_certificate

CLIENT_AUTHORITIES = "client-ca.crt"


@dataclass(frozen=True, slots=True)
class HttpsAddress:
    """An address that serves HTTPS. `name` is the metric's label; `asks` says whether clients are asked for a certificate."""

    name: str
    bind: str
    asks: bool


def https_addresses(settings: Settings) -> list[HttpsAddress]:
    """Return the addresses: one listener where both settings name the same one."""
    plain, asking = settings.https_bind, settings.client_certificate_bind
    found = [HttpsAddress("https", plain, plain == asking)] if plain else []
    if asking and asking != plain:
        found.append(HttpsAddress("client_certificates", asking, True))
    return found


def server_context(chain_path: Path, client_authorities: str) -> ssl.SSLContext:
    """Return a context that serves this chain. With client authorities it asks for a certificate, which is optional."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(str(chain_path))
    if client_authorities:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=client_authorities)
    return context


class HttpsContext:
    """Keeps the TLS context of one listener current: connections that are open go on, new ones get what is current."""

    def __init__(self, address: HttpsAddress, config: uvicorn.Config, settings: Settings) -> None:
        self._address = address
        self._config = config
        self._authorities_path = settings.data_dir / "tls" / CLIENT_AUTHORITIES
        self._authorities = ""
        self._files = server_files(settings.data_dir / "tls")

    def load_stored(self) -> bool:
        """Use what the last run left on disk; False when there is nothing that can be used."""
        path = self._authorities_path
        try:
            authorities = path.read_text() if self._address.asks and path.exists() else ""
            self._use(self._files, authorities)
        except (OSError, ssl.SSLError):
            return False
        return True

    async def renew(self, platform: Platform) -> datetime:
        """Use the current certificate and client authorities, which are made or renewed when it is time."""
        files = await https_certificate(platform)
        authorities = await client_authority_bundle(platform) if self._address.asks else ""
        if authorities != self._authorities:
            await asyncio.to_thread(replace_file, self._authorities_path, authorities, 0o644)
        self._use(files, authorities)
        return files.expiry()

    def renewal(self, platform: Platform) -> Callable[[], Awaitable[datetime]]:
        return partial(self.renew, platform)

    def _use(self, files: TlsFiles, authorities: str) -> None:
        """Use the files. A new context is made when the authorities change: a retired one cannot be taken out of the old."""
        context = self._config.ssl
        if context is None or authorities != self._authorities:
            self._config.ssl = server_context(files.chain_path, authorities)
            self._authorities = authorities
        else:
            context.load_cert_chain(str(files.chain_path))
