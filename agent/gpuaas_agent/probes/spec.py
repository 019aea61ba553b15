"""The spec of a probe task, as checked types. Its text comes from an app's manifest, so nothing of it is trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpuaas_agent import specs
from gpuaas_agent.failures import SpecInvalid
from gpuaas_agent.specs import Shape

Kind = Literal["tcp", "http", "unit"]

MOST_PROBES = 8
MOST_SECONDS = 10  # that one run takes
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_MEMBER = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{1,64}")
_PATH = re.compile(r"/[A-Za-z0-9_.~/-]{0,199}")
_UNIT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,200}\.(service|socket|timer|mount|path|slice|scope|target)")


@dataclass(frozen=True)
class Probe:
    """One probe. `expected_status` empty: 200 to 399."""

    key: str
    kind: Kind
    readiness: bool
    liveness: bool
    port: int = 0
    path: str = "/"
    expected_status: frozenset[int] = frozenset()
    unit: str = ""
    interval: float = 15.0
    timeout: float = 3.0
    start_period: float = 60.0
    failures: int = 3
    successes: int = 1


@dataclass(frozen=True)
class ProbeSpec:
    """The probes of one member; without any, the host stops running those of an earlier task."""

    member_id: str
    allocation_id: str
    shape: Shape
    probes: tuple[Probe, ...]


def parse_probes(raw: dict[str, object]) -> ProbeSpec:
    listed = raw.get("probes")
    if not isinstance(listed, list) or len(listed) > MOST_PROBES:
        raise SpecInvalid(f"probes is not a list of at most {MOST_PROBES}")
    probes = tuple(_probe(entry) for entry in listed)
    if len({probe.key for probe in probes}) < len(probes):
        raise SpecInvalid("a probe's key is used twice")
    return ProbeSpec(_text(raw, "member_id", _MEMBER), specs.allocation_of(raw), specs.shape_of(raw), probes)


def _probe(entry: object) -> Probe:
    if not isinstance(entry, dict):
        raise SpecInvalid("a probe is not an object")
    kind, purpose = entry.get("kind"), entry.get("purpose")
    if not isinstance(purpose, list) or not set(purpose) & {"readiness", "liveness"}:
        raise SpecInvalid("a probe has no purpose")
    return Probe(
        key=_text(entry, "key", _KEY),
        kind=_kind(kind),
        readiness="readiness" in purpose,
        liveness="liveness" in purpose,
        port=0 if kind == "unit" else _number(entry, "port", 1, 65535, 0),
        path=_text(entry, "path", _PATH) if entry.get("path") else "/",
        expected_status=_statuses(entry.get("expected_status")),
        unit=_text(entry, "unit", _UNIT) if kind == "unit" else "",
        interval=_number(entry, "interval_seconds", 1, 3600, 15),
        timeout=_number(entry, "timeout_seconds", 1, MOST_SECONDS, 3),
        start_period=_number(entry, "start_period_seconds", 0, 3600, 60),
        failures=_number(entry, "failures", 1, 100, 3),
        successes=_number(entry, "successes", 1, 20, 1),
    )


def _kind(value: object) -> Kind:
    if value == "tcp":
        return "tcp"
    if value == "http":
        return "http"
    if value == "unit":
        return "unit"
    raise SpecInvalid(f"a probe of kind {str(value)[:20]!r} is not known")


def _statuses(value: object) -> frozenset[int]:
    if value is None:
        return frozenset()
    if (
        not isinstance(value, list)
        or len(value) > 16
        or not all(type(one) is int and 100 <= one < 600 for one in value)
    ):
        raise SpecInvalid("expected_status is not a list of HTTP statuses")
    return frozenset(value)


def _text(raw: dict[str, object], key: str, pattern: re.Pattern[str]) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise SpecInvalid(f"{key} of a probe is missing or not acceptable")
    return value


def _number(raw: dict[str, object], key: str, low: int, high: int, default: int) -> int:
    value = raw.get(key)
    if value is None and default:
        return default
    if type(value) is not int or not low <= value <= high:
        raise SpecInvalid(f"{key} of a probe is not a number from {low} to {high}")
    return value
