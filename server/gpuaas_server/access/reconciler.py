"""Workers that end access to allocations: of somebody who was disabled or lost their role (identity asks), of an operation."""

from datetime import datetime

from gpuaas_server.access import members, operation_access, user_keys
from gpuaas_server.identity.service import ACCESS_END, SSH_KEYS_DELETE
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


class AccessEndMachine:
    """The subject is the holder: a user or a service account."""

    kind = ACCESS_END

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, holder: str, now: datetime) -> str:
        return holder

    async def apply(self, tx: Tx, holder: str, decision: str) -> None:
        await members.holder_leaves(tx, None, holder)


class SshKeysDeleteMachine:
    """The subject is a user that was deleted. Grants made from the keys are ended by the machine above."""

    kind = SSH_KEYS_DELETE

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, user_id: str, now: datetime) -> str:
        return user_id

    async def apply(self, tx: Tx, user_id: str, decision: str) -> None:
        await user_keys.keys_delete(tx, user_id)


class OperationAccessEndMachine:
    """The subject is the operation whose certificates were revoked: its hosts are told, within moments."""

    kind = operation_access.HOSTS_TOLD

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, operation_id: str, now: datetime) -> str:
        return operation_id

    async def apply(self, tx: Tx, operation_id: str, decision: str) -> None:
        await operation_access.hosts_tell(tx, operation_id)
