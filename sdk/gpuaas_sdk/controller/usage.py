"""What an app counts, told to the platform: a record is known by its key, so whatever is told again adds nothing.

Tell it from where you left off, and a little before: after a crash nobody knows what was still heard.
"""

import logging
from collections.abc import Iterator, Sequence

from gpuaas_sdk.controller.line import Line
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.generated.models import UsageReport

BATCH = 500
log = logging.getLogger(__name__)


async def report_usage(line: Line, instance_id: str, records: Sequence[UsageReport]) -> int:
    """How many of them were new. One that can never be taken is left out and logged: it must not keep the others back."""
    recorded = 0
    for start in range(0, len(records), BATCH):
        recorded += await _report(line, instance_id, records[start : start + BATCH])
    return recorded


async def _report(line: Line, instance_id: str, batch: Sequence[UsageReport]) -> int:
    while batch:
        try:
            return (await line.client.controller.report_usage(line.project_id, instance_id, batch)).recorded
        except GpuaasError as error:
            refused = set(_refused(error))
            kept = [one for one in batch if one.source_key not in refused]
            if len(kept) == len(batch):
                raise
            log.error("usage of %s is not recorded: %s", instance_id, error)
            batch = kept
    return 0


def _refused(error: GpuaasError) -> Iterator[str]:
    """The keys that a refusal names: another content is known under them, or they make no sense."""
    keys, faults = error.details.get("source_keys"), error.details.get("faults")
    if error.code == "usage_key_taken" and isinstance(keys, list):
        yield from map(str, keys)
    if error.code == "usage_invalid" and isinstance(faults, list):
        yield from (str(fault["source_key"]) for fault in faults if isinstance(fault, dict))
