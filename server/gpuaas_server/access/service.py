"""Offers other nouns what they use of access: login certificates, grants, and the access of an operation."""

from gpuaas_server.access.certificates import (
    CertificateSources,
    IssueRequest,
    certificate_sources,
    certificates_forget,
    certificates_issue,
    revoked_serials,
    revoked_serials_of,
    target_of,
)
from gpuaas_server.access.deliveries import deliveries_forget
from gpuaas_server.access.grants import grants_create_from_keys, grants_of, require_allocation
from gpuaas_server.access.operation_access import (
    MachineAccessRequest,
    certificates_end,
    lock_operation_access,
    operation_certificates_issue,
)

__all__ = [
    "CertificateSources",
    "IssueRequest",
    "MachineAccessRequest",
    "certificate_sources",
    "certificates_end",
    "certificates_forget",
    "certificates_issue",
    "deliveries_forget",
    "grants_create_from_keys",
    "grants_of",
    "lock_operation_access",
    "operation_certificates_issue",
    "require_allocation",
    "revoked_serials",
    "revoked_serials_of",
    "target_of",
]
