"""The specs of tasks, as checked types. A signature proves the author of a task, not that its text is safe on this host:
nothing reaches a file name, an option line or a program before it is checked here.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from gpuaas_agent import footprint, protocol
from gpuaas_agent.expectations import WipeTerms, parse_terms
from gpuaas_agent.failures import SpecInvalid

Shape = Literal["baremetal", "gpu_slice"]

_ALLOCATION = re.compile(r"^[a-z]{2,8}_[A-Za-z0-9]{1,64}$")
_USER = re.compile(r"^[a-z][a-z0-9_-]{0,31}$")
_PRINCIPAL = re.compile(r"^[A-Za-z0-9_.:@-]{1,128}$")
_HOSTNAME = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$")
_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_NVME = re.compile(r"^/dev/nvme\d{1,4}n\d{1,4}$")
_DEPTH = re.compile(r"^(stopped|gone)$")
_GRANT = re.compile(r"^[A-Za-z0-9_-]{1,80}$")
_KEY_TYPES = {
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
}


@dataclass(frozen=True)
class Grant:
    grant_id: str
    public_key: str
    expires_at: datetime | None


@dataclass(frozen=True)
class Slot:
    slot_index: int
    pci_address: str
    numa_node: int | None
    nvme_device: str | None


@dataclass(frozen=True)
class AccessSpec:
    """Says who may log in to an allocation, and how."""

    allocation_id: str
    shape: Shape
    login_user: str
    principal: str
    user_ca_keys: tuple[str, ...]
    grants: tuple[Grant, ...]
    revoked_serials: tuple[int, ...]


@dataclass(frozen=True)
class ProvisionSpec:
    access: AccessSpec
    hostname: str
    slots: tuple[Slot, ...]

    @property
    def allocation_id(self) -> str:
        return self.access.allocation_id


@dataclass(frozen=True)
class ReleaseSpec:
    """The spec of deprovision, wipe and verify_wipe; only deprovision has the login user.

    `provisioned` means that this host reported a provision to the platform, so its record must be here.
    """

    allocation_id: str
    shape: Shape
    login_user: str
    slots: tuple[Slot, ...]
    provisioned: bool = True
    terms: WipeTerms = field(default_factory=WipeTerms)


@dataclass(frozen=True)
class TerminalSpec:
    terminal_id: str
    allocation_id: str
    shape: Shape


@dataclass(frozen=True)
class InspectSpec:
    """The spec of an inspection; `digest` is the digest of the footprint as received."""

    receipt_id: str
    instance_id: str
    allocation_id: str
    shape: Shape
    depth: Literal["stopped", "gone"]
    footprint: footprint.Footprint
    digest: str
    revoked_serials: tuple[int, ...]

    def echo(self) -> dict[str, object]:
        """Return what the result refers to; the platform compares it with its request."""
        return {
            "receipt_id": self.receipt_id,
            "allocation_id": self.allocation_id,
            "depth": self.depth,
            "footprint_sha256": self.digest,
        }


def parse_access(raw: dict[str, object]) -> AccessSpec:
    return AccessSpec(
        allocation_id=allocation_of(raw),
        shape=shape_of(raw),
        login_user=_matching(raw, "login_user", _USER),
        principal=_matching(raw, "principal", _PRINCIPAL),
        user_ca_keys=tuple(public_key(line) for line in _list(raw, "user_ca_keys")),
        grants=tuple(_grant(entry) for entry in _list(raw, "grants")),
        revoked_serials=tuple(_serial(entry) for entry in _list(raw, "revoked_serials")),
    )


def parse_provision(raw: dict[str, object]) -> ProvisionSpec:
    hostname = raw.get("hostname") or "gpu"
    if not isinstance(hostname, str) or not _HOSTNAME.match(hostname):
        raise SpecInvalid("hostname is not a host name")
    return ProvisionSpec(parse_access(raw), hostname, _slots(raw))


def parse_release(raw: dict[str, object]) -> ReleaseSpec:
    user = _matching(raw, "login_user", _USER) if raw.get("login_user") else ""
    provisioned = raw.get("provisioned") is not False
    return ReleaseSpec(allocation_of(raw), shape_of(raw), user, _slots(raw), provisioned, parse_terms(raw))


def parse_inspect(raw: dict[str, object]) -> InspectSpec:
    sent = raw.get("footprint")
    return InspectSpec(
        receipt_id=_matching(raw, "receipt_id", _ALLOCATION),
        instance_id=_matching(raw, "instance_id", _ALLOCATION),
        allocation_id=allocation_of(raw),
        shape=shape_of(raw),
        depth="stopped" if _matching(raw, "depth", _DEPTH) == "stopped" else "gone",
        footprint=footprint.parse(sent),
        digest=footprint.digest(sent),
        revoked_serials=tuple(_serial(entry) for entry in _list(raw, "revoked_serials")),
    )


def parse_terminal(raw: dict[str, object]) -> TerminalSpec:
    return TerminalSpec(_matching(raw, "terminal_id", _ALLOCATION), allocation_of(raw), shape_of(raw))


def public_key(line: object) -> str:
    """Parse a public key to `type base64`, without comment and options; the blob must name the same type."""
    if not isinstance(line, str) or "\n" in line or "\r" in line:
        raise SpecInvalid("a public key is not one line of text")
    kind, _, rest = line.strip().partition(" ")
    text = rest.strip().partition(" ")[0]
    try:
        blob = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise SpecInvalid("a public key is not base64") from problem
    name = kind.encode()
    if kind not in _KEY_TYPES or blob[: 4 + len(name)] != len(name).to_bytes(4, "big") + name:
        raise SpecInvalid(f"a public key of type {kind[:40]!r} is not accepted")
    return f"{kind} {text}"


def allocation_of(raw: dict[str, object]) -> str:
    return _matching(raw, "allocation_id", _ALLOCATION)


def is_allocation_id(text: str) -> bool:
    return _ALLOCATION.fullmatch(text) is not None


def shape_of(raw: dict[str, object]) -> Shape:
    shape = raw.get("shape")
    if shape == "baremetal":
        return "baremetal"
    if shape == "gpu_slice":
        return "gpu_slice"
    raise SpecInvalid(f"shape {shape!r} is not known")


def _matching(raw: dict[str, object], key: str, pattern: re.Pattern[str]) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise SpecInvalid(f"{key} is missing or not acceptable")
    return value


def _list(raw: dict[str, object], key: str) -> list[object]:
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > 10_000:
        raise SpecInvalid(f"{key} is not a list")
    return value


def _grant(entry: object) -> Grant:
    if not isinstance(entry, dict):
        raise SpecInvalid("a grant is not an object")
    expires = entry.get("expires_at")
    try:
        expires_at = protocol.moment(expires) if expires is not None else None
    except ValueError as problem:
        raise SpecInvalid(f"a grant's expires_at: {problem}") from problem
    return Grant(_matching(entry, "grant_id", _GRANT), public_key(entry.get("public_key")), expires_at)


def _serial(entry: object) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 <= entry < 1 << 64:
        raise SpecInvalid("a revoked serial is not a 64-bit number")
    return entry


def _slots(raw: dict[str, object]) -> tuple[Slot, ...]:
    return tuple(_slot(entry) for entry in _list(raw, "slots"))


def _slot(entry: object) -> Slot:
    if not isinstance(entry, dict):
        raise SpecInvalid("a slot is not an object")
    index, numa, nvme = entry.get("slot_index"), entry.get("numa_node"), entry.get("nvme_device")
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < 1024:
        raise SpecInvalid("slot_index is not a small number")
    if nvme is not None and (not isinstance(nvme, str) or not _NVME.fullmatch(nvme)):
        raise SpecInvalid("nvme_device is not an NVMe namespace")
    return Slot(
        index,
        _matching(entry, "pci_address", _PCI),
        numa if isinstance(numa, int) else None,
        nvme,
    )
