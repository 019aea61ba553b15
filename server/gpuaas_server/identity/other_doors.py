"""For doors where a caller shows who they are in another way than this API's bearer token: the registry's token endpoint."""

from typing import Protocol

from gpuaas_server.identity.logins import auth_token
from gpuaas_server.identity.policy import RULES, decide
from gpuaas_server.identity.principals import Principal
from gpuaas_server.identity.rules import Verdict
from gpuaas_server.identity.schemas import ClientCredentialsGrant
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.projects.service import ProjectPlace


class Believer(Protocol):
    """The gate, as far as these doors need it."""

    async def principal_of(self, token: str) -> Principal: ...


async def account_token(platform: Platform, caller: Actor, account_id: str, secret: str) -> str:
    """Sign a service account in by its key, with all that signing in means: limits, the trail, the last use."""
    grant = ClientCredentialsGrant(grant_type="client_credentials", client_id=account_id, client_secret=secret)
    return (await auth_token(platform, caller, grant)).access_token


def may(principal: Principal, action: str, place: ProjectPlace) -> bool:
    """Whether the policy would admit the action there; in a disabled place, only what ends something."""
    if place.disabled and not RULES[action].while_disabled and not principal.platform_roles:
        return False
    return decide(principal, action, place.tenant_id, place.project_id) is Verdict.ALLOWED
