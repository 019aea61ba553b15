"""Decides which secrets an instance has, and which values are to be made. Pure, except that it draws random values."""

import secrets
import string
from collections.abc import Mapping

from gpuaas_server.catalog.service import DeclaredSecret, ManifestDocument, declared_secrets
from gpuaas_server.instances.rows import InstanceRow
from gpuaas_server.instances.secret_queries import InstanceSecretRow
from gpuaas_server.operations.service import CHANGES_VERSION, OperationRow

_LETTERS = string.ascii_letters + string.digits
ROTATED = "secrets"  # the parameter of a rotation: the names of the secrets that change


def secrets_of_operation(row: InstanceRow, operation: OperationRow) -> list[DeclaredSecret]:
    """Return the secrets of the version that the operation brings or leaves in place."""
    attempted = row.attempted if operation.kind in CHANGES_VERSION else None
    return declared_secrets(row.manifest if attempted is None else attempted["manifest"])


def shared_names(manifest: ManifestDocument, source: str) -> list[str]:
    """Return the secrets that members know."""
    return [one.key for one in declared_secrets(manifest) if one.shared and one.source == source]


def rotated_names(operation: OperationRow) -> list[str]:
    """Return the secrets that the operation is to change; empty for an operation that is no rotation."""
    named = operation.parameters.get(ROTATED)
    return [str(name) for name in named] if isinstance(named, list) else []


def needs_new_value(one: DeclaredSecret, known: Mapping[str, InstanceSecretRow], operation: OperationRow) -> bool:
    """Tell whether the platform makes a value when this operation reads the secret: the first one, or, once in a rotation, the
    next one. An attempt after a crash reads the one that was made.
    """
    if one.source != "generated":
        return False
    row = known.get(one.key)
    if row is None:
        return True
    return one.key in rotated_names(operation) and row.operation_id != operation.id


def make_value(one: DeclaredSecret) -> bytes:
    if one.kind == "bytes":
        return secrets.token_bytes(one.length)
    return "".join(secrets.choice(_LETTERS) for _ in range(one.length)).encode()
