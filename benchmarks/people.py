"""Signed-in callers for the loads."""

import secrets

from gpuaas_sdk import Client, PasswordCredentials
from system_support.world import World


def member_token(world: World, *other_projects: str) -> str:
    """The access token of a fresh member of the world's project, and of others."""
    email, password = f"load-{secrets.token_hex(4)}@example.test", secrets.token_urlsafe(18)
    user = world.admin.users.create(world.tenant_id, email, "load", password=password)
    for project in (world.project_id, *other_projects):
        world.admin.projects.set_member(project, user.id, "project_member")
    with Client(world.server.url) as client:
        return client.sign_in(PasswordCredentials(email, password)).access_token
