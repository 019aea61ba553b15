"""The mode of an instance, named by its app, and the operations that are closed in that mode."""

from dataclasses import asdict, dataclass

from gpuaas_sdk.wire import Document


@dataclass(frozen=True, slots=True)
class ClosedOperation:
    """A kind of operation that the app cannot do in this mode, and what to request instead.

    Without `component_key` it is closed for all components.
    """

    kind: str
    message: str
    next_step: str
    component_key: str | None = None


@dataclass(frozen=True, slots=True)
class Mode:
    """The mode that an instance is in: its name, a sentence for people, and the operations that are closed in it."""

    name: str
    meaning: str
    closed: tuple[ClosedOperation, ...] = ()

    def document(self) -> Document:
        """Return the mode as the API takes it."""
        return {"name": self.name, "meaning": self.meaning, "closed": [asdict(one) for one in self.closed]}
