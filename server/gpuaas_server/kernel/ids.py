"""Typed ids: a short prefix and a UUIDv7 in Crockford base32, so that ids sort by time and name their noun.

Ids are text everywhere (wire, Python, PostgreSQL with COLLATE "C"): one form to log, to grep and to compare.
"""

import os
import re
import threading
import time
from datetime import datetime
from typing import Annotated

from pydantic import StringConstraints

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_BODY = "[0-7][0-9a-hjkmnp-tv-z]{25}"

_lock = threading.Lock()
_last_ms = 0
_sequence = 0


def _uuid7() -> int:
    """Make a UUIDv7: 48 bits of milliseconds, 12 bits of sequence (ids of one process sort by creation), 62 random bits."""
    global _last_ms, _sequence
    with _lock:
        now = time.time_ns() // 1_000_000
        if now > _last_ms:
            _last_ms, _sequence = now, int.from_bytes(os.urandom(1), "big")
        else:
            _sequence += 1
            if _sequence > 0xFFF:
                _last_ms, _sequence = _last_ms + 1, 0
        milliseconds, sequence = _last_ms, _sequence
    random_bits = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    return (milliseconds << 80) | (0x7 << 76) | (sequence << 64) | (0b10 << 62) | random_bits


def new_id(prefix: str) -> str:
    return _spell(prefix, _uuid7())


def first_id_at(prefix: str, moment: datetime) -> str:
    """Return the smallest id of this prefix at the moment: with it the primary key serves as an index by time."""
    return _spell(prefix, int(moment.timestamp() * 1000) << 80)


def _spell(prefix: str, value: int) -> str:
    digits = [_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(digits)}"


def id_pattern(prefix: str) -> str:
    """Return the regular expression of ids with this prefix, without anchors."""
    return f"{prefix}_{_BODY}"


def is_id(prefix: str, text: str) -> bool:
    return re.fullmatch(id_pattern(prefix), text) is not None


def _pattern(prefix: str) -> StringConstraints:
    return StringConstraints(pattern=f"^{id_pattern(prefix)}$")


TenantId = Annotated[str, _pattern("tnt")]
ProjectId = Annotated[str, _pattern("prj")]
UserId = Annotated[str, _pattern("usr")]
ServiceAccountId = Annotated[str, _pattern("sva")]
PrincipalId = Annotated[str, StringConstraints(pattern=f"^(usr|sva)_{_BODY}$")]
KeyId = Annotated[str, _pattern("key")]
ServiceAccountCertificateId = Annotated[str, _pattern("sac")]
SigningKeyId = Annotated[str, _pattern("sgk")]
PlatformKeyId = Annotated[str, _pattern("pky")]
SshKeyId = Annotated[str, _pattern("ssk")]
NodeId = Annotated[str, _pattern("nod")]
SlotId = Annotated[str, _pattern("slt")]
EnrolmentTokenId = Annotated[str, _pattern("ent")]
TaskId = Annotated[str, _pattern("tsk")]
SkuId = Annotated[str, _pattern("sku")]
AllocationId = Annotated[str, _pattern("alc")]
MaintenanceWindowId = Annotated[str, _pattern("mtw")]
HostReportId = Annotated[str, _pattern("hrp")]
LogReadId = Annotated[str, _pattern("lgr")]
TerminalId = Annotated[str, _pattern("trm")]
GrantId = Annotated[str, _pattern("grt")]
InstanceId = Annotated[str, _pattern("ins")]
MemberId = Annotated[str, _pattern("mem")]
OperationId = Annotated[str, _pattern("op")]
ReceiptId = Annotated[str, _pattern("rcp")]
CredentialId = Annotated[str, _pattern("crd")]
ArtifactId = Annotated[str, _pattern("art")]
PublishIntentId = Annotated[str, _pattern("pub")]
TrustKeyId = Annotated[str, _pattern("tky")]
AppId = Annotated[str, _pattern("app")]
AppVersionId = Annotated[str, _pattern("apv")]
EntitlementId = Annotated[str, _pattern("etl")]
ControllerBindingId = Annotated[str, _pattern("cbd")]
ControllerKindBindingId = Annotated[str, _pattern("ckb")]
ControllerConsentId = Annotated[str, _pattern("ccs")]
