"""Declares what artifacts ask of, and tell, the nouns that use them: versions refer to them, instances run from them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook


@dataclass(frozen=True, slots=True)
class ArtifactHooks:
    # How many run from the digest, of all tenants.
    live_instances: Callable[[Connection, str], Awaitable[int]]
    # How many active ones of the publishing project (the first text) refer to the digest (the second).
    active_versions: Callable[[Connection, str, str], Awaitable[int]]
    # Names of those of the publishing project that are not retired and refer to the digest; at most so many.
    versions: Callable[[Connection, str, str, int], Awaitable[list[str]]]
    # Those of the digests to which versions refer that are not retired, of the publishing project (the text).
    digests_referred: Callable[[Connection, str, Sequence[str]], Awaitable[list[str]]]
    # Those of the digests from which something runs, of all tenants.
    digests_running: Callable[[Connection, Sequence[str]], Awaitable[list[str]]]
    # When a version of the publishing project (the text) that refers to the digest was last retired, by digest.
    last_retirements: Callable[[Connection, str, Sequence[str]], Awaitable[dict[str, datetime]]]
    # When an instance that ran from the digest last ended, of all tenants, by digest.
    last_instance_ends: Callable[[Connection, Sequence[str]], Awaitable[dict[str, datetime]]]
    # Told, with digest and publishing project, when an artifact has lost or regained its trust, or left the live stages.
    artifact_changed: Callable[[Tx, str, str], Awaitable[None]]
    # Told, with the tenant, when it trusts other keys than before, or wants signatures.
    tenant_trust_changed: Callable[[Tx, str], Awaitable[None]]


artifact_hooks: Hook[ArtifactHooks] = Hook("artifact_hooks")
