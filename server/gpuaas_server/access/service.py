"""What other nouns use of access: login certificates, grants, and the access of an operation."""

from gpuaas_server.access.certificates import (
    Issue,
    certificates_forget,
    certificates_issue,
    requester_sources,
    revoked_serials,
    revoked_serials_of,
    target_of,
)
from gpuaas_server.access.deliveries import deliveries_forget
from gpuaas_server.access.grants import allocation_place, grants_create_from_keys, grants_of
from gpuaas_server.access.operation_access import WayIn, certificates_end, operation_certificates_issue, operation_hold

__all__ = [
    "Issue",
    "WayIn",
    "allocation_place",
    "certificates_end",
    "certificates_forget",
    "certificates_issue",
    "deliveries_forget",
    "grants_create_from_keys",
    "grants_of",
    "operation_certificates_issue",
    "operation_hold",
    "requester_sources",
    "revoked_serials",
    "revoked_serials_of",
    "target_of",
]
