"""Many allocations in one request are many changes: one tenant cannot have the whole platform at work by asking in bulk."""

from collections.abc import Iterator

import httpx
import pytest

from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

BURST = 9


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with RunningServer.start(tenant_changes_per_second="0.001", tenant_change_burst=str(BURST)) as server:
        made = Sandbox.create(server)
        made.offer()
        with made.simulated_fleet(1):
            yield made


def asked(http: httpx.Client, sandbox: Sandbox, count: int, gpu_count: int = 1, key: str = "") -> str:
    """What becomes of a request for so many allocations: their ids, or the code of the refusal."""
    body = {"sku": "h100-slice", "gpu_count": gpu_count, "count": count}
    headers = {"Idempotency-Key": key} if key else {}
    answer = http.post(f"/api/v1/projects/{sandbox.project_id}/allocations", json=body, headers=headers).json()
    return " ".join(one["id"] for one in answer["items"]) if "items" in answer else str(answer["code"])


def test_each_allocation_of_a_request_counts_once_and_what_is_refused_or_repeated_does_not(sandbox: Sandbox) -> None:
    bearer = {"Authorization": f"Bearer {sandbox.bearer('project_member')}"}
    with httpx.Client(base_url=sandbox.server.url, headers=bearer, timeout=60.0) as http:
        assert asked(http, sandbox, 200, gpu_count=4) == "no_capacity"  # a refusal is one change
        made = asked(http, sandbox, 5, key="five-of-them")
        assert len(made.split()) == 5
        assert asked(http, sandbox, 5, key="five-of-them") == made  # so is a repetition
        assert asked(http, sandbox, 1).startswith("alc_")
        assert asked(http, sandbox, 1).startswith("alc_")  # which is the ninth
        assert asked(http, sandbox, 1) == "rate_limited"
