"""The configuration of one host's agent: `/etc/gpuaas/agent.json`.

Unknown keys cause a warning and are otherwise ignored, so that an older agent still starts.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import socket
from pathlib import Path

DEFAULT_PATH = Path("/etc/gpuaas/agent.json")


class ConfigInvalid(Exception):
    """The configuration file cannot be used; the message says which key and why."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Every key of agent.json, with its default."""

    address: str = ""
    hostname: str = ""
    state_dir: Path = Path("/var/lib/gpuaas/agent")
    bundle_path: Path = Path("/etc/gpuaas/enrolment")
    hw_root: Path | None = None
    bare_metal_driver: str = "host"
    slice_driver: str = "none"
    golden_root: Path | None = None
    ssh_port: int = 22
    slice_base: Path = Path("/slice-base")
    slice_dir: Path = Path("/var/lib/gpuaas/slices")
    slice_addresses: tuple[ipaddress.IPv4Interface, ...] = ()
    slice_gateway: str = ""
    slice_parent_interface: str = "eth0"
    workers: int = 8
    unknown_keys: tuple[str, ...] = ()
    source: Path = DEFAULT_PATH  # the file, and its text when the agent started
    text: str | None = None

    def effective_hostname(self) -> str:
        return self.hostname or socket.gethostname()

    def effective_address(self) -> str:
        return self.address or _address_of_default_interface()


_PATHS = {"state_dir", "bundle_path", "hw_root", "golden_root", "slice_base", "slice_dir"}
_NUMBERS = {"ssh_port", "workers"}
_NO_KEYS = {"unknown_keys", "source", "text"}


def load(path: Path = DEFAULT_PATH) -> Config:
    try:
        text = path.read_text()
        raw = json.loads(text)
    except FileNotFoundError:
        return Config(source=path)
    except (OSError, ValueError) as problem:
        raise ConfigInvalid(f"{path} cannot be read: {problem}") from problem
    if not isinstance(raw, dict):
        raise ConfigInvalid(f"{path} does not hold a JSON object")
    return dataclasses.replace(from_mapping(raw), source=path, text=text)


def from_mapping(raw: dict[str, object]) -> Config:
    known = {field.name for field in dataclasses.fields(Config)} - _NO_KEYS
    values: dict[str, object] = {key: _typed(key, value) for key, value in raw.items() if key in known}
    values["unknown_keys"] = tuple(sorted(set(raw) - known))
    return dataclasses.replace(Config(), **values)  # type: ignore[arg-type]


def _typed(key: str, value: object) -> object:
    if key in _PATHS:
        if value in ("", None):
            return None if key in ("hw_root", "golden_root") else getattr(Config(), key)
        if isinstance(value, str) and value.startswith("/"):
            return Path(value)
        raise ConfigInvalid(f"{key} is not an absolute path")
    if key in _NUMBERS:
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536:
            return value
        raise ConfigInvalid(f"{key} is not a number between 1 and 65535")
    if key == "slice_addresses":
        return _addresses(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigInvalid(f"{key} is not text")
    return value


def _addresses(value: object) -> tuple[ipaddress.IPv4Interface, ...]:
    """Parse a list of addresses such as `10.77.1.64/24`; the default prefix length is 24."""
    if not isinstance(value, list):
        raise ConfigInvalid("slice_addresses is not a list")
    try:
        texts = [str(entry) for entry in value]
        return tuple(ipaddress.IPv4Interface(t if "/" in t else f"{t}/24") for t in texts)
    except ValueError as problem:
        raise ConfigInvalid(f"slice_addresses: {problem}") from problem


def _address_of_default_interface() -> str:
    """Return the source address that the kernel would choose; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for target in ("192.0.2.1", "10.255.255.255"):
            try:
                probe.connect((target, 9))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return "127.0.0.1"
