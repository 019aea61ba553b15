"""Who gets which registry token: a caller of the API by their own rights, a runtime secret for the one image it names."""

import base64
import binascii
from dataclasses import dataclass

from gpuaas_server.artifacts import places, pulling
from gpuaas_server.artifacts.registry_tokens import LIFE, PULL, PUSH, Access, parse_scopes, registry_token
from gpuaas_server.artifacts.schemas import RegistryToken
from gpuaas_server.identity import other_doors
from gpuaas_server.identity.other_doors import Believer
from gpuaas_server.identity.principals import Principal
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import is_id
from gpuaas_server.projects import service as projects

# What each action of the registry is, in words of our own policy; one of them will do. Who pushes looks first at what is
# there already, so that pushing without pulling is nothing that a registry knows.
ACTIONS = {PULL: ("artifact_content", "publish_intent_create"), PUSH: ("publish_intent_create",)}
TOKEN_USER = "token"  # noqa: S105 - the user name that says: the password is an access token of the API


@dataclass(frozen=True, slots=True)
class Shown:
    """What a client showed: an access token, or a name with a password."""

    name: str
    password: str


def read_authorization(header: str | None) -> Shown | None:
    if header is None:
        return None
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer":
        return Shown(TOKEN_USER, rest)
    try:
        name, colon, password = base64.b64decode(rest, validate=True).decode().partition(":")
    except (ValueError, binascii.Error) as error:
        raise Problem("bad_credentials", "Authorization is neither Basic nor Bearer.") from error
    if scheme.lower() != "basic" or not colon:
        raise Problem("bad_credentials", "Authorization is neither Basic nor Bearer.")
    return Shown(name, password)


async def registry_token_issue(
    platform: Platform, believer: Believer, caller: Actor, authorization: str | None, scopes: list[str]
) -> RegistryToken:
    """Without any credentials the token opens nothing, which is how a client finds out that it needs some."""
    places.require_registry(platform.settings)
    shown, asked = read_authorization(authorization), parse_scopes(scopes)
    if shown is None:
        subject, granted = "", list[Access]()
    elif is_id("rts", shown.name):
        pulled = await pulling.secret_opened(platform, shown.name, shown.password)
        subject, granted = shown.name, [one for one in asked if one.repository == pulled.location]
        granted = [Access(one.repository, one.actions & {PULL}) for one in granted]
    else:
        principal = await _principal(platform, believer, caller, shown)
        subject, granted = principal.id, [await _granted(platform, principal, one) for one in asked]
    now = platform.clock()
    token = registry_token(await places.registry_key(platform), subject, granted, now)
    return RegistryToken(token=token, access_token=token, expires_in=int(LIFE.total_seconds()), issued_at=now)


async def _principal(platform: Platform, believer: Believer, caller: Actor, shown: Shown) -> Principal:
    if is_id("sva", shown.name):
        return await believer.principal_of(
            await other_doors.account_token(platform, caller, shown.name, shown.password)
        )
    if shown.name != TOKEN_USER:
        detail = f"The user is a service account's id with its key, or '{TOKEN_USER}' with an access token."
        raise Problem("bad_credentials", detail)
    return await believer.principal_of(shown.password)


async def _granted(platform: Platform, principal: Principal, asked: Access) -> Access:
    """Those of the actions that the policy allows in the repository's project; an empty set tells nothing of the rest."""
    project_id = asked.project_id
    if project_id is None:
        return Access(asked.repository, frozenset())
    async with platform.database.connection(PLATFORM) as connection:
        place = await projects.project_place(connection, project_id)
    allowed = {
        action
        for action, rules in ACTIONS.items()
        if action in asked.actions
        and place is not None
        and any(other_doors.may(principal, rule, place) for rule in rules)
    }
    return Access(asked.repository, frozenset(allowed))
