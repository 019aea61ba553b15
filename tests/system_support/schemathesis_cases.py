"""Makes schemathesis cases reach the code behind the first checks: with ids of things that exist."""

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemathesis import Case
from schemathesis.generation.meta import CoveragePhaseData

from gpuaas_sdk.testing import Sandbox
from system_support.policy_callers import furnish, set_apart

_ID = re.compile("[a-z]{2,3}_[0-7][0-9a-hjkmnp-tv-z]{25}")
# Filled while the server runs.
RESOURCES: dict[str, str] = {}


def adapt(case: Case[Any]) -> None:
    """Change a case so that it gets further, without correcting what is wrong with it."""
    _drop_leaked_headers(case)
    for name, value in dict(case.path_parameters or {}).items():
        case.path_parameters[name] = _real(name, value)
    if case.query and re.fullmatch("[0-9]|[1-5][0-9]|60", str(case.query.get("wait"))):
        case.query["wait"] = 0  # a long poll would wait
    body: Any = case.body
    if isinstance(body, dict) and isinstance(body.get("expires_at"), str):
        # A schema cannot say that an expiry must be in the future.
        case.body = {**body, "expires_at": re.sub(r"^\d{4}(?=-)", "2999", body["expires_at"])}
    key = case.headers.get("Idempotency-Key") if case.headers else None
    if isinstance(key, str) and re.fullmatch("[!-~]{8,128}", key):
        case.headers["Idempotency-Key"] = secrets.token_hex(16)  # each key is used for one request


def _real(name: str, value: object) -> object:
    """Replace three of four well-formed ids with ids of things that exist."""
    if well_formed(value) and hashlib.sha256(str(value).encode()).digest()[0] % 4:
        return RESOURCES.get(name, value)
    return value


def well_formed(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _drop_leaked_headers(case: Case[Any]) -> None:
    """Remove headers that the coverage phase fills with invalid values, even in cases that it calls valid, because it
    finds no valid text for their patterns. They stay if the case tests them.
    """
    data = case.meta.phase.data if case.meta is not None else None
    if isinstance(data, CoveragePhaseData):
        for name in ("If-Match", "Last-Event-ID"):
            if name in case.headers and data.parameter != name and not data.description.startswith(name):
                del case.headers[name]


@contextmanager
def disposable_resources(sandbox: Sandbox) -> Iterator[None]:
    """Create resources of every kind that a test may change, end and delete."""
    with sandbox.simulated_fleet(2, first_index=900) as nodes:
        place = furnish(sandbox.admin, sandbox.tenant_id, sandbox.project_id)
        RESOURCES.update(set_apart(sandbox.admin, nodes, {place["allocation_node"]}) | place)
        try:
            yield
        finally:
            RESOURCES.clear()
