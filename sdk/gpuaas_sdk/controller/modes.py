"""The form that an instance has, in the app's own words, and what the app does not take in it."""

from dataclasses import asdict, dataclass

from gpuaas_sdk.wire import Document


@dataclass(frozen=True, slots=True)
class Closed:
    """A kind of operation that would come to nothing, and what to ask for instead. Without a component: for all."""

    kind: str
    message: str
    next_step: str
    component_key: str | None = None


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    meaning: str
    closed: tuple[Closed, ...] = ()

    def document(self) -> Document:
        return {"name": self.name, "meaning": self.meaning, "closed": [asdict(one) for one in self.closed]}
