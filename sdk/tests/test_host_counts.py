"""What hosts have counted: a tenant that does not let it be read holds up nobody else."""

from types import SimpleNamespace
from typing import Any

from gpuaas_sdk.controller.host_counts import MOST_VALUES, counts_path, parse_counts, read_counts
from gpuaas_sdk.errors import Denied, Problem


async def test_a_tenant_that_does_not_consent_is_not_counted_and_nothing_fails() -> None:
    async def refused(*_: object) -> None:
        raise Denied(Problem(code="forbidden", status=403, detail="Not permitted."))

    api: Any = SimpleNamespace(controller=SimpleNamespace(usage_access=refused))
    assert await read_counts(api, "prj_1", "ins_1", []) == []


def test_a_host_that_says_too_much_says_nothing() -> None:
    many = ", ".join(f'"k{number}": 1' for number in range(MOST_VALUES + 1))
    line = f'{{"member_id": "mem_1", "since": "2026-03-01T12:00:00+00:00", "values": {{{many}}}}}'
    assert parse_counts(line) == []
    assert counts_path("ins_1", "mem_1") == "/var/lib/gpuaas-usage/ins_1/mem_1.json"
