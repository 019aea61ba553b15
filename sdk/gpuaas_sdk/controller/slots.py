"""Chooses which waiting operation a replica takes next, so that no tenant keeps another waiting. Pure.

Every free slot goes to the tenant that holds the fewest. One tenant alone may hold all slots; then the others have the reserve:
a few operations beyond, each of a tenant that holds nothing here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_sdk.generated.models import WorkItem


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a replica: `concurrency` for anybody, and the reserve."""

    concurrency: int

    @property
    def reserve(self) -> int:
        return max(1, self.concurrency // 4)

    def has_room(self, claimed: Mapping[str, int]) -> bool:
        """Tell whether anybody could get a slot. `claimed` counts the operations that run, by tenant."""
        return sum(claimed.values()) < self.concurrency + self.reserve

    def tenants_refused(self, claimed: Mapping[str, int]) -> Sequence[str]:
        """Return the tenants that get no further slot until one is free: those that hold one when only the reserve is left."""
        if sum(claimed.values()) < self.concurrency:
            return []
        return sorted(tenant for tenant, count in claimed.items() if count)

    def choose(self, waiting: Sequence[WorkItem], claimed: Mapping[str, int]) -> Sequence[WorkItem]:
        """Return what to claim now, in this order."""
        counts, left, chosen = Counter(claimed), list(waiting), list[WorkItem]()
        while left and self.has_room(counts):
            following = min(left, key=lambda one: counts[one.tenant_id])
            if following.tenant_id in self.tenants_refused(counts):
                break
            left.remove(following)
            counts[following.tenant_id] += 1
            chosen.append(following)
        return chosen
