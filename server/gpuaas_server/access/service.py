"""What other nouns use of access: login certificates, grants, and the access of an operation."""

from gpuaas_server.access.certificates import certificates_forget, revoked_serials, revoked_serials_of
from gpuaas_server.access.grants import grants_create_from_keys, grants_of

__all__ = [
    "certificates_forget",
    "grants_create_from_keys",
    "grants_of",
    "revoked_serials",
    "revoked_serials_of",
]
