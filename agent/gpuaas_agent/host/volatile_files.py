"""Rules for the few files that may differ from the baseline after a wipe.

A path without a rule must be unchanged. A rule never accepts any content: it defines what the file must be now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from gpuaas_agent.host.manifest import Difference, Entry, Manifest
from gpuaas_agent.host.sshd import CLOSED, CLOSED_TEXT, HOST_CERTIFICATE, HOST_KEY

# The most that a host writes into a log between the wipe and the verification; the wipe emptied all logs.
FRESH_BYTES = 64 << 10
LOGS = ("/var/log/*", "/var/lib/dhcp/*")
# The system creates these files at boot or at a login.
_LOGIN_RECORDS = ("/var/log/wtmp", "/var/log/btmp", "/var/log/lastlog")
_NO_FILE = Entry("absent", 0, 0, 0, 0, 0, "", "")

Rule = Callable[[str, Entry, Entry], bool]


def is_log(path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in LOGS)


def _fresh_log(path: str, before: Entry, now: Entry) -> bool:
    if path in _LOGIN_RECORDS and "absent" in (before.kind, now.kind):
        return now.kind == "absent" or (now.kind == "file" and now.uid == 0 and now.size <= FRESH_BYTES)
    return now.kind == "file" and before.same_but_content(now) and now.size <= FRESH_BYTES


def _fresh_journal(path: str, before: Entry, now: Entry) -> bool:
    """Accept only journald's open system journal; archived and user journals are gone after a wipe."""
    if now.kind == "absent":
        return path.endswith((".journal", ".journal~"))
    place = path.split("/")
    return (
        now.kind == "file"
        and now.uid == 0
        and now.mode & 0o133 == 0
        and len(place) == 6
        and place[5] == "system.journal"
    )


def _small_secret(path: str, before: Entry, now: Entry) -> bool:
    return now.kind == "file" and (now.mode, now.uid, now.gid) == (0o600, 0, 0) and now.size <= 4096


def _empty(path: str, before: Entry, now: Entry) -> bool:
    return now.kind == "absent" or (now.kind == "file" and now.uid == 0 and now.size == 0 and now.mode & 0o133 == 0)


def _is_gone(path: str, before: Entry, now: Entry) -> bool:
    """Accept a cache entry that was removed."""
    return now.kind == "absent" and before.kind in ("file", "link")


def _renewed(path: str, before: Entry, now: Entry) -> bool:
    """Accept a new host key; a separate check compares the key's two halves and its certificate."""
    wanted = 0o600 if path == f"/{HOST_KEY}" else 0o644
    return now.kind == "file" and (now.mode, now.uid, now.gid) == (wanted, 0, 0) and not now.attributes


def _shut(path: str, before: Entry, now: Entry) -> bool:
    """Accept the agent's own sshd configuration that denies all logins until the host is proven clean."""
    text = hashlib.sha256(CLOSED_TEXT.encode()).hexdigest()
    return now.kind == "absent" or (now.kind == "file" and (now.content, now.uid, now.mode) == (text, 0, 0o644))


RULES: tuple[tuple[str, Rule], ...] = (
    ("/var/log/journal/*", _fresh_journal),
    *((pattern, _fresh_log) for pattern in LOGS),
    ("/var/lib/systemd/random-seed", _small_secret),
    ("/var/lib/systemd/timers/stamp-*", _empty),
    ("/var/lib/systemd/timesync/clock", _empty),
    ("/etc/.pwd.lock", _empty),
    ("/var/cache/*", _is_gone),
    (f"/{HOST_KEY}", _renewed),
    (f"/{HOST_KEY}.pub", _renewed),
    (f"/{HOST_CERTIFICATE}", _renewed),
    (f"/{CLOSED}", _shut),
)


def unexplained(
    before: Manifest, now: Manifest, difference: Difference, sent_digests: Mapping[str, str] = {}
) -> Difference:
    """Return the part of a difference that no rule explains. `sent_digests`: files whose content the platform sent."""

    def explained(path: str) -> bool:
        old, new = before.get(path, _NO_FILE), now.get(path, _NO_FILE)
        if new.is_locked:  # the wipe could not renew it: it has the tenant's content
            return False
        if path in sent_digests:
            return new.kind == "file" and new.content == sent_digests[path] and new.uid == 0 and new.mode & 0o022 == 0
        rule = next((rule for pattern, rule in RULES if fnmatchcase(path, pattern)), None)
        return rule is not None and rule(path, old, new)

    return Difference(
        added=[path for path in difference.added if not explained(path)],
        changed=[path for path in difference.changed if not explained(path)],
        removed=[path for path in difference.removed if not explained(path)],
    )
