"""Decides which members others wait for, and which probes say when they are ready. Pure.

The platform judges readiness when an operation is done. A component that others start after (`starts_after_ready`) must be
ready in the middle of one: then its host runs the same probes for the controller.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuaas_containers.services import components_of

Json = Mapping[str, object]
INTERVAL, TIMEOUT, START_PERIOD, FAILURES, SUCCESSES = (
    15,
    3,
    60,
    3,
    1,
)  # where a probe says nothing, as the platform has it


@dataclass(frozen=True, slots=True)
class ReadinessProbe:
    key: str
    kind: str
    port: int
    path: str
    expected_status: tuple[int, ...]
    timeout: int
    successes: int
    longest: int  # seconds that it may take to pass

    def document(self) -> dict[str, object]:
        """Returns the probe as the host's program reads it."""
        return {
            "key": self.key,
            "kind": self.kind,
            "port": self.port,
            "path": self.path,
            "expected_status": list(self.expected_status),
            "timeout": self.timeout,
            "successes": self.successes,
        }


def awaited_components(manifest: Json, present: set[str]) -> set[str]:
    """Return the components that must be ready before another of those that are present is started."""
    components = components_of(manifest)
    return {key for one in present for key in _texts(components.get(one, {}).get("starts_after_ready"))}


def readiness_probes(manifest: Json, component_key: str) -> list[ReadinessProbe]:
    """Return the probes of the component by which a host can tell that it is ready."""
    return [_probe(one) for one in _probes(manifest) if one.get("component") == component_key and _is_readiness(one)]


def _is_readiness(probe: Json) -> bool:
    return probe.get("kind") in ("tcp", "http") and "readiness" in _texts(probe.get("purpose"))


def _probes(manifest: Json) -> Iterator[Json]:
    listed = manifest.get("probes")
    yield from (one for one in listed if isinstance(one, Mapping)) if isinstance(listed, Sequence) else ()


def _probe(one: Json) -> ReadinessProbe:
    expected = one.get("expected_status")
    timeout = _number(one, "timeout_seconds", TIMEOUT)
    retries = _number(one, "failures", FAILURES) * (_number(one, "interval_seconds", INTERVAL) + timeout)
    return ReadinessProbe(
        key=str(one["key"]),
        kind=str(one["kind"]),
        port=_number(one, "port", 0),
        path=str(one.get("path", "/")),
        expected_status=tuple(int(str(status)) for status in expected) if isinstance(expected, Sequence) else (),
        timeout=timeout,
        successes=_number(one, "successes", SUCCESSES),
        longest=_number(one, "start_period_seconds", START_PERIOD) + retries,
    )


def _number(one: Json, field: str, default: int) -> int:
    return int(str(one.get(field, default)))


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, Sequence) else []
