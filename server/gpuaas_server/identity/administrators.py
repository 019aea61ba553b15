"""The first administrator, and the reset for an operator who has the server's machine but no password."""

from collections.abc import Callable
from dataclasses import field

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.lockouts import username_digest
from gpuaas_server.identity.passwords import hash_password, random_password
from gpuaas_server.identity.queries import bindings as binding_queries
from gpuaas_server.identity.queries import logins as login_queries
from gpuaas_server.identity.queries import users as user_queries
from gpuaas_server.identity.rows import UserRow
from gpuaas_server.identity.signing_keys import TOPIC
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.start import StartFailed

FIRST_ADMIN_EMAIL = "admin@gpuaas.local"
ROLE = "platform_admin"


@dataclass(frozen=True, slots=True)
class Administrator:
    """An administrator with a new password, which is shown once on the terminal of the operator."""

    email: str
    password: str = field(repr=False)


Keep = Callable[[Administrator], None]


async def ensure_first_admin(platform: Platform, keep: Keep | None = None) -> Administrator | None:
    """Make an administrator when there is none. The lock lets one of several starting replicas do it.

    `keep` is called before the commit: when it fails, no administrator was made, and the next start tries again.
    """
    password = random_password()
    password_hash = await hash_password(password)
    admin = Administrator(FIRST_ADMIN_EMAIL, password)
    async with platform.transaction(PLATFORM, system_actor("identity/start")) as tx:
        await binding_queries.first_admin_lock(tx.connection)
        if await binding_queries.platform_admin_exists(tx.connection):
            return None
        user_id = await _create(tx, FIRST_ADMIN_EMAIL, password_hash)
        if user_id is None:
            raise StartFailed(f"{FIRST_ADMIN_EMAIL} exists but nobody holds {ROLE}; run `gpuaas-server admin reset`")
        await record(tx, AuditEntry("user_create", user_id, details={"first_admin": True}))
        await tx.flush()
        if keep is not None:
            keep(admin)
    return admin


async def reset_admin(platform: Platform, email: str | None, keep: Keep | None = None) -> Administrator:
    """Give an administrator of the platform a new password, end every session, enable and unlock the account.

    Without an address it is the first administrator. A missing user is created; a missing role is given.
    """
    password = random_password()
    password_hash = await hash_password(password)
    async with platform.transaction(PLATFORM, system_actor("admin-reset")) as tx:
        await binding_queries.first_admin_lock(tx.connection)
        await binding_queries.admins_lock(tx.connection, None)
        found = await user_queries.user_of_email(tx.connection, email or FIRST_ADMIN_EMAIL)
        if found is None and email is None:
            found = await user_queries.oldest_admin(tx.connection)
        address = found.email if found is not None else (email or FIRST_ADMIN_EMAIL).lower()
        if found is None:
            user_id = await _create(tx, address, password_hash)
        else:
            user_id = await _reset(tx, found, password_hash)
        details = {"created": found is None, "by": "gpuaas-server admin reset"}
        await record(tx, AuditEntry("admin_reset", user_id, details=details))
        tx.wakeups.add(TOPIC)
        await tx.flush()
        admin = Administrator(address, password)
        if keep is not None:
            keep(admin)
    return admin


async def _create(tx: Tx, email: str, password_hash: str) -> str | None:
    user = await user_queries.user_insert(
        tx.connection, new_id("usr"), None, email, "Administrator", password_hash, tx.now
    )
    if user is None:
        return None
    await binding_queries.member_set(tx.connection, new_id("rbd"), user.id, ROLE, None, None, tx.now)
    return user.id


async def _reset(tx: Tx, found: UserRow, password_hash: str) -> str:
    """Set the password, which starts a new epoch and so ends every earlier token and session."""
    user_id = found.id
    if found.tenant_id is not None:
        raise StartFailed(f"{found.email} is a user of a tenant, and cannot be an administrator of the platform")
    await user_queries.user_update(tx.connection, user_id, found.name, False)
    await user_queries.password_set(tx.connection, user_id, password_hash, None)
    await login_queries.failures_clear(tx.connection, username_digest(found.email))
    await binding_queries.member_set(tx.connection, new_id("rbd"), user_id, ROLE, None, None, tx.now)
    return user_id
