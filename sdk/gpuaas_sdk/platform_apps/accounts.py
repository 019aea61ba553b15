"""The service accounts of the controllers: one for each, with a key in a file that only its owner may read, and a binding."""

import json
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.credentials import ServiceAccountCredentials
from gpuaas_sdk.errors import Conflict, Denied, Unauthenticated
from gpuaas_sdk.generated.models import ServiceAccount

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AppsAccount:
    """The account that this process works with, from the file that the server wrote."""

    project_id: str
    client_id: str
    client_secret: str = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> "AppsAccount":
        try:
            found = json.loads(path.read_text())
            return cls(str(found["project_id"]), str(found["client_id"]), str(found["client_secret"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(
                f"The account of the platform's apps cannot be read from {path} ({type(error).__name__}). Write it with"
                " `gpuaas-server apps-account FILE`."
            ) from error


@dataclass(frozen=True, slots=True)
class ControllerKey:
    account_id: str
    secret_file: Path


@dataclass(frozen=True, slots=True)
class ControllerAccounts:
    """Makes the accounts. `folder` keeps the secrets; several machines have a key each."""

    api: AsyncClient
    project_id: str
    folder: Path

    async def ensure(self, name: str, slug: str) -> ControllerKey:
        """Return an account that may control the app, with a secret that works."""
        account_name, file = f"{name}-controller", self.folder / f"{name}.secret"
        account = await self._find(account_name)
        if account is None:
            try:
                made = await self.api.service_accounts.create(
                    self.project_id, account_name, ["apps:control"], app_slugs=[slug]
                )
            except Conflict:  # another machine was first
                return await self.ensure(name, slug)
            write_secret(file, made.key.secret)
            return ControllerKey(made.id, file)
        if not await self._works(account.id, file):
            write_secret(file, await self._new_key(account.id))
        return ControllerKey(account.id, file)

    async def ensure_binding(self, account_id: str, slug: str) -> None:
        async for one in self.api.controller_bindings.list(self.project_id):
            if (one.app_slug, one.service_account_id) == (slug, account_id):
                return
        try:
            await self.api.controller_bindings.create(self.project_id, slug, account_id)
            log.info("The controller of %s is bound to it", slug)
        except Conflict as error:
            if error.code != "already_exists":
                raise

    async def ensure_kind_binding(self, account_id: str, kind: str) -> None:
        async for one in self.api.controller_kind_bindings.list(self.project_id):
            if (one.artifact_kind, one.service_account_id) == (kind, account_id):
                return
        try:
            await self.api.controller_kind_bindings.create(self.project_id, kind, account_id)
            log.info("The controller of %s apps is bound to them", kind)
        except Conflict as error:
            if error.code != "already_exists":
                raise

    async def _find(self, name: str) -> ServiceAccount | None:
        async for one in self.api.service_accounts.list(self.project_id):
            if one.name == name:
                return one
        return None

    async def _works(self, account_id: str, file: Path) -> bool:
        """Tell whether the account can sign in with the stored secret."""
        secret = read_secret(file)
        if not secret:
            return False
        try:
            await self.api.sign_in(ServiceAccountCredentials(account_id, secret))
        except (Unauthenticated, Denied):
            return False
        return True

    async def _new_key(self, account_id: str) -> str:
        """Create a key. If the account has too many, from machines that are gone, the oldest key is deleted first."""
        accounts = self.api.service_accounts
        try:
            made = await accounts.create_key(self.project_id, account_id)
        except Conflict:
            keys = [one async for one in accounts.keys(self.project_id, account_id)]
            await accounts.delete_key(self.project_id, account_id, min(keys, key=lambda one: one.id).id)
            made = await accounts.create_key(self.project_id, account_id)
        return made.secret


def read_secret(path: Path) -> str:
    """Return the stored secret; empty when there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def write_secret(path: Path, secret: str) -> None:
    """Replace the file in one step (mode 0600): a process that was killed here left the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
