"""Signed-in callers for the loads."""

import secrets

from gpuaas_sdk import Client, PasswordCredentials
from gpuaas_sdk.testing import Sandbox


def member_token(sandbox: Sandbox, *other_projects: str) -> str:
    """The access token of a fresh member of the sandbox's project, and of others."""
    email, password = f"load-{secrets.token_hex(4)}@example.test", secrets.token_urlsafe(18)
    user = sandbox.admin.users.create(sandbox.tenant_id, email, "load", password=password)
    for project in (sandbox.project_id, *other_projects):
        sandbox.admin.projects.set_member(project, user.id, "project_member")
    with Client(sandbox.server.url) as client:
        return client.sign_in(PasswordCredentials(email, password)).access_token
