"""Compares the agent's configuration, trust and program on disk with what the platform expects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent import anchors, durable, program
from gpuaas_agent.expectations import WipeTerms, canonical_sha256
from gpuaas_agent.host.checks import Check, Finding, NotExamined, check


@dataclass(frozen=True)
class AgentFiles:
    """The paths of the agent's configuration, identity and program."""

    configuration: Path
    state_dir: Path
    package: Path = program.PACKAGE

    @property
    def identity(self) -> Path:
        return self.state_dir / "node.json"

    def configuration_sha256(self) -> str:
        return hashlib.sha256(self.configuration.read_bytes()).hexdigest()

    def trust_sha256(self, terms: WipeTerms) -> str | None:
        """Return the digest of the stored fields that the platform sent; None if it sent none."""
        if terms.restore.identity is None:
            return None
        return canonical_sha256(self._trusted(terms.restore.identity))

    def digests(self, terms: WipeTerms) -> dict[str, object]:
        """Return the digests as evidence. An unreadable file has no digest, and its check says why."""
        readers: dict[str, Callable[[], str | None]] = {
            "configuration_sha256": self.configuration_sha256,
            "trust_sha256": lambda: self.trust_sha256(terms),
            "agent_sha256": lambda: program.program_sha256(self.package),
        }
        found: dict[str, object] = {}
        for name, read in readers.items():
            try:
                found[name] = read()
            except (OSError, ValueError):
                found[name] = None
        return found

    def checks(self, terms: WipeTerms) -> list[Check]:
        return [
            check("configuration", lambda: self._configuration(terms), "platform"),
            check("trust", lambda: self._trust(terms), "platform"),
            check("agent_program", lambda: self._program(terms), "platform"),
        ]

    def _configuration(self, terms: WipeTerms) -> Finding:
        wanted = terms.expected.configuration_sha256
        if wanted is None:
            raise NotExamined("the platform has no digest of the agent's configuration")
        return 1, [f"changed {self.configuration}"] * (self.configuration_sha256() != wanted)

    def _trust(self, terms: WipeTerms) -> Finding:
        wanted, identity = terms.expected.trust_sha256, terms.restore.identity
        if wanted is None or identity is None:
            raise NotExamined("the platform sent no trust to compare with")
        stored = self._trusted(identity)
        changed = [f"changed {key} in {self.identity}" for key in sorted(identity) if stored[key] != identity[key]]
        if "tls_anchors" in identity and not changed:
            changed += self._other_anchors(durable.read_json(self.identity) or {})
        if not changed and self.trust_sha256(terms) != wanted:
            changed = ["the trust that the platform sent has another digest than the one it expects"]
        return len(identity), changed

    def _trusted(self, identity: dict[str, object]) -> dict[str, object]:
        """Return the stored values of the same keys. If the platform names no address, the enrolment's address counts."""
        stored = durable.read_json(self.identity) or {}
        return {key: [] if key == "urls" and not identity[key] else stored.get(key) for key in identity}

    def _other_anchors(self, stored: dict[str, object]) -> list[str]:
        """Check that the bundle for TLS contains the named CAs and no other."""
        named = stored.get("tls_anchors")
        used = anchors.split_bundle(str(stored.get("ca_pem") or ""))
        wanted = {anchors.digest(str(pem)) for pem in (named if isinstance(named, list) else [])}
        return [f"changed ca_pem in {self.identity}"] * ({anchors.digest(pem) for pem in used} != wanted)

    def _program(self, terms: WipeTerms) -> Finding:
        wanted = terms.expected.agent_sha256
        if wanted is None:
            raise NotExamined("the platform has no digest of the agent's program")
        return 1, [f"changed {self.package}"] * (program.program_sha256(self.package) != wanted)
