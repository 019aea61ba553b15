"""A tenant that accepts only artifacts that its key signed."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpuaas_sdk import TrustKey
from gpuaas_sdk.testing import Sandbox


@contextmanager
def signatures_required(sandbox: Sandbox, name: str, public_key: str) -> Iterator[TrustKey]:
    trust, tenant = sandbox.admin.trust, sandbox.tenant_id
    made = trust.create_key(tenant, name, public_key)
    trust.set_policy(tenant, True, "all our builds are signed")
    try:
        yield made
    finally:
        trust.set_policy(tenant, False, "the test is over")
