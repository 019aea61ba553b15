"""Properties that the SDK adds to generated models: `<Model>Traits` becomes a base class of the model."""

# States in which the platform does nothing more until there is a request.
SETTLED_STATES = frozenset({"active", "released", "failed", "release_failed"})
LIVE_STATUSES = frozenset({"pending", "claimed", "running"})


class AllocationTraits:
    state: str

    @property
    def settled(self) -> bool:
        return self.state in SETTLED_STATES


class InstanceMemberTraits:
    component_key: str
    ordinal: int

    @property
    def name(self) -> str:
        """Return what people call the member: component/number, as in `worker/1`."""
        return f"{self.component_key}/{self.ordinal}"


class ControllerMemberTraits(InstanceMemberTraits):
    """Gives the members of a handler the same `name`."""


class OperationTraits:
    status: str

    @property
    def live(self) -> bool:
        return self.status in LIVE_STATUSES
