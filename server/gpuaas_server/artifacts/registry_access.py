"""Decides who gets which registry token: API callers by their permissions, a runtime secret for the one image it names."""

import base64
import binascii

from gpuaas_server.admission import service as admission
from gpuaas_server.admission.service import IdentityGate
from gpuaas_server.artifacts import backends, registry_queries, runtime_secrets
from gpuaas_server.artifacts.registry_tokens import HOST_LIFE, LIFE, PULL, PUSH, Access, parse_scopes, registry_token
from gpuaas_server.artifacts.schemas import RegistryToken
from gpuaas_server.capacity import service as capacity
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import Principal
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.client_certificates import ShownCertificate
from gpuaas_server.kernel.ids import is_id
from gpuaas_server.projects import service as projects

# The actions of our policy for each action of the registry; one of them is enough. A client that pushes first reads what
# the registry has, so the permission to push includes pulling.
ACTIONS = {PULL: ("artifact_content", "publish_intent_create"), PUSH: ("publish_intent_create",)}
TOKEN_USER = "token"  # noqa: S105 - the user name that says: the password is an access token of the API


@dataclass(frozen=True, slots=True)
class ShownCredentials:
    """The credentials that a client showed: an access token, or a name with a password."""

    name: str
    password: str


def read_authorization(header: str | None) -> ShownCredentials | None:
    if header is None:
        return None
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return ShownCredentials(TOKEN_USER, rest)
    try:
        name, colon, password = base64.b64decode(rest, validate=True).decode().partition(":")
    except (ValueError, binascii.Error) as error:
        raise Problem("bad_credentials", "Authorization is neither Basic nor Bearer.") from error
    if scheme.lower() != "basic" or not colon:
        raise Problem("bad_credentials", "Authorization is neither Basic nor Bearer.")
    return ShownCredentials(name, password)


async def registry_token_issue(
    platform: Platform,
    gate: IdentityGate,
    caller: Actor,
    authorization: str | None,
    scopes: list[str],
    certificate: ShownCertificate,
) -> RegistryToken:
    """Issue a token. Without credentials it opens nothing, which is how a client finds out that it needs some."""
    backends.require_registry(platform.settings)
    shown, asked = read_authorization(authorization), parse_scopes(scopes)
    life = LIFE
    if shown is None:
        subject, granted = "", list[Access]()
    elif is_id("rts", shown.name):
        pulled = await runtime_secrets.open_secret(platform, shown.name, shown.password)
        life, subject, granted = HOST_LIFE, shown.name, [one for one in asked if one.repository == pulled.location]
        granted = [Access(one.repository, one.actions & {PULL}) for one in granted]
    else:
        principal = await _principal(platform, gate, caller, shown, certificate)
        subject, granted = principal.id, [await _granted(platform, principal, one) for one in asked]
    now = platform.clock()
    token = registry_token(await backends.registry_key(platform), subject, granted, now, life)
    return RegistryToken(token=token, access_token=token, expires_in=int(life.total_seconds()), issued_at=now)


async def _principal(
    platform: Platform, gate: IdentityGate, caller: Actor, shown: ShownCredentials, certificate: ShownCertificate
) -> Principal:
    if is_id("sva", shown.name):
        token = await identity.account_token(platform, caller, shown.name, shown.password, certificate)
        return await gate.principal_of(token, certificate)
    if shown.name != TOKEN_USER:
        detail = f"The user is a service account's id with its key, or '{TOKEN_USER}' with an access token."
        raise Problem("bad_credentials", detail)
    return await gate.principal_of(shown.password, certificate)


async def _granted(platform: Platform, principal: Principal, asked: Access) -> Access:
    """Return those of the actions that the policy allows in the repository's project. An empty set says nothing more."""
    project_id = asked.project_id
    if project_id is None:
        return Access(asked.repository, frozenset())
    async with platform.database.connection(PLATFORM) as connection:
        place = await projects.project_target(connection, project_id)
        expected = PUSH not in asked.actions or await _expects_push(connection, asked)
    allowed = {
        action
        for action, rules in ACTIONS.items()
        if action in asked.actions
        and place is not None
        and any(admission.may(principal, rule, place) for rule in rules)
    }
    if PUSH in allowed and not expected:
        allowed.remove(PUSH)
    if PUSH in allowed and place is not None:
        await _require_room(platform, project_id, place.tenant_id)
    return Access(asked.repository, frozenset(allowed))


async def _expects_push(connection: Connection, asked: Access) -> bool:
    project_id, _, name = asked.repository.partition("/")
    return await registry_queries.is_push_expected(connection, project_id, name)


async def _require_room(platform: Platform, project_id: str, tenant_id: str) -> None:
    """Refuse a push without quota. Bytes that were pushed and never registered count until they are removed."""
    most = platform.settings.quota_artifact_bytes
    async with platform.database.connection(PLATFORM) as connection:
        full = await registry_queries.exceeded_scope(connection, project_id, tenant_id, most)
    if full is not None:
        raise capacity.artifact_bytes_exceeded(full.scope, full.limit, full.used)
