"""The terms of a release, from its tasks: the wipe grade, what to restore, and what the verification should find.

The platform signs them with the task; nothing is read from a file that a tenant could have written.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Literal

from gpuaas_agent.failures import SpecInvalid

Grade = Literal["inspected", "rebooted"]
LONGEST_CONFIGURATION = 64 << 10
_DIGEST = re.compile(r"[0-9a-f]{64}")
_WIPE_ID = re.compile(r"[0-9a-f]{32}")
_IDENTITY_LISTS = ("urls", "tls_anchors", "task_keys", "user_ca_keys", "host_ca_keys")


@dataclass(frozen=True)
class Expected:
    """SHA-256 digests of what should be on the host; None if the platform does not know."""

    configuration_sha256: str | None = None
    trust_sha256: str | None = None
    agent_sha256: str | None = None


@dataclass(frozen=True)
class Restore:
    """The content of the agent's own files; None if the platform does not send it."""

    configuration: str | None = None
    identity: dict[str, object] | None = None


@dataclass(frozen=True)
class WipeTerms:
    grade: Grade = "inspected"
    erase_drives: bool = True  # a setting of the node on the platform
    expected: Expected = field(default_factory=Expected)
    restore: Restore = field(default_factory=Restore)
    wipe_id: str = ""  # a random id of this wipe; empty from a platform of an older release


def parse_terms(raw: dict[str, object]) -> WipeTerms:
    grade, erase, wipe_id = raw.get("grade"), raw.get("erase_drives"), raw.get("wipe_id")
    if grade not in (None, "inspected", "rebooted"):
        raise SpecInvalid(f"the grade {str(grade)[:40]!r} is not one that this agent knows")
    if erase is not None and not isinstance(erase, bool):
        raise SpecInvalid("erase_drives is neither true nor false")
    if wipe_id is not None and (not isinstance(wipe_id, str) or not _WIPE_ID.fullmatch(wipe_id)):
        raise SpecInvalid("wipe_id is not a hexadecimal number of 128 bits")
    expected, restore = _object(raw, "expected"), _object(raw, "restore")
    return WipeTerms(
        grade="rebooted" if grade == "rebooted" else "inspected",
        erase_drives=erase is not False,
        expected=Expected(
            _digest(expected, "configuration_sha256"),
            _digest(expected, "trust_sha256"),
            _digest(expected, "agent_sha256"),
        ),
        restore=Restore(_configuration(restore), _identity(restore)),
        wipe_id=wipe_id or "",
    )


def canonical_sha256(value: object) -> str:
    """Return the SHA-256 of an object in canonical JSON: sorted keys, no blanks."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _object(raw: dict[str, object], key: str) -> dict[str, object]:
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpecInvalid(f"{key} is not an object")
    return value


def _digest(raw: dict[str, object], key: str) -> str | None:
    value = raw.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise SpecInvalid(f"expected.{key} is not a SHA-256")
    return value


def _configuration(raw: dict[str, object]) -> str | None:
    text = raw.get("configuration")
    if text is None:
        return None
    if not isinstance(text, str) or len(text.encode(errors="surrogatepass")) > LONGEST_CONFIGURATION:
        raise SpecInvalid("restore.configuration is not a text of at most 64 KiB")
    return text


def _identity(raw: dict[str, object]) -> dict[str, object] | None:
    identity = raw.get("identity")
    if identity is None:
        return None
    if not isinstance(identity, dict) or not isinstance(identity.get("node_id"), str):
        raise SpecInvalid("restore.identity names no node")
    for key in _IDENTITY_LISTS:
        if not isinstance(identity.get(key, []), list):
            raise SpecInvalid(f"restore.identity.{key} is not a list")
    if not identity.get("task_keys"):
        raise SpecInvalid("restore.identity names no task key")
    return identity
