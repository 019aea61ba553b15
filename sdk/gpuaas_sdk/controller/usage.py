"""Records usage that an app measures. Every record has a key, so sending it again adds nothing.

After a crash a controller does not know which records arrived: start a little before the last position.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.counters import POSITION, UsageCounters
from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.lease import Lease, RuntimeChange
from gpuaas_sdk.errors import Conflict, GpuaasError
from gpuaas_sdk.generated.models import UsageReport
from gpuaas_sdk.wire import Document

BATCH = 500
MOST_TRIES = 20  # to keep a position that others move at the same time
CounterReading = Callable[[Document], Awaitable[UsageCounters]]
log = logging.getLogger(__name__)


async def report_usage(api: AsyncClient, project_id: str, instance_id: str, records: Sequence[UsageReport]) -> int:
    """Returns how many records were new. A record that is refused for good is logged and skipped, so the rest go on."""
    recorded = 0
    for start in range(0, len(records), BATCH):
        recorded += await _report_batch(api, project_id, instance_id, records[start : start + BATCH])
    return recorded


async def record_counters(lease: Lease, read: CounterReading) -> None:
    """Record what counters have counted, in an operation, and move their position, however the operation ends.

    The position is kept first, with the windows before it: after a crash at any point they are due to whoever reads it next.
    """
    api, project_id, instance = lease.api, lease.project_id, lease.claimed.instance
    runtime = instance.runtime or {}
    for _ in range(MOST_TRIES):
        counters = await read(runtime)
        await report_usage(api, project_id, instance.id, counters.usage)
        if await _keep_position(lease, runtime, counters):
            await report_usage(api, project_id, instance.id, counters.rest())
            return
        runtime = (await api.instances.show(project_id, instance.id)).runtime or {}
    raise Failed("usage_not_recorded", "Other requests keep changing the usage counters.", retryable=True)


async def _keep_position(lease: Lease, runtime: Document, counters: UsageCounters) -> bool:
    """Return whether the position is kept. It is not when somebody else has changed the runtime since it was read."""
    kept = counters.document()
    if kept[POSITION] == runtime.get(POSITION, []):
        return True
    try:
        await lease.report(runtime=RuntimeChange({**runtime, **kept}, runtime))
    except Conflict as error:
        if error.code != "stale_generation":
            raise
        return False
    return True


async def _report_batch(api: AsyncClient, project_id: str, instance_id: str, batch: Sequence[UsageReport]) -> int:
    while batch:
        try:
            return (await api.controller.report_usage(project_id, instance_id, batch)).recorded
        except GpuaasError as error:
            refused = set(_refused_keys(error))
            kept = [one for one in batch if one.source_key not in refused]
            if len(kept) == len(batch):
                raise
            log.error("Some usage of %s cannot be recorded: %s", instance_id, error)
            batch = kept
    return 0


def _refused_keys(error: GpuaasError) -> Iterator[str]:
    """Yield the keys that the refusal names: recorded before with other content, or invalid."""
    keys, faults = error.details.get("source_keys"), error.details.get("faults")
    if error.code == "usage_key_taken" and isinstance(keys, list):
        yield from map(str, keys)
    if error.code == "usage_invalid" and isinstance(faults, list):
        yield from (str(fault["source_key"]) for fault in faults if isinstance(fault, dict))
