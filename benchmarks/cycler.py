"""A client that creates and releases allocations in cycles: `python -m benchmarks.cycler`, order on stdin.

Each cycle waits until its allocation is active and, after the release, proven clean; one reader of the project's events
notifies all cycles. A request that is refused for a moment is sent again under the same key, and its time runs on. It prints
one JSON line for every tenth of the cycles.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from itertools import count

import httpx

from gpuaas_sdk import AsyncClient, PasswordCredentials
from gpuaas_sdk.errors import GpuaasError, error_from
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.wire import unreachable

SIGN_IN_SECONDS = 900.0  # an access token lives longer than that
BODY = {"sku": "h100-slice", "gpu_count": 1}
RETRIES = RetryPolicy(attempts=60)
BAD = ("failed", "release_failed")


@dataclass(frozen=True, slots=True)
class CycleOrder:
    url: str
    email: str
    password: str
    project_id: str
    cycles: int
    at_once: int


@dataclass(frozen=True, slots=True)
class CycleDurations:
    """The durations of one tenth of the cycles, in milliseconds."""

    cycles: int
    per_second: float
    repeated: int  # requests that were refused for a moment
    create_p50: float
    create_p99: float
    cycle_p50: float
    cycle_p99: float


@dataclass(slots=True)
class Cycler:
    order: CycleOrder
    http: httpx.AsyncClient
    begun: int = 0
    states: dict[str, str] = field(default_factory=dict)  # of allocations, as events tell
    changed: dict[str, asyncio.Event] = field(default_factory=dict)
    creates: list[float] = field(default_factory=list)
    cycles: list[float] = field(default_factory=list)
    repeated: int = 0
    tenth_begun: float = 0.0

    @property
    def path(self) -> str:
        return f"/api/v1/projects/{self.order.project_id}"

    async def run(self) -> None:
        await self._sign_in()
        start = await self._get("/events", tail=0)
        reading = asyncio.create_task(self._read_events(str(start["next_cursor"])))
        signing = asyncio.create_task(self._keep_signed_in())
        self.tenth_begun = time.perf_counter()
        riding = asyncio.create_task(self._ride_all())
        done, _ = await asyncio.wait([reading, signing, riding], return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, signing, riding):
            task.cancel()
        for task in done:
            task.result()

    async def _ride_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self.order.at_once):
                group.create_task(self._ride())

    async def _sign_in(self) -> None:
        async with AsyncClient(self.order.url) as client:
            token = await client.sign_in(PasswordCredentials(self.order.email, self.order.password))
        self.http.headers["Authorization"] = f"Bearer {token.access_token}"

    async def _keep_signed_in(self) -> None:
        while True:
            await asyncio.sleep(SIGN_IN_SECONDS)
            await self._sign_in()

    async def _get(self, path: str, **query: str | int) -> dict[str, object]:
        return await self._send(self.http.build_request("GET", self.path + path, params=query))

    async def _post(self, path: str, key: str, body: dict[str, object]) -> dict[str, object]:
        headers = {"Idempotency-Key": key}
        return await self._send(self.http.build_request("POST", self.path + path, json=body, headers=headers))

    async def _send(self, request: httpx.Request) -> dict[str, object]:
        for attempt in count(1):
            try:
                answer = await self.http.send(request)
            except httpx.TransportError as error:
                refusal: GpuaasError = unreachable(error, "", self.order.url)
            else:
                if answer.is_success:
                    break
                refusal = error_from(answer)
            pause = RETRIES.delay(refusal, attempt)
            if pause is None:
                raise refusal
            self.repeated += 1
            await asyncio.sleep(pause)
        found: dict[str, object] = answer.json()
        return found

    async def _read_events(self, cursor: str) -> None:
        while True:
            page = await self._get("/events", after=cursor, wait=20, limit=500)
            cursor = str(page["next_cursor"])
            for event in page["items"]:  # type: ignore[attr-defined]
                noun, _, state = event["type"].partition(".")
                if noun == "allocation":
                    self.states[event["subject"]] = state
                    if event["subject"] in self.changed:
                        self.changed[event["subject"]].set()

    async def _ride(self) -> None:
        while self.begun < self.order.cycles:
            self.begun += 1
            await self._cycle(f"soak-{self.begun:08d}")

    async def _cycle(self, key: str) -> None:
        begun = time.perf_counter()
        made = await self._post("/allocations", f"{key}-create", BODY)
        created = time.perf_counter()
        allocation_id = str(made["items"][0]["id"])  # type: ignore[index]
        self.changed[allocation_id] = asyncio.Event()
        await self._reaches(allocation_id, "active")
        await self._post(f"/allocations/{allocation_id}/release", f"{key}-release", {})
        await self._reaches(allocation_id, "released")
        del self.changed[allocation_id], self.states[allocation_id]
        self.creates.append(created - begun)
        self.cycles.append(time.perf_counter() - begun)
        if len(self.cycles) == max(1, self.order.cycles // 10):
            self._say_tenth()

    async def _reaches(self, allocation_id: str, state: str) -> None:
        while self.states.get(allocation_id) != state:
            if self.states.get(allocation_id) in BAD:
                raise RuntimeError(f"{allocation_id} is {self.states[allocation_id]}")
            self.changed[allocation_id].clear()
            await self.changed[allocation_id].wait()

    def _say_tenth(self) -> None:
        now = time.perf_counter()
        creates, cycles = sorted(self.creates), sorted(self.cycles)
        per_second = len(cycles) / (now - self.tenth_begun)
        shares = [_share(values, share) * 1000 for values in (creates, cycles) for share in (0.5, 0.99)]
        print(json.dumps(asdict(CycleDurations(len(cycles), per_second, self.repeated, *shares))), flush=True)
        self.creates, self.cycles, self.repeated, self.tenth_begun = [], [], 0, now


def _share(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


async def main(order: CycleOrder) -> None:
    limits = httpx.Limits(max_connections=order.at_once + 4, max_keepalive_connections=order.at_once + 4)
    async with httpx.AsyncClient(base_url=order.url, timeout=60, limits=limits, trust_env=False) as http:
        await Cycler(order, http).run()


if __name__ == "__main__":
    asyncio.run(main(CycleOrder(**json.loads(sys.stdin.readline()))))
