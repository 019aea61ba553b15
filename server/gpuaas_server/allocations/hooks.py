"""Declares what allocations ask of, and tell, the nouns that use them: members of instances, and access to their hosts."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook


@dataclass(frozen=True, slots=True)
class Grant:
    """A public key that may log in to an allocation until `expires_at`; in this form it goes into task specs."""

    grant_id: str
    public_key: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewGrants:
    """Stored keys of one person on new allocations of one project, for as long as those live."""

    tenant_id: str
    project_id: str
    allocation_ids: Sequence[str]
    granted_to: str
    ssh_key_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class AllocationHooks:
    # Ask the members on the allocation to leave, since it is to be released; whether there is any to wait for.
    ask_members_to_leave: Callable[[Tx, str], Awaitable[bool]]
    # Whether a member still has to leave.
    has_members: Callable[[Connection, str], Awaitable[bool]]
    # Told, with the reason, that from now on there is no host: whatever was on it is lost.
    host_gone: Callable[[Tx, str, str], Awaitable[None]]
    # Told that the hosts below these allocations were lost, came back, or are reported as broken.
    hosts_changed: Callable[[Tx, Sequence[str]], Awaitable[None]]
    # Put stored SSH keys on new allocations, in the transaction that creates those.
    grant_stored_keys: Callable[[Tx, NewGrants], Awaitable[None]]
    # The grants that a host must know, by allocation.
    grants_of: Callable[[Connection, Sequence[str]], Awaitable[dict[str, list[Grant]]]]
    # Serials of login certificates for the allocation that its host must refuse.
    revoked_serials: Callable[[Connection, str], Awaitable[list[int]]]


allocation_hooks: Hook[AllocationHooks] = Hook("allocation_hooks")
