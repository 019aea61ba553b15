"""The answers of a simulated host about itself and about a wipe: in the form of a real host's, with nothing left behind."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from dataclasses import dataclass, field

from gpuaas_agent import program
from gpuaas_agent.expectations import WipeTerms, canonical_sha256, parse_terms
from gpuaas_agent.host.checks import Check, check, wire

_OF_BOTH = ("marker", "files", "processes", "mounts", "units")
_OF_HOSTS = ("users", "ports", "authorized_keys", "crontabs", "kernel", "agent_state")
_DIGESTS = {"configuration": "configuration_sha256", "trust": "trust_sha256", "agent_program": "agent_sha256"}
_AGENT_SHA256 = program.program_sha256()


@dataclass
class SimHost:
    """The changing state of a simulated host: its boot, and the boot in which its last wipe began."""

    index: int
    boots: int = 0
    wiped_in: str | None = None
    process: int = field(default_factory=lambda: secrets.randbits(40))  # a boot id is never used twice

    @property
    def boot_id(self) -> str:
        return str(uuid.UUID(int=(self.process << 84) + (self.boots << 48) + self.index, version=4))

    @property
    def configuration(self) -> str:
        return f'{{"hostname": "sim-{self.index:05d}"}}\n'

    def claims(self) -> dict[str, object]:
        return {"configuration": self.configuration, "agent_sha256": _AGENT_SHA256}

    def wipe(self, spec: dict[str, object]) -> bool:
        """Simulate a wipe. Returns whether the host restarted for it."""
        self.wiped_in = self.boot_id
        restarts = parse_terms(spec).grade == "rebooted"
        self.boots += restarts
        return restarts

    def verify(self, spec: dict[str, object]) -> tuple[dict[str, object], dict[str, object]]:
        """Return (result, evidence) of a verification."""
        terms, is_slice = parse_terms(spec), spec.get("shape") == "gpu_slice"
        names = [*_OF_BOTH, "slice"] if is_slice else [*_OF_BOTH, *_OF_HOSTS]
        checks = [check(name, lambda: (1, [])) for name in names]
        checks += [] if is_slice else self._platform_checks(terms)
        checks.append(_drives(spec, terms))
        restarted = terms.grade == "rebooted" and self.wiped_in not in (None, self.boot_id)
        if terms.grade == "rebooted":
            found = [] if restarted else ["the host has not restarted since the wipe began"]
            checks.append(check("restart", lambda: (1, found), "kernel"))
        return wire(checks, "rebooted" if restarted else "inspected"), self._evidence(terms)

    def _platform_checks(self, terms: WipeTerms) -> list[Check]:
        digests, checks = self._digests(terms), []
        for name, key in _DIGESTS.items():
            wanted, have = getattr(terms.expected, key), digests[key]
            if wanted is None or have is None:
                checks.append(Check(name, "not_examined", [], 0, "platform", "the platform has no digest of it"))
            else:
                found = [] if wanted == have else [f"changed {name}"]
                checks.append(Check(name, "found" if found else "clean", found, 1, "platform"))
        return checks

    def _digests(self, terms: WipeTerms) -> dict[str, str | None]:
        identity = terms.restore.identity
        text = self.configuration if terms.restore.configuration is None else terms.restore.configuration
        return {
            "configuration_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "trust_sha256": None if identity is None else canonical_sha256(identity),
            "agent_sha256": _AGENT_SHA256,
        }

    def _evidence(self, terms: WipeTerms) -> dict[str, object]:
        boots: dict[str, object] = {"boot_id": self.boot_id, "boot_id_before_wipe": self.wiped_in}
        return {**boots, "baseline_sha256": None, "baseline_at_provision": None, **self._digests(terms)}


def _drives(spec: dict[str, object], terms: WipeTerms) -> Check:
    slots = spec.get("slots")
    count = sum(bool(slot.get("nvme_device")) for slot in (slots if isinstance(slots, list) else []))
    if count and terms.erase_drives is False:
        return Check(
            "drives", "not_examined", [], 0, "kernel", f"{count} drives of the slots are not erased on this node"
        )
    return check("drives", lambda: (count, []), "kernel")
