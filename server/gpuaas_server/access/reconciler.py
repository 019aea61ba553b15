"""The reconcilers of access. They end the access of a user or service account (identity enqueues it) and of an operation."""

from datetime import datetime

from gpuaas_server.access import members, operation_access, user_keys
from gpuaas_server.identity.service import ACCESS_END, SSH_KEYS_DELETE
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


class AccessEndReconciler:
    """Ends the access of a user or service account that was disabled or lost its role. The subject is its id."""

    kind = ACCESS_END

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, holder: str, now: datetime) -> str:
        return holder

    async def apply(self, tx: Tx, holder: str, decision: str) -> None:
        await members.holder_leaves(tx, None, holder)


class SshKeysDeleteReconciler:
    """Deletes the SSH keys of a deleted user, the subject. `AccessEndReconciler` ends the grants made from them."""

    kind = SSH_KEYS_DELETE

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, user_id: str, now: datetime) -> str:
        return user_id

    async def apply(self, tx: Tx, user_id: str, decision: str) -> None:
        await user_keys.keys_delete(tx, user_id)


class OperationAccessEndReconciler:
    """Tells the hosts of an operation, the subject, that its certificates were revoked."""

    kind = operation_access.HOSTS_TOLD

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, operation_id: str, now: datetime) -> str:
        return operation_id

    async def apply(self, tx: Tx, operation_id: str, decision: str) -> None:
        await operation_access.hosts_tell(tx, operation_id)
