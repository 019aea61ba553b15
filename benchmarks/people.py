"""Signed-in callers for the loads."""

import secrets

from gpuaas_sdk import Client, PasswordCredentials
from system_support.world import World


def member_token(world: World) -> str:
    """The access token of a fresh project member."""
    email, password = f"load-{secrets.token_hex(4)}@example.test", secrets.token_urlsafe(18)
    user = world.admin.users.create(world.tenant_id, email, "load", password)
    world.admin.projects.set_member(world.project_id, user.id, "project_member")
    with Client(world.server.url) as client:
        return client.sign_in(PasswordCredentials(email, password)).access_token
