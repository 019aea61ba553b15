"""The jobs of access. They end the access of a user or service account (identity enqueues it) and of an operation."""

from gpuaas_server.access import members, operation_access, user_keys
from gpuaas_server.identity.service import ACCESS_END, SSH_KEYS_DELETE
from gpuaas_server.kernel.context import Tx


class AccessEndJob:
    """Ends the access of a user or service account that was disabled or lost its role. The subject is its id."""

    kind = ACCESS_END

    async def run(self, tx: Tx, subject: str) -> None:
        await members.holder_leaves(tx, None, subject)


class SshKeysDeleteJob:
    """Deletes the SSH keys of a deleted user, the subject. `AccessEndJob` ends the grants made from them."""

    kind = SSH_KEYS_DELETE

    async def run(self, tx: Tx, subject: str) -> None:
        await user_keys.keys_delete(tx, subject)


class OperationAccessEndJob:
    """Tells the hosts of an operation, the subject, that its certificates were revoked."""

    kind = operation_access.HOSTS_TOLD

    async def run(self, tx: Tx, subject: str) -> None:
        await operation_access.notify_hosts(tx, subject)
