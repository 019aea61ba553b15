"""Observes the state of the running kernel: modules, settings, packet filters, routes, namespaces, devices.

Each fact is one line of text and is compared with the baseline. What this host cannot see, or what belongs to the machine
around a container, is left out and named by `unseen`: the check is then not examined.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import device_nodes, mounts

_SETTINGS = Path("/proc/sys")
_CAP_SYS_MODULE = 16
# Counters and names that the kernel itself changes.
_COUNTING = (
    "kernel/ns_last_pid",
    "kernel/random/",
    "kernel/tainted",
    "kernel/pty/",
    "fs/binfmt_misc/",
    "net/ipv4/route/flush",
    "net/ipv6/route/flush",
    "net/netfilter/nf_conntrack_buckets",
    "net/nf_conntrack_max",
    "net/netfilter/nf_conntrack_max",
    "vm/compact_memory",
    "vm/drop_caches",
)
# Settings of modules. If this host may not load modules, another host on the same kernel loaded them.
_OF_MODULES = ("net/netfilter/nf_conntrack", "net/nf_conntrack", "net/bridge/", "net/ipv4/vs/", "net/sctp/")
# Every use of a terminal or of shared memory changes these; scratch folders have a separate check.
_OTHER_DEVICES = ("/dev/pts", "/dev/shm", "/dev/mqueue", "/dev/hugepages")  # noqa: S108
_LISTINGS = {
    "binfmt": "/proc/sys/fs/binfmt_misc",
    "bpf": "/sys/fs/bpf",
    "network namespace": "/run/netns",
}
_TEXTS = {
    "security module": "/sys/kernel/security/lsm",
    "apparmor profile": "/sys/kernel/security/apparmor/profiles",
    "kernel probe": "/sys/kernel/tracing/kprobe_events",
    "swap": "/proc/swaps",
    "packet filter table": "/proc/net/ip_tables_names",
    "packet filter table (6)": "/proc/net/ip6_tables_names",
}


# Without these file systems, what they list cannot be seen.
_LISTING_FILE_SYSTEMS = {"securityfs": "security modules", "tracefs": "kernel probes"}
# A fact that every observation has since block devices belong to it: a baseline without it is of an older agent.
_WITH_BLOCK_DEVICES = "observed with block devices"


def observe(deadline: Deadline) -> frozenset[str]:
    return frozenset(
        [
            *_modules(),
            *_settings(),
            *_network(deadline),
            *_devices(),
            *_block_devices(),
            *_listed(),
            *_texts(),
            _WITH_BLOCK_DEVICES,
        ],
    )


def differences(before: frozenset[str], now: frozenset[str]) -> list[str]:
    if _WITH_BLOCK_DEVICES not in before:
        now = frozenset(line for line in now if not line.startswith(("block device ", _WITH_BLOCK_DEVICES)))
    return [f"now: {line}" for line in sorted(now - before)] + [f"before: {line}" for line in sorted(before - now)]


def may_load_modules(status: str) -> bool:
    """Tell whether this host can load kernel modules, from the capabilities in /proc/1/status."""
    bounds = [line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:")]
    return any(int(bound, 16) >> _CAP_SYS_MODULE & 1 for bound in bounds)


def describe_unreadable_state(before: frozenset[str]) -> str:
    """Describe which state of the kernel this host cannot read, or did not read for its baseline."""
    hidden = [] if _has_own_kernel() else ["modules and block devices (the kernel is shared with other hosts)"]
    if not os.access(_SETTINGS / "kernel/core_pattern", os.W_OK):
        hidden.append("settings outside of the network (read-only here)")
    supported = Path("/proc/filesystems").read_text().split()
    mounted = {mount.kind for mount in mounts.table()}
    hidden += [
        f"{what} ({kind} is not mounted)"
        for kind, what in _LISTING_FILE_SYSTEMS.items()
        if kind in supported and kind not in mounted
    ]
    if _WITH_BLOCK_DEVICES not in before:
        hidden.append("block devices (the baseline is of an older agent)")
    return "not to be seen here: " + ", ".join(hidden) if hidden else ""


def drives() -> list[str]:
    """Return the drives of this host. Those that a container sees are the machine's around it."""
    return device_nodes.drives() if _has_own_kernel() else []


def _has_own_kernel() -> bool:
    return may_load_modules(Path("/proc/1/status").read_text())


def _block_devices() -> Iterator[str]:
    if _has_own_kernel():
        yield from device_nodes.block_devices()


def _modules() -> Iterator[str]:
    if _has_own_kernel():
        yield from (f"module {line.split()[0]}" for line in Path("/proc/modules").read_text().splitlines())


def _settings() -> Iterator[str]:
    left_out = _COUNTING if _has_own_kernel() else _COUNTING + _OF_MODULES
    for folder, _, names in os.walk(_SETTINGS):
        for name in names:
            path = os.path.join(folder, name)
            short = path.removeprefix(f"{_SETTINGS}/")
            if short.startswith(left_out) or not os.access(path, os.R_OK | os.W_OK):
                continue
            try:
                yield f"setting {short} = {' '.join(Path(path).read_text(errors='replace').split())[:200]}"
            except OSError:
                continue  # a setting that is write-only or has no value


def _network(deadline: Deadline) -> Iterator[str]:
    yield from (
        f"packet filter {line}" for line in _qualified_lines(["nft", "--stateless", "list", "ruleset"], deadline)
    )
    for family in ("-4", "-6"):
        for rule in _objects(["ip", family, "-json", "rule", "show"], deadline):
            yield f"rule {family} {_chosen(rule, ('priority', 'src', 'dst', 'fwmark', 'table', 'action', 'iif', 'oif'))}"
        for route in _objects(["ip", family, "-json", "route", "show", "table", "all"], deadline):
            if family == "-4" or not str(route.get("dst", "")).startswith(("fe80:", "ff00:")):
                yield f"route {family} {_chosen(route, ('type', 'dst', 'gateway', 'dev', 'table', 'prefsrc', 'via'))}"
    for link in _objects(["ip", "-json", "-details", "link", "show"], deadline):
        kind = link.get("linkinfo")
        made = kind.get("info_kind", "") if isinstance(kind, dict) else ""
        yield f"link {made} {_chosen(link, ('ifname', 'address', 'master', 'xdp', 'mtu'))}"


def _chosen(entry: dict[str, object], keys: Iterable[str]) -> str:
    return " ".join(f"{key} {entry[key]}" for key in keys if key in entry)


def _objects(argv: list[str], deadline: Deadline) -> list[dict[str, object]]:
    said = json.loads(commands.run(argv, deadline) or "[]")
    return [entry for entry in said if isinstance(entry, dict)]


def _qualified_lines(argv: list[str], deadline: Deadline) -> list[str]:
    """Prefix each line with its enclosing lines, so that equal rules of different chains are different facts."""
    lines, within = [], list[str]()
    for line in commands.run(argv, deadline).splitlines():
        text = line.strip()
        if text == "}":
            within = within[:-1]
        elif text:
            lines.append(" / ".join([*within, text])[:300])
            within = [*within, text.removesuffix("{").strip()] if text.endswith("{") else within
    return lines


def _devices() -> Iterator[str]:
    for folder, folders, names in os.walk("/dev"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in _OTHER_DEVICES]
        for name in names + folders:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
                mode = (
                    "" if "tty" in name or "console" in name else f" {stat.S_IMODE(status.st_mode):o} {status.st_uid}"
                )
                yield f"device {path} {stat.filemode(status.st_mode)[0]} {number}{mode}"
            elif stat.S_ISLNK(status.st_mode):
                yield f"device {path} -> {os.readlink(path)}"
            elif not stat.S_ISDIR(status.st_mode):
                yield f"device {path} is no device"


def _listed() -> Iterator[str]:
    for name, folder in _LISTINGS.items():
        if os.path.isdir(folder):
            yield from (f"{name} {entry}" for entry in os.listdir(folder))


def _texts() -> Iterator[str]:
    for name, path in _TEXTS.items():
        try:
            text = Path(path).read_text(errors="replace")
        except OSError:
            continue
        # Only the name and kind of a swap are compared; its usage changes.
        yield from (f"{name} {' '.join(line.split()[:2])[:200]}" for line in text.splitlines())


def restore(before: frozenset[str], deadline: Deadline) -> str:
    """Remove added facts that can be removed one by one; the verification reports the rest."""
    now = observe(deadline)
    added = sorted(now - before)
    if any(line.startswith("packet filter ") for line in added) and not any(
        line.startswith("packet filter ") for line in before
    ):
        commands.attempt(["nft", "flush", "ruleset"], deadline)
    for line in added:
        words = line.split()
        if line.startswith("network namespace "):
            commands.attempt(["ip", "netns", "del", words[2]], deadline)
        elif line.startswith("device "):
            _unlink_planted(words[1])
        elif line.startswith("link ") and "ifname" in words:
            commands.attempt(["ip", "link", "del", words[words.index("ifname") + 1]], deadline)
    _restore_settings(before - now)
    return f"{len(added)} added, {len(before - now)} missing"


def disarm(before: frozenset[str] | None) -> None:
    """Keep the kernel from starting a tenant's program: restore its settings, and empty those that it has elsewhere. Only a
    restart follows.
    """
    if before is not None:
        _restore_settings(before - frozenset(_settings()))
    if _has_own_kernel():
        for path, value in (("/proc/sys/fs/binfmt_misc/status", "0"), ("/sys/kernel/uevent_helper", "\n")):
            _write_setting(path, value)
        for agent in Path("/sys/fs/cgroup").glob("*/release_agent"):
            _write_setting(str(agent), "\n")


def _restore_settings(lines: Iterable[str]) -> None:
    for line in sorted(lines):
        if line.startswith("setting "):
            name, _, value = line.removeprefix("setting ").partition(" = ")
            _write_setting(name, value)


def _unlink_planted(path: str) -> None:
    """Remove what somebody else put into /dev. A node of the kernel's own stays: the verification must find its device."""
    with contextlib.suppress(FileNotFoundError):
        if not device_nodes.is_kernels_own(path, os.lstat(path)):
            os.unlink(path)


def _write_setting(name: str, value: str) -> None:
    with contextlib.suppress(OSError):
        (_SETTINGS / name).write_text(value)
