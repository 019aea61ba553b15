"""Images in registries that are not the platform's own: known by `host/repository@sha256:…`, read by their manifests alone.

Layers are not read here: hosts pull them by the digests in the manifest, which protect them just as well.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gpuaas_server.artifacts.external_transport import ExternalTransport, PullCredential, not_allowed
from gpuaas_server.artifacts.oci import Image, Registry
from gpuaas_server.artifacts.schemas import PullCredentialSet
from gpuaas_server.kernel.allowed_hosts import AllowedHosts
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import PreparedSecret, SecretOwner, SecretRef

PURPOSE = "artifact_pull"
CHECK_SECONDS = 120.0  # for all requests of one check: a registry that sends a byte now and then is unavailable
_REFERENCE = re.compile(r"([^/@]+)/([^@]+)@(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class ImageReference:
    registry: str
    repository: str
    digest: str


@dataclass(frozen=True, slots=True)
class ExternalImage:
    """An image of an external registry, and the secret with the credential for it, if it has one."""

    registry: str
    repository: str
    digest: str
    pull_secret_id: str | None


def parse_reference(text: str) -> ImageReference:
    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise Problem("invalid_request", "reference: It must have the form host/repository@sha256:….")
    return ImageReference(*found.groups())


def allowed_hosts(settings: Settings) -> AllowedHosts:
    return AllowedHosts(settings.external_registries, settings.external_registry_networks)


def registry_scheme(settings: Settings, registry: str) -> str:
    """Return how the registry is spoken to: https, or http where the operator says so. Refuse one that is not on the list."""
    scheme = allowed_hosts(settings).scheme_of(registry)
    if scheme is None:
        raise not_allowed(registry)
    return scheme


def registry_authorities(settings: Settings) -> list[str]:
    """Return the certificates (PEM) of the authorities that the operator names for external registries. The file is read
    each time, so that it can be renewed.
    """
    if settings.external_registry_ca_file is None:
        return []
    try:
        found = x509.load_pem_x509_certificates(settings.external_registry_ca_file.read_bytes())
    except (OSError, ValueError) as error:
        detail = (
            "The platform cannot read the certificates in GPUAAS_EXTERNAL_REGISTRY_CA_FILE; an operator must mend it."
        )
        raise Problem("registry_unavailable", detail) from error
    return [one.public_bytes(Encoding.PEM).decode() for one in found]


async def prepare_credential(
    platform: Platform, caller: Caller, given: PullCredentialSet | None
) -> PreparedSecret | None:
    """Seal a credential before the transaction that keeps it."""
    if given is None:
        return None
    clear = orjson.dumps({"username": given.username, "password": given.password})
    return await secrets.secret_prepare(platform, SecretOwner(caller.tenant_id, caller.project_id, PURPOSE), clear)


async def discard_credential(platform: Platform, prepared: PreparedSecret | None) -> None:
    if prepared is not None:
        await secrets.secret_discard(platform, prepared)


async def open_credential(platform: Platform, secret_id: str | None) -> PullCredential | None:
    """Return the credential for the caller's memory only. It reaches beyond the database: call it outside transactions."""
    if secret_id is None:
        return None
    clear = orjson.loads(await secrets.secret_open(platform, PLATFORM, SecretRef(secret_id, 1)))
    return PullCredential(clear["username"], clear["password"])


@asynccontextmanager
async def external_registry(platform: Platform, image: ExternalImage) -> AsyncIterator[Registry]:
    """Open the image's registry for one check, which has a deadline of its own."""
    credential = await open_credential(platform, image.pull_secret_id)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            hosts, authorities = allowed_hosts(platform.settings), registry_authorities(platform.settings)
            yield Registry(ExternalTransport(hosts, image.registry, credential, authorities))
    except TimeoutError as error:
        raise Problem("registry_unavailable", f"The registry took more than {CHECK_SECONDS:.0f} s.") from error


async def check_external(registry: Registry, settings: Settings, image: ExternalImage) -> Image:
    """Read the manifests and compare digests and sizes; raise a Problem that says what is wrong."""
    contents = await registry.read_image(image.repository, image.digest)
    if contents is None:
        raise Problem("image_not_found", f"{image.registry} has no manifest {image.digest} in {image.repository}.")
    if contents.image.size_bytes > settings.external_image_max_bytes:
        most = settings.external_image_max_bytes
        raise Problem("image_too_large", f"The image has {contents.image.size_bytes} bytes; {most} are allowed.")
    return contents.image
