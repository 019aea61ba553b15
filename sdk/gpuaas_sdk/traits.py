"""What the SDK adds to a generated model: `<Model>Traits` becomes one of its parents."""

# Where no further step of the platform follows without somebody asking for one.
SETTLED_STATES = frozenset({"active", "released", "failed", "release_failed"})
LIVE_STATUSES = frozenset({"pending", "claimed", "running"})


class AllocationTraits:
    state: str

    @property
    def settled(self) -> bool:
        return self.state in SETTLED_STATES


class OperationTraits:
    status: str

    @property
    def live(self) -> bool:
        return self.status in LIVE_STATUSES
