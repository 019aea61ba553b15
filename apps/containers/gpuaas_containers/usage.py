"""Turns what hosts have counted into usage. The instance's runtime stores the reading position (`UsageCounters`)."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from gpuaas_sdk.controller import Counter, MemberCounts, UsageCounters

MOST_GROWTH = 10**12  # of one count between two readings: the most that the platform takes as one use
MOST_COUNTERS = 800  # of one instance; more would not fit into its runtime
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MeteredInstance:
    """An instance whose hosts count. `units` are by metric; `names` are those of its present members, by id."""

    id: str
    project_id: str
    created_at: datetime | None
    units: Mapping[str, str]
    names: Mapping[str, str]


def observe_counts(
    instance: MeteredInstance,
    runtime: Mapping[str, object] | None,
    found: Iterable[MemberCounts],
    now: datetime,
    *,
    forget: bool = True,
) -> UsageCounters:
    """Return the counters with these readings noted. A member that was not read keeps its position. `forget`: one that is not
    named has left; an operation does not know this, since members may have come after its claim.
    """
    counters, units = UsageCounters.read(runtime), instance.units
    if forget:
        counters.keep_sources(set(instance.names.values()))
    for one in sorted(found, key=lambda counts: counts.member_id):
        name = instance.names.get(one.member_id)
        for metric, value in sorted(one.values.items()) if name is not None else ():
            if metric in units:
                counter = Counter(metric, units[metric], instance.project_id, str(name))
                since = max(one.since, instance.created_at or one.since)  # the clock of a host may be behind
                _observe(counters, counter, value, instance.id, since, now)
    return counters


def _observe(
    counters: UsageCounters, counter: Counter, value: int, instance_id: str, since: datetime, now: datetime
) -> None:
    if counter.key not in counters.positions and len(counters.positions) >= MOST_COUNTERS:
        log.warning("%s has more than %d counters; %s is not counted", instance_id, MOST_COUNTERS, counter.key)
        return
    if since < now:  # what was counted before the first reading is not lost
        counters.start_at_zero(counter, since)
    before = counters.positions.get(counter.key)
    if before is not None and abs(value - before.value) > MOST_GROWTH:
        log.warning("%s: %s cannot have gone from %d to %d", instance_id, counter.key, before.value, value)
        return
    counters.observe(counter, value, now)
