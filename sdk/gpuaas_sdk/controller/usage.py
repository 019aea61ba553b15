"""Records usage that an app measures. Every record has a key, so sending it again adds nothing.

After a crash a controller does not know which records arrived: start a little before the last position.
"""

import logging
from collections.abc import Iterator, Sequence

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.generated.models import UsageReport

BATCH = 500
log = logging.getLogger(__name__)


async def report_usage(api: AsyncClient, project_id: str, instance_id: str, records: Sequence[UsageReport]) -> int:
    """Returns how many records were new. A record that is refused for good is logged and skipped, so the rest go on."""
    recorded = 0
    for start in range(0, len(records), BATCH):
        recorded += await _report_batch(api, project_id, instance_id, records[start : start + BATCH])
    return recorded


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
    """The keys that the refusal names: recorded before with other content, or invalid."""
    keys, faults = error.details.get("source_keys"), error.details.get("faults")
    if error.code == "usage_key_taken" and isinstance(keys, list):
        yield from map(str, keys)
    if error.code == "usage_invalid" and isinstance(faults, list):
        yield from (str(fault["source_key"]) for fault in faults if isinstance(fault, dict))
