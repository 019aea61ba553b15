"""The stores of artifacts that the settings name: the blob store, and the registry with the key it trusts."""

import functools
import ssl
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from gpuaas_server.artifacts.directory_store import DirectoryStore
from gpuaas_server.artifacts.oci import Registry
from gpuaas_server.artifacts.registry_tokens import Access, RegistryKey, registry_token
from gpuaas_server.artifacts.registry_transport import PlatformTransport
from gpuaas_server.artifacts.s3 import Bucket
from gpuaas_server.artifacts.s3_store import S3Store
from gpuaas_server.artifacts.stores import BlobStore
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki import service as pki

LOOPBACK = ("127.", "localhost", "[::1]")
EVERYWHERE = ("0.0.0.0", "[::]")


def blob_store(settings: Settings) -> BlobStore:
    if not settings.s3_bucket_url:
        return directory_store(settings)
    if settings.s3_access_key is None or settings.s3_secret_key is None:
        raise Problem("storage_unavailable", "The bucket has no keys: GPUAAS_S3_ACCESS_KEY and GPUAAS_S3_SECRET_KEY.")
    bucket = Bucket(
        settings.s3_bucket_url,
        settings.s3_region,
        settings.s3_access_key.get_secret_value(),
        settings.s3_secret_key.get_secret_value(),
    )
    return S3Store(bucket)


def directory_store(settings: Settings) -> DirectoryStore:
    return DirectoryStore(settings.data_dir / "artifacts", settings.artifact_max_bytes)


def registry_url(settings: Settings) -> str:
    """Return how this process reaches the registry, or an empty text when there is none."""
    if settings.registry_url or not settings.registry_bind:
        return settings.registry_url.rstrip("/")
    if settings.registry_bind.startswith(LOOPBACK):
        return f"http://{settings.registry_bind}"
    host, _, port = settings.registry_bind.rpartition(":")
    return f"https://{'localhost' if host in EVERYWHERE else host}:{port}"


def registry_host(settings: Settings) -> str:
    """Return what clients write before the repository's name."""
    return settings.registry_host or urlsplit(require_registry(settings)).netloc


def require_registry(settings: Settings) -> str:
    url = registry_url(settings)
    if not url:
        raise Problem("registry_not_configured")
    return url


async def registry_key(platform: Platform) -> RegistryKey:
    """Return the key that signs the registry's tokens now. Call it before a transaction, not inside."""
    newest = pki.signer(await pki.live_keys(platform, "registry_token"), platform.clock())
    if not isinstance(newest.private, EllipticCurvePrivateKey) or newest.certificate is None:
        raise TypeError(f"the registry's key {newest.kid} has an unexpected form")
    return RegistryKey(newest.private, newest.certificate)


async def registry(platform: Platform) -> Registry:
    """Return a client of the registry. Each of its requests carries a token for no more than it does."""
    url = require_registry(platform.settings)
    key = await registry_key(platform)
    trusted = None
    if url.startswith("https:"):
        trusted = ssl.create_default_context()
        trusted.load_verify_locations(cadata="".join(await pki.trusted_pems(platform)))
    mint = functools.partial(_platform_token, platform, key)
    return Registry(PlatformTransport(url, mint, trusted))


def _platform_token(platform: Platform, key: RegistryKey, wanted: Access) -> str:
    return registry_token(key, "gpuaas", [wanted], platform.clock())
